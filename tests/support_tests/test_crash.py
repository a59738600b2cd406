"""The crash builder: the images it calls legal, and the faults it finds in a toy."""

import random

import pytest

from lsm.fs_types import Cause
from tests.support.crash import crash_states, image_digest, random_crash_image, random_crash_state
from tests.support.memfs import MemFS
from tests.support.mutants import nth_sync, syncs_at
from tests.support.oplog import Truncate
from tests.support_tests import toy


def images(fs: MemFS, **options) -> list[dict[str, bytes]]:
    """Return every image of a crash right now."""
    # A mark makes images new that an earlier moment had too.
    fs.log.mark("now", len(fs.log))
    return [state.image for state in crash_states(fs.log, **options) if state.cut == len(fs.log)]


def contents(fs: MemFS, name: str = "a", **options) -> set[bytes]:
    return {image[name] for image in images(fs, **options)}


def with_synced_name(data: bytes = b"", *, reserve_bytes: int = 0):
    fs = MemFS()
    file = fs.create("a", Cause.LOG, reserve_bytes=reserve_bytes)
    file.append(data)
    file.sync()
    fs.sync_dir()
    return fs, file


def test_synced_bytes_are_all_there():
    fs, _ = with_synced_name(b"safe")

    assert contents(fs) == {b"safe"}


def test_an_unsynced_append_is_there_torn_zeros_or_garbage():
    fs, file = with_synced_name(b"safe")
    file.append(b"ABCD")

    whole = b"safeABCD"
    assert contents(fs) == {
        *(whole[:cut] for cut in (4, 5, 6, 7, 8)),
        *(whole[:cut].ljust(8, b"\0") for cut in (4, 5, 6, 7)),
        *(whole[:cut].ljust(8, b"\xa5") for cut in (4, 5, 6, 7)),
        b"safe".ljust(6, b"\0"),
        b"safe".ljust(6, b"\xa5"),
    }


def test_an_earlier_append_may_be_lost_while_a_later_one_is_there():
    fs, file = with_synced_name(b"safe")
    for data in (b"AB", b"CD", b"EF"):
        file.append(data)

    assert {b"safe\0\0CDEF", b"safeAB\0\0EF", b"safeABCDEF"} <= contents(fs)


def test_tears_fall_on_sectors_or_on_every_byte():
    fs, file = with_synced_name(b"s" * 500)
    file.append(b"x" * 2000)
    whole = b"s" * 500 + b"x" * 2000

    by_sector = {len(found) for found in contents(fs, tearing="sector") if found == whole[: len(found)]}
    assert by_sector == {500, 501, 512, 1024, 1500, 1536, 2048, 2499, 2500}
    assert b"s" * 500 + bytes(12) + b"x" * 1988 in contents(fs)
    by_byte = {len(found) for found in contents(fs, tearing="byte") if found == whole[: len(found)]}
    assert by_byte == set(range(500, 2501))


def test_a_synced_reserve_keeps_its_length_and_its_zeros():
    fs, file = with_synced_name(b"safe", reserve_bytes=16)
    file.append(b"AB")

    assert contents(fs) == {
        data.ljust(16, b"\0") for data in (b"safe", b"safeA", b"safeAB", b"safe\xa5\xa5", b"safeA\xa5")
    }


def test_a_reserve_that_was_never_synced_may_be_missing_shorter_or_zeros():
    fs = MemFS()
    fs.create("a", Cause.LOG, reserve_bytes=16)
    fs.sync_dir()

    assert contents(fs) == {b"", bytes(8), bytes(16)}


def test_a_reserve_that_grew_may_be_old_or_new_around_its_data():
    fs, file = with_synced_name(b"0123456789", reserve_bytes=8)
    file.append(b"ABCDEFGH")
    found = contents(fs)

    assert {16, 18, 24} <= {len(data) for data in found} <= set(range(16, 25))
    assert b"0123456789ABCDEF" in found  # data past the old end is lost with the length
    assert b"0123456789ABCDEFGH".ljust(24, b"\0") in found
    assert all(data.startswith(b"0123456789") for data in found)


def test_reserve_given_back_by_close_may_still_be_there():
    fs, file = with_synced_name(b"safe", reserve_bytes=16)
    file.close()
    assert isinstance(fs.log.ops[-1], Truncate)

    assert {b"safe", b"safe".ljust(16, b"\0")} <= contents(fs)
    reader = fs.open("a")
    reader.sync()
    assert contents(fs) == {b"safe"}


def test_names_wait_for_their_directory_in_any_subset():
    fs = MemFS.from_image({"old": b"1"})
    fs.create("x", Cause.LOG)
    fs.rename("old", "new")
    fs.unlink("x")
    fs.create("y", Cause.LOG)

    others = [(), ("x",), ("y",), ("x", "y")]
    assert {tuple(sorted(image)) for image in images(fs)} == {
        (name, *other) for name in ("old", "new") for other in others
    }
    fs.sync_dir()
    assert {tuple(image) for image in images(fs)} == {("new", "y")}


def test_a_synced_file_without_a_synced_name_may_be_gone():
    fs = MemFS()
    file = fs.create("a", Cause.LOG)
    file.append(b"x")
    file.sync()

    assert {image_digest(image) for image in images(fs)} == {image_digest({}), image_digest({"a": b"x"})}


def test_a_rename_over_a_file_shows_the_old_or_the_new_whole():
    fs = MemFS.from_image({"CURRENT": b"1"})
    file = fs.create("tmp", Cause.MANIFEST)
    file.append(b"2")
    file.sync()
    fs.rename("tmp", "CURRENT")

    assert contents(fs, "CURRENT") == {b"1", b"2"}


def test_many_pending_names_are_prefixes_all_but_one_and_only_one():
    fs = MemFS()
    names = [f"{i}" for i in range(8)]
    for name in names:
        fs.create(name, Cause.LOG)

    found = {tuple(sorted(image)) for image in images(fs, directory_bits_max=6)}
    assert found == (
        {tuple(names[:i]) for i in range(9)}
        | {tuple(names[:i] + names[i + 1 :]) for i in range(8)}
        | {(name,) for name in names}
    )
    assert len({tuple(image) for image in images(fs, directory_bits_max=8)}) == 256


def test_too_many_combinations_are_cut_down_and_counted():
    fs = MemFS()
    for name in "abc":
        fs.create(name, Cause.LOG).append(b"x" * 100)
    fs.sync_dir()

    full, cut = crash_states(fs.log, product_max=10**6), crash_states(fs.log, product_max=100)
    every = {state.digest for state in full}
    some = {state.digest for state in cut}
    assert (full.capped, full.distinct) == (0, len(every))
    assert cut.capped > 0
    assert some < every


def test_one_torn_file_is_never_cut_down():
    fs, file = with_synced_name()
    file.append(b"x" * 10_000)
    states = crash_states(fs.log, tearing="byte", product_max=10)

    assert len(list(states)) > 10_000
    assert states.capped == 0


def test_a_state_knows_its_window():
    fs, file = with_synced_name()
    for number in (1, 2):
        fs.log.issue(number)
        file.append(bytes([number]))
        file.sync()
        fs.log.ack(number)
    windows = {}
    for state in crash_states(fs.log):
        windows.setdefault(state.image.get("a"), set()).add((state.acked, state.issued))

    assert windows[b"\1"] == {(0, 1), (1, 1), (1, 2)}
    assert windows[b"\1\2"] == {(1, 2), (2, 2)}


def test_each_directory_of_a_disk_has_its_own_names():
    fs, file = with_synced_name(b"safe")
    other = fs.sibling("checkpoint")
    fs.link("a", other)
    assert images(fs) == [{"a": b"safe"}]
    assert sorted(map(len, images(fs, directory="checkpoint"))) == [0, 1]
    other.sync_dir()
    fs.unlink("a")
    file.append(b"!")

    found = contents(fs, directory="checkpoint")
    assert found == {b"safe", b"safe!", b"safe\0", b"safe\xa5"}


class TestRandom:
    def test_the_seed_decides(self, seed):
        log = toy.history(MemFS())

        def draw() -> list[bytes]:
            rng = random.Random(seed)
            return [random_crash_state(log, rng, cut=cut).digest for cut in range(len(log) + 1)]

        assert draw() == draw()

    def test_safe_bytes_are_safe_and_lengths_legal(self, seed):
        fs, file = with_synced_name(b"safe" * 300, reserve_bytes=4096)
        file.append(b"new" * 500)
        rng = random.Random(seed)
        found = {random_crash_image(fs.log, rng)["a"] for _ in range(200)}

        assert len(found) > 20
        assert {len(data) for data in found} == {4096}
        assert all(data.startswith(b"safe" * 300) and not data[2700:].strip(b"\0") for data in found)

    def test_a_sound_toy_survives_whatever_is_drawn(self, seed):
        log, rng = toy.history(MemFS()), random.Random(seed)
        for _ in range(500):
            state = random_crash_state(log, rng, cut=rng.randint(0, len(log)))
            recovered = toy.Toy.open(MemFS.from_image(state.image)).state

            assert not toy.violation(state, recovered), f"seed {seed}"

    @pytest.mark.parametrize("bug", ["ack early", "split batch", "unlink early"])
    def test_a_fault_is_found_by_drawing_too(self, seed, bug):
        log, rng = toy.history(MemFS(), frozenset({bug})), random.Random(seed)
        for _ in range(5000):
            state = random_crash_state(log, rng, cut=rng.randint(0, len(log)))
            try:
                recovered = toy.Toy.open(MemFS.from_image(state.image)).state
            except (toy.Corrupt, OSError):
                return
            if toy.violation(state, recovered):
                return
        pytest.fail(f"not found, seed {seed}")


class TestToy:
    @pytest.mark.parametrize("tearing", ["sector", "byte"])
    def test_a_sound_protocol_survives_every_crash(self, tearing):
        found, states = toy.explore(tearing=tearing)

        assert not found
        assert states.capped == 0
        assert states.states >= states.distinct > 300

    def test_it_survives_a_crash_of_its_recovery_too(self):
        count = 0

        def crash_again(fs: MemFS, state: toy.State) -> str:
            nonlocal count
            for second in crash_states(fs.log):
                count += 1
                again = toy.Toy.open(MemFS.from_image(second.image)).state
                if again != state:
                    return f"{again} after {state}"
            return ""

        assert toy.explore(on_image=crash_again)[0] == ""
        assert count > 10_000

    @pytest.mark.parametrize("site", toy.history(MemFS()).sites(), ids=str)
    def test_no_sync_can_be_left_out(self, site):
        assert toy.explore(skip_syncs=syncs_at(site))[0]

    def test_nor_any_single_one_of_them(self):
        fs = MemFS()
        toy.history(fs)

        survived = [n for n in range(fs.disk.sync_calls) if not toy.explore(skip_syncs=nth_sync(n))[0]]
        assert not survived

    @pytest.mark.parametrize("bug", toy.BUGS)
    def test_a_wrong_protocol_is_found(self, bug):
        assert toy.explore(frozenset({bug}))[0]
