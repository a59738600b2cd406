"""What the other processes of the consumer tests do: `python -m tests.lsm.consumer_children <role> ...`."""

import sys
import time
from collections.abc import Callable

import lsm
from tests.lsm.children import TINY, say

# Everything is flushed soon, and then only what a consumer has pinned is kept of the log.
EAGER = {**TINY, "memtable_bytes_max": 16 * 1024, "log_retention_bytes": 0, "background": "thread"}
OUTPUT = "output"


def writer(path: str, first: str) -> None:
    """Write numbers from `first` on, acknowledging each, until killed."""
    number = int(first)
    with lsm.open(path, "c", **EAGER) as db:
        say("open")
        while True:
            db.put(b"%08d" % number, b"%d" % number * 9)
            say(f"ack {number}")
            number += 1
            time.sleep(0.0005)


def outside(path: str, name: str) -> None:
    """Poll and commit beside the writer, saying what was got and what is committed, until killed."""
    with lsm.open(path, "r") as db, db.consumer(name) as consumer:
        say(f"at {consumer.position}")
        while True:
            changes = consumer.poll(20, timeout=0.2)
            if changes:
                say(f"got {changes[0].seq} {' '.join(change.key.decode() for change in changes)}")
                consumer.commit()
                say(f"committed {changes[-1].seq}")


def inside(path: str, first: str) -> None:
    """Write, and copy every change exactly once to another keyspace, with the position, until killed."""
    number = int(first)
    with lsm.open(path, "c", **EAGER) as db:
        db.keyspace(OUTPUT)
        with db.consumer("copy") as consumer:
            while True:
                for _ in range(number % 7 + 1):
                    db.put(b"%08d" % number, b"%d" % number)
                    number += 1
                with db.batch() as batch:
                    for change in consumer.poll(5):
                        if change.keyspace != OUTPUT:
                            # Not idempotent on purpose: one more for every time that it is dealt with.
                            times = int(db.keyspace(OUTPUT).get(change.key, b"0")) + 1
                            batch.put(change.key, b"%d" % times, keyspace=OUTPUT)
                    consumer.commit(batch=batch)
                say(f"ack {number} {consumer.committed}")


def holder(path: str, flag: str, name: str) -> None:
    """Have a consumer open and wait; one that is in use is an answer, too."""
    try:
        with lsm.open(path, flag, background="manual") as db, db.consumer(name):
            say("open")
            sys.stdin.read()
    except lsm.ConsumerBusy as error:
        say(f"busy {error}")


ROLES: dict[str, Callable[..., None]] = {
    "writer": writer,
    "outside": outside,
    "inside": inside,
    "holder": holder,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
