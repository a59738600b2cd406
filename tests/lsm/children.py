"""What the other processes of the process tests do.  `python -m tests.lsm.children <role> ...` is one."""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import lsm

# A few dozen writes are flushed, compacted and at the bottom.
TINY = {
    "memory_limit": "1MiB",
    "memtable_bytes_max": 1500,
    "block_bytes": 128,
    "table_bytes_max": 1024,
    "l0_tables_max": 2,
    "level_ratio": 2,
    "levels_max": 4,
}
SECOND = "second"  # a keyspace beside the default one


class Write(NamedTuple):
    """One atomic write: by keyspace and key, the new value or None for a deletion."""

    kind: str
    entries: dict[tuple[str, bytes], bytes | None]


def write_of(seed: int, number: int) -> Write:
    """Return the write of that number: the same in the process that does it and in the one that checks it."""
    rng = random.Random(f"{seed} {number}")
    kind = rng.choice(["put", "put", "put", "delete", "batch"])
    count = rng.randint(2, 12) if kind == "batch" else 1
    entries: dict[tuple[str, bytes], bytes | None] = {}
    for _ in range(count):
        where = rng.choice(["default", SECOND]) if kind == "batch" else "default"
        is_deletion = kind == "delete" or (kind == "batch" and rng.random() < 0.2)
        value = None if is_deletion else b"%d " % number * rng.randint(0, 20)
        entries[where, b"key-%02d" % rng.randrange(60)] = value
    return Write(kind, entries)


def perform(db: lsm.DB, write: Write) -> None:
    if write.kind == "batch":
        with db.batch() as batch:
            for (where, key), value in write.entries.items():
                if value is None:
                    batch.delete(key, keyspace=where)
                else:
                    batch.put(key, value, keyspace=where)
        return
    (((_, key), value),) = write.entries.items()
    if value is None:
        db.delete(key)
    else:
        db.put(key, value)


def say(text: str) -> None:
    """Write a line in one call, so that lines of two processes on one pipe do not mix."""
    os.write(1, text.encode() + b"\n")


def write_for_ever(path: str, seed: int, number: int, background: str) -> None:
    """Do writes from `number` on, acknowledging each when its call has returned, until killed."""
    rng = random.Random(f"{seed} from {number}")
    while True:
        with lsm.open(path, "c", background=background, **TINY) as db:
            db.keyspace(SECOND)
            while True:
                perform(db, write_of(seed, number))
                say(f"ack {number}")
                number += 1
                dice = rng.random()
                if dice < 0.02:
                    db.flush()
                elif dice < 0.03:
                    db.compact()
                elif dice < 0.04:
                    break  # close and open again: both are moments to be killed in
                elif dice < 0.2 and background == "manual":
                    db.step()


def victims() -> None:
    """Fork a writer for every line of input: a fresh interpreter for each would take most of the time."""
    for line in sys.stdin:
        path, seed, number, background = line.split("\t")
        pid = os.fork()
        if pid == 0:
            say(f"pid {os.getpid()}")
            write_for_ever(path, int(seed), int(number), background.strip())
        _, status = os.waitpid(pid, 0)
        say(f"end {os.waitstatus_to_exitcode(status)}")


def reader(path: str) -> None:
    """For every line of input refresh, and answer with what is there by every way of reading."""
    with lsm.open(path, "r") as db:
        for _ in sys.stdin:
            seq = db.refresh()
            pairs = {key.decode(): value.decode() for key, value in db.scan()}
            backwards = [key.decode() for key, _ in db.scan(reverse=True)]
            gets = all(db.get(key.encode()) == value.encode() for key, value in pairs.items())
            agree = gets and backwards == list(pairs)[::-1] and db.seq == seq
            say(json.dumps({"pairs": pairs, "agree": agree, "listing": sorted(os.listdir(path))}))


def holder(path: str) -> None:
    """Open for writing and wait; a store that is locked is an answer, too."""
    try:
        with lsm.open(path, "w", background="manual"):
            say(f"open {os.getpid()}")
            sys.stdin.read()
    except lsm.LockedError as error:
        say(f"locked {error}")


def busy(path: str) -> None:
    """Keep a worker process at work, and say who it is."""
    with lsm.open(path, "c", background="process", memory_limit="32MiB", sync="os") as db:
        for number in range(10**6):
            db.update({b"%d-%04d" % (number % 3, index): b"x" * 2000 for index in range(1500)})
            db.put(b"last", b"%d" % number)
            if number >= 2:
                say(f"{number} {' '.join(map(str, children_of(os.getpid())))}")


def children_of(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())


def wait_until_gone(pid: int, seconds: float = 20) -> None:
    """Return when a process that is not our child has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state in "ZX":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


def pairs_into(pipe: object, path: str) -> None:
    """For multiprocessing: send what a read-only handle sees, and what refuses to be written."""
    with lsm.open(path, "r") as db:
        try:
            db.put(b"k", b"v")
        except lsm.ReadOnlyError as error:
            pipe.send((list(db.scan()), str(error)))
    pipe.close()


ROLES: dict[str, Callable[..., None]] = {
    "victims": victims,
    "reader": reader,
    "holder": holder,
    "busy": busy,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
