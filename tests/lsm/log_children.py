"""The writer of the log's process tests: `python -m tests.lsm.log_children path`."""

import sys

import lsm
from tests.lsm.children import TINY, say

OPTIONS = {**TINY, "background": "thread", "log_retention": "all"}


def value_of(seq: int) -> bytes:
    return b"%d " % seq * (seq % 9)


def write_for_ever(path: str) -> None:
    """Write on from where the store stands, one in three synced, and now and then a batch, until killed."""
    with lsm.open(path, "c", **OPTIONS) as db:
        say("open")
        while True:
            seq = db.seq + 1
            if seq % 10 == 0:
                db.update({b"%d" % (seq + at): value_of(seq + at) for at in range(4)})
            else:
                db.put(b"%d" % seq, value_of(seq), sync=seq % 3 == 0)
            say(f"ack {db.seq}")


if __name__ == "__main__":
    write_for_ever(sys.argv[1])
