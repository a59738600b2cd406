"""Three programs on one log, each at its own offset: run them beside a writer, and compare.

    python run.py --seconds 3

A writer has been at work already.  It goes on, and meanwhile a fraud rule engine reads from the earliest
offset, is killed in the middle and started again; an analytics backfill begins with a bootstrap; a tailing
reader begins at the latest offset.  In the end each must have seen exactly what the log says.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lsm
from fraud import judge
from payments import KEYSPACE, decode
from writer import pay

HERE = Path(__file__).resolve().parent


class Place:
    """Where the programs leave what they make."""

    def __init__(self, directory: Path) -> None:
        self.store = str(directory / "payments.db")
        self.alerts = str(directory / "alerts.db")
        self.totals = directory / "totals.json"
        self.tail = directory / "tail.txt"


def start(program: str, *arguments: object, output: Path | None = None) -> "subprocess.Popen[bytes]":
    """Start one of the programs in a process of its own."""
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    if output is None:
        return subprocess.Popen(command)
    with output.open("wb") as file:
        return subprocess.Popen(command, stdout=file)


def play(place: Place, *, seconds: float, idle: float) -> None:
    """Run all of them; return when they are done, each after `idle` seconds without a change."""
    pay(place.store, seconds=seconds / 2, per_second=300, seed=1)
    writer = start("writer.py", place.store, "--seed", 2)
    fraud = start("fraud.py", place.store, place.alerts)
    readers = [
        start("analytics.py", place.store, place.totals, "--idle", idle),
        start("tail.py", place.store, "--idle", idle, output=place.tail),
    ]
    try:
        time.sleep(seconds / 2)
        wait_for_all(place)
        fraud.kill()
        fraud.wait()
        show_offsets(place)
        readers.append(start("fraud.py", place.store, place.alerts, "--idle", idle))
        time.sleep(seconds / 2)
        writer.terminate()
        for process in (writer, *readers):
            if process.wait(timeout=60) != 0:
                raise SystemExit(f"{process.args!r} ended with {process.returncode}")
    finally:
        for process in (writer, fraud, *readers):
            process.kill()
            process.wait()


def wait_for_all(place: Place) -> None:
    """Return when every reader is at work: both consumers have committed, the tail has printed."""
    deadline = time.monotonic() + 60
    with lsm.open(place.store, "r") as db:
        while time.monotonic() < deadline:
            committed = [one.name for one in db.consumers() if one.position]
            if committed == ["analytics", "fraud"] and place.tail.stat().st_size:
                return
            time.sleep(0.05)
    raise SystemExit("the readers did not begin")


def show_offsets(place: Place) -> None:
    """Say how far each consumer is, from yet another process."""
    with lsm.open(place.store, "r") as db:
        log = db.log
        print(f"run: fraud killed; the log holds {log.earliest} to {log.latest}")
        for one in db.consumers():
            print(f"run: consumer {one.name} has committed {one.position}, {one.lag} behind", flush=True)


def compare(place: Place) -> list[str]:
    """Return what each program has seen; raise Disagreement if it is not what the log says."""
    with lsm.open(place.store, "r") as db:
        changes = list(db.changes("earliest", keyspace=KEYSPACE))
        held = [decode(value) for _, value in db.keyspace(KEYSPACE).items()]
    expected = [(b"%020d" % seq, alert) for seq, alert in judge(changes, {})]
    with lsm.open(place.alerts, "r") as own:
        alerts = [(key, json.loads(value)) for key, value in own.keyspace("alerts").items()]
    if alerts != expected:
        raise Disagreement(f"fraud raised {len(alerts)} alerts; one pass over the log gives {len(expected)}")
    cents: dict[str, int] = {}
    for payment in held:
        cents[payment.merchant] = cents.get(payment.merchant, 0) + payment.cents
    totals = json.loads(place.totals.read_text())
    if (totals["payments"], totals["cents"]) != (len(held), cents):
        raise Disagreement(f"analytics counts {totals}; the store holds {len(held)} payments, {cents}")
    seen = [int(line.split()[0]) for line in place.tail.read_text().splitlines()]
    if not seen or seen != [change.seq for change in changes if change.seq >= seen[0]]:
        raise Disagreement(f"the tail saw {len(seen)} changes, and they are not the end of the log")
    return [
        f"fraud: {len(alerts)} alerts, none lost and none twice, though it was killed",
        f"analytics: {len(held)} payments, the totals are those of the store",
        f"tail: {len(seen)} changes from {seen[0]} on, none missing and none twice",
    ]


class Disagreement(Exception):
    """A program has seen something else than the log says."""


def main() -> None:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--idle", type=float, default=2, help="readers end after so long without a change")
    parser.add_argument("--directory", type=Path, help="leave the stores in this new directory")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="payments-") as temporary:
        if asked.directory is not None:
            asked.directory.mkdir()
        place = Place(asked.directory or Path(temporary))
        play(place, seconds=asked.seconds, idle=asked.idle)
        for line in compare(place):
            print(line)
        print("all agree with the log")


if __name__ == "__main__":
    main()
