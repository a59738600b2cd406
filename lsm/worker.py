"""The worker process: `python -m lsm.worker` takes tasks from standard input, a line each, and answers.

It shares nothing with the store's process but immutable files, so flushing and compacting take no time from
the interpreter that serves reads and writes.  It ends when its standard input does.
"""

import os
import sys
from collections.abc import Callable

from lsm.clock import SystemClock
from lsm.fs import open_directory
from lsm.task_json import decode_task, encode_error, encode_result
from lsm.tasks import FlushTask, run_compaction, run_flush


def answer(line: bytes, between: Callable[[], None]) -> bytes:
    """Do one task; return the line that says how it went."""
    try:
        path, task = decode_task(line)
        fs = open_directory(path, create=False, read_only=False)
        try:
            run = run_flush if isinstance(task, FlushTask) else run_compaction
            result = run(fs, SystemClock(), task, between)  # type: ignore[arg-type]  # each takes its own kind of task
            return encode_result(result, fs.counters.snapshot())
        finally:
            fs.close()
    except Exception as error:  # noqa: BLE001  # whatever it is, the other process must hear of it
        return encode_error(error)


def _end_with(parent: int) -> Callable[[], None]:
    """Return a check that ends this process when the store's process is gone: nobody waits for the answer."""

    def check() -> None:
        if os.getppid() != parent:
            sys.exit(1)

    return check


def main() -> None:
    """Answer until standard input ends."""
    between = _end_with(os.getppid())
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(answer(line, between))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
