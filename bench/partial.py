"""Runs that end before their time: what was measured until then is kept, and marked."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = "interrupted"
DISK_FULL = "disk full"
EXIT_CODES = {INTERRUPTED: 130, DISK_FULL: 3}


@contextmanager
def kept(result: dict[str, object]) -> Iterator[None]:
    """Go on after a run that was interrupted or had no more room; its result says that it is partial."""
    try:
        yield
    except KeyboardInterrupt:
        mark(result, INTERRUPTED)
    except OSError as error:
        if not _is_disk_full(error):
            raise
        mark(result, DISK_FULL)


def mark(result: dict[str, object], reason: str) -> None:
    """Say in a result that it is partial, and why."""
    result["complete"] = False
    result["stopped_by"] = reason


def _is_disk_full(error: BaseException | None) -> bool:
    """Whether there was no more room, perhaps for the background, whose failure a store then reports."""
    if error is None:
        return False
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return is_full or _is_disk_full(error.__cause__)
