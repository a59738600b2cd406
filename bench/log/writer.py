"""A process that writes to a store as fast as it can, while others read the log.

Run as `python -m bench.log.writer PATH HOW SECONDS KEY_BYTES VALUE_BYTES SEED`.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np

import lsm
from bench.data import Data, Pairs, cut
from bench.settings import Shape

BATCHES, DURABLE, UNSYNCED = "batches of 1000, not synced", "durable puts", "puts, not synced"
END = b"~end"
"""The key of the last write of all: whoever sees it has seen everything."""
BATCH = 1000
_PAIRS = 100_000
_STEP = {BATCHES: BATCH, DURABLE: 10, UNSYNCED: BATCH}
"""Writes between two looks at the clock."""

Step = Callable[[Pairs], object]


def arguments(path: Path, how: str, seconds: float, shape: Shape) -> list[object]:
    """Return the arguments of this process."""
    return [path, how, seconds, shape.key_bytes, shape.value_bytes, shape.seed]


def _step(db: lsm.DB, how: str) -> Step:
    put = db.put

    def durable(pairs: Pairs) -> None:
        for key, value in zip(*pairs, strict=True):
            put(key, value)

    def unsynced(pairs: Pairs) -> None:
        for key, value in zip(*pairs, strict=True):
            put(key, value, sync=False)

    def batch(pairs: Pairs) -> None:
        db.update(zip(*pairs, strict=True), sync=False)

    return {BATCHES: batch, DURABLE: durable, UNSYNCED: unsynced}[how]


def write(db: lsm.DB, how: str, seconds: float, data: Data) -> dict[str, object]:
    """Write for so long; return how much, and when how much was there."""
    numbers = data.random(3).permutation(min(data.count, _PAIRS)).astype(np.int64)
    chunks = cut(data.pairs(numbers), _STEP[how])
    step, clock, done = _step(db, how), time.monotonic, 0
    cpu_started, started = time.process_time(), clock()
    samples = [(started, 0)]
    for chunk in cycle(chunks):
        step(chunk)
        done += len(chunk[0])
        now = clock()
        samples.append((now, done))
        if now - started >= seconds:
            break
    cpu_seconds = time.process_time() - cpu_started
    db.put(END, b"", sync=True)
    return {"entries": done, "seconds": now - started, "cpu_seconds": cpu_seconds, "samples": samples}


def main() -> None:
    """Make a store, wait for the word, write, and keep the store open until nobody reads any more."""
    path, how, seconds, key_bytes, value_bytes, seed = sys.argv[1:]
    data = Data.make(_PAIRS, key_bytes=int(key_bytes), value_bytes=int(value_bytes), seed=int(seed))
    with lsm.open(path, "n", log_retention="all") as db:
        say("ready")
        sys.stdin.readline()
        found = write(db, how, float(seconds), data)
        say(json.dumps(found))
        sys.stdin.read()


def say(line: str) -> None:
    """Tell the bench."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
