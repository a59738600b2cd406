"""A full disk, whatever an engine calls it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
_SAYINGS = ("no space left on device", "disk is full", "disk quota exceeded")


@contextmanager
def disk_full_alike() -> Iterator[None]:
    """Turn every engine's way of saying that the disk is full into one: OSError with ENOSPC."""
    try:
        yield
    except Exception as error:  # the engines share no base class
        if _is_plain(error) or not is_disk_full(error):
            raise
        raise OSError(errno.ENOSPC, str(error)) from error


def is_disk_full(error: BaseException) -> bool:
    """Whether an error of any engine says that there is no more room."""
    if _is_plain(error):
        return True
    said = str(error).lower()
    return any(saying in said for saying in _SAYINGS)


def _is_plain(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _NUMBERS
