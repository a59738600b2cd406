"""The process that the demo kills: it writes, and says so on standard output after each call that returned.

`python -m lsm.cli.demo.writer DIRECTORY SEED FIRST` does the operations of that seed from FIRST on.
"""

import os
import sys
from itertools import count
from typing import Final

import lsm
from lsm.cli.demo.history import Write, operation

KIB: Final = 1024


def open_small(path: str | os.PathLike[str]) -> lsm.DB:
    """Open a store whose memtables and tables are so small that flush and compaction hardly ever rest."""
    return lsm.open(
        path,
        memtable_bytes_max=32 * KIB,
        table_bytes_max=64 * KIB,
        l0_tables_max=2,
        level_ratio=4,
        log_retention_bytes=64 * KIB * KIB,  # the demo reads the log from the beginning
        background="thread",
    )


def write(db: lsm.DB, writes: list[Write]) -> None:
    """Do one operation durably: alone through put or delete, together through a batch."""
    if len(writes) > 1:
        with db.batch() as batch:
            for key, value in writes:
                if value is None:
                    batch.delete(key)
                else:
                    batch.put(key, value)
        return
    ((key, value),) = writes
    if value is None:
        db.delete(key)
    else:
        db.put(key, value)


def main() -> None:
    """Write until killed."""
    path, seed, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    acknowledgements = sys.stdout.fileno()
    with open_small(path) as db:
        for number in count(first):
            write(db, operation(seed, number))
            # Straight to the pipe: what is said here was true before anybody could be killed.
            os.write(acknowledgements, b"%d\n" % number)


if __name__ == "__main__":
    main()
