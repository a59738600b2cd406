"""The demo's first half: a writer is killed, and the store compared with what it had acknowledged."""

import time
from contextlib import AbstractContextManager

import lsm
from lsm.cli.demo.history import Lost, Model, differences, judge
from lsm.cli.demo.plan import Plan
from lsm.cli.demo.stage import Stage
from lsm.cli.demo.victim import Victim, tables_in
from lsm.cli.demo.writer import open_small
from lsm.cli.output import plural
from lsm.cli.progress import spinner

KILLS = 4
_OPERATIONS = 1500
_ROUND_SECONDS_MAX = 2.5
_READS = 12
_READ_PAUSE_SECONDS = 0.08


def kill_again_and_again(plan: Plan, stage: Stage, model: Model) -> None:
    """Kill a writer in the middle, several times, and judge the store each time."""
    stage.section(
        "Killed in the middle",
        "Another process writes durably: puts, deletes, batches. Its memtables are so small that flush and "
        "compaction hardly rest. It reports each operation after the call returned. Then SIGKILL, reopen, "
        "compare. (What a power cut leaves is another matter: the crash tests examine that.)",
    )
    for number in range(1, KILLS + 1):
        name = f"kill {number} of {KILLS}"
        with Victim(plan.store, plan.seed, model.operations) as victim, _counting(name, victim):
            victim.write_until(model.operations + plan.scaled(_OPERATIONS), _ROUND_SECONDS_MAX)
            table = victim.wait_for_new_table()
            acknowledged = victim.kill()
        count = acknowledged - model.operations
        moment = "" if table is None else f", while it wrote table {table}"
        findings = reopen(plan, model, acknowledged)
        stage.found(
            f"{name}: process {victim.pid} after {count:,} acknowledged operations{moment}", *findings
        )


def reopen(plan: Plan, model: Model, acknowledged: int) -> tuple[str, str]:
    """Open the store after a crash, judge it, and return in words what was found."""
    left = tables_in(plan.store)
    started = time.monotonic()
    with open_small(plan.store) as db:
        seconds = time.monotonic() - started
        removed = left - tables_in(plan.store)
        in_flight_is_there = judge(model, dict(db.items()), db.seq, acknowledged)
    in_flight = "there, whole" if in_flight_is_there else "not there at all"
    leftovers = f", {plural(len(removed), 'unfinished or obsolete table')} removed" if removed else ""
    return (
        f"reopened in {seconds * 1000:.0f} ms{leftovers}",
        f"{model.writes:,} writes compared: 0 lost, 0 deleted keys back; the one in flight: {in_flight}",
    )


def read_beside_the_writer(plan: Plan, stage: Stage, model: Model) -> None:
    """Follow a living writer from this process, then kill it too."""
    stage.section(
        "Read while another process writes",
        "This process opens the same store read-only, without a lock, and refreshes while the other writes. "
        "Each look must show everything acknowledged before it, and a prefix of the commit order.",
    )
    with Victim(plan.store, plan.seed, model.operations) as victim:
        victim.write_until(victim.acknowledged + 1, _ROUND_SECONDS_MAX)
        with lsm.open(plan.store, "r") as reader, _counting("reading", victim):
            first = reader.seq
            for _ in range(_READS):
                time.sleep(_READ_PAUSE_SECONDS * min(1, plan.scale))
                look(reader, model, victim)
            passed = reader.seq - first
        acknowledged = victim.kill()
    stage.found(
        f"{_READS} looks while {passed:,} writes went by: whole prefixes, nothing acknowledged is missing"
    )
    stage.found("then killed as well", *reopen(plan, model, acknowledged))


def look(reader: lsm.DB, model: Model, victim: Victim) -> None:
    """Refresh a reader once and compare what it sees with the operations up to there."""
    acknowledged = victim.acknowledged
    seq = reader.refresh()
    while model.writes < seq:
        model.advance()
    if model.writes != seq:
        raise Lost(f"a reader stands at sequence number {seq:,}, in the middle of a batch")
    if model.operations < acknowledged:
        raise Lost(f"a reader sees {model.operations:,} operations of {acknowledged:,} acknowledged ones")
    found = dict(reader.items())
    if found != model.pairs:
        raise Lost(f"for a reader at sequence number {seq:,} {differences(model.pairs, found)}")


def _counting(description: str, victim: Victim) -> AbstractContextManager[None]:
    return spinner(description, lambda: f"{victim.acknowledged:,} operations acknowledged")
