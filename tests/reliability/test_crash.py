"""Every crash of every pair of steps, and of the written stories: the store comes back as it must.

The parts make one figure together, printed by the part that ends last.
"""

import pytest

from tests.reliability.explorer import Explorer
from tests.reliability.histories import WRITTEN, pairs, play, triples
from tests.reliability.scoreboard import Parts, announce, shared_folder

PARTS = 4
# One image in so many is opened, and one recovery in so many crashes again; a release opens them all.
ONE_IN, ONE_IN_AGAIN = 8, 7
DISTINCT_MIN, DEPTH2_MIN = 20_000, 20_000


@pytest.mark.parametrize("part", range(PARTS))
def test_a_crash_loses_and_invents_nothing(part, tmp_path_factory, capsys):
    explorer = Explorer(one_in=ONE_IN, one_in_again=ONE_IN_AGAIN)
    # Diagonally: dear steps, such as compaction, fall to every part.
    for steps in [steps for number, steps in enumerate(pairs()) if (number + number // 12) % PARTS == part]:
        explorer.explore(play(steps), ", ".join(steps))
    for name in list(WRITTEN)[part::PARTS]:
        explorer.explore(WRITTEN[name](), name)

    figures = explorer.figures
    parts = Parts(shared_folder(tmp_path_factory), "crash", PARTS)
    counts = {"states": figures.states, "capped": figures.capped, "seconds": figures.seconds}
    if parts.add(part, counts, {"opened": figures.opened, "again": figures.opened_again}):
        distinct, depth2 = parts.distinct("opened"), parts.distinct("again")
        announce(
            capsys,
            f"crash: states={parts.total('states')} distinct={distinct} depth2={depth2} "
            f"capped={parts.total('capped')} seconds={parts.total('seconds'):.1f}",
        )
        assert parts.total("capped") == 0
        assert distinct >= DISTINCT_MIN
        assert depth2 >= DEPTH2_MIN


@pytest.mark.parametrize("name", ["creation", "group_of_three", "lazy_writes_over_rotations"])
def test_recovery_may_crash_twice(name):
    explorer = Explorer(depth=3, one_in=25, one_in_again=9)
    explorer.explore(WRITTEN[name](), name)

    assert explorer.figures.capped == 0
    assert len(explorer.figures.opened_again) > 100


@pytest.mark.parametrize("steps", [("put", "compact"), ("lazy", "reopen")], ids=", ".join)
def test_the_same_history_is_the_same_twice(steps):
    assert play(steps).log.digest() == play(steps).log.digest()


# The release tier: about a million images, in parts of a few minutes.


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_written_stories_torn_at_every_byte(name, capsys):
    explorer = Explorer(tearing="byte", one_in=5, one_in_again=40)
    explorer.explore(WRITTEN[name](), name)

    report(f"{name}, by byte", explorer, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(36))
def test_every_pair_of_steps_torn_at_every_byte(part, capsys):
    explorer = Explorer(tearing="byte", one_in=8, one_in_again=40)
    for steps in pairs()[part::36]:
        explorer.explore(play(steps), ", ".join(steps))

    report(f"pairs by byte {part}", explorer, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_crash_of_every_pair_of_steps(part, capsys):
    explorer = Explorer(one_in_again=10)
    for steps in pairs()[part::4]:
        explorer.explore(play(steps), ", ".join(steps))

    report(f"pairs {part}", explorer, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(48))
def test_histories_of_three_steps(part, capsys):
    explorer = Explorer(one_in=4, one_in_again=40)
    for steps in triples()[part::48]:
        explorer.explore(play(steps), ", ".join(steps))

    report(f"triples {part}", explorer, capsys)


def report(what: str, explorer: Explorer, capsys: pytest.CaptureFixture[str]) -> None:
    announce(capsys, f"{what}: {explorer.figures.line()}")
    assert explorer.figures.capped == 0
