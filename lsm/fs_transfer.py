"""Files of users: read for an import, made by an export.  Part of the door.

An export has its name only when it is whole and durable: it is written beside it first.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import BinaryIO, Final

from lsm.errors import FileExists, InvalidArgument

_BUFFER_BYTES: Final = 1024 * 1024
_NO_LINK: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


def as_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a file as text."""
    return os.fspath(path)


@contextmanager
def new_file(path: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Give a file to write; it gets its name, durably, when the block ends well, and is removed otherwise."""
    _refuse_what_is_there(path, overwrite=overwrite)
    directory = os.path.dirname(path) or "."
    unfinished = os.path.join(directory, f".lsm-export-{token_hex(6)}.part")
    try:
        with open(unfinished, "xb", buffering=_BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _give_name(unfinished, path, overwrite=overwrite)
        _sync_directory(directory)
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            os.unlink(unfinished)
        raise


@contextmanager
def input_file(path: str) -> Iterator[BinaryIO]:
    """Open a regular file to read."""
    # Not blocking: a FIFO must not hang the command that is about to refuse it.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InvalidArgument(f"{path}: not a file")
    with open(fd, "rb", buffering=_BUFFER_BYTES) as file:
        yield file


def size_of(file: BinaryIO) -> int:
    """Return how long an open file is."""
    return os.fstat(file.fileno()).st_size


def _refuse_what_is_there(path: str, *, overwrite: bool) -> None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not overwrite:
        raise FileExists(errno.EEXIST, "is there already, and nobody said that it may be replaced", path)
    if not stat.S_ISREG(found.st_mode):
        raise InvalidArgument(f"{path}: not a file, so it is not replaced")


def _give_name(unfinished: str, path: str, *, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(unfinished, path)  # unlike a rename, it never replaces what came meanwhile
        except FileExistsError:
            _refuse_what_is_there(path, overwrite=False)
            raise
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
        else:
            os.unlink(unfinished)
            return
        _refuse_what_is_there(path, overwrite=False)
    os.replace(unfinished, path)


def _sync_directory(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
