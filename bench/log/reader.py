"""A process that reads what is new in a log, and waits for more.

Run as `python -m bench.log.reader PATH`.
"""

import json
import sys
import time

import lsm
from bench.log.writer import END, say

_PATIENCE_SECONDS = 120.0


def read(db: lsm.DB) -> dict[str, object]:
    """Read until the last write of all; return how many changes came, and whether any was left out."""
    changes = db.changes("latest", follow=True, timeout=_PATIENCE_SECONDS)
    first = due = db.seq + 1
    say("ready")
    cpu_started = time.process_time()
    is_dense = True
    for change in changes:
        if change.seq != due:
            is_dense = False
        due = change.seq + 1
        if change.key == END:
            return {
                "changes": due - first,
                "is_dense": is_dense,
                "cpu_seconds": time.process_time() - cpu_started,
                "ended": time.monotonic(),
            }
    return {"changes": due - first, "is_dense": False, "cpu_seconds": 0.0, "ended": time.monotonic()}


def main() -> None:
    """Read beside a writer."""
    with lsm.open(sys.argv[1], "r") as db:
        say(json.dumps(read(db)))


if __name__ == "__main__":
    main()
