"""Open files of the operating system: one kind to append to, one to read.  Part of the door, `lsm.fs`."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Final, NoReturn

from lsm.fs_types import Cause, IoCounters, PoisonedFile, ShortRead, as_bytes_view

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from typing_extensions import Buffer

_UNLIMITED: Final = 2**63 - 1
_REFUSED: Final = -1


def sync_all(fd: int) -> None:
    """Make a directory's names, or all of a file, durable."""
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # Plain fsync stops at the drive's cache there.
    else:
        os.fsync(fd)


def sync_data(fd: int) -> None:
    """Make a file's bytes durable, and of its other facts only what reading them back needs."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        sync_all(fd)


class OsAppendFile:
    """A new file that only grows.  One thread appends; `sync` may run beside it."""

    __slots__ = ("__weakref__", "_counters", "_fd", "_limit", "_name", "_step", "_why", "cause", "size")

    def __init__(self, fd: int, name: str, cause: Cause, counters: IoCounters, reserve_bytes: int) -> None:
        self.size = 0
        self.cause = cause
        self._fd = fd
        self._name = name
        self._counters = counters
        self._step = reserve_bytes
        self._why = ""
        # One comparison in `append` asks three questions: is there room reserved, is it sound, is it open.
        self._limit = 0 if reserve_bytes else _UNLIMITED
        counters.opened(self)

    @property
    def written_bytes(self) -> int:
        """Bytes appended so far."""
        return self.size

    @property
    def read_bytes(self) -> int:
        """Nothing is read through this handle."""
        return 0

    def append(self, data: Buffer) -> None:
        """Write all of `data` at the end, or raise; after an error every further append and sync raises."""
        # Every put pays for these lines.  Every exception poisons, an interrupt too: it may come after the
        # write and before `size` knows.
        try:
            size = self.size
            end = size + len(data)  # type: ignore[arg-type]  # Wider items are caught below.
            if end > self._limit:
                self.make_room(end)
            written = os.pwrite(self._fd, data, size)
            if size + written != end:
                self._write_rest(as_bytes_view(data), written)
            self.size = end
        except BaseException as error:
            self._poison(error)
            raise

    def _write_rest(self, view: memoryview, written: int) -> None:
        """Go on after a short write: a full disk says so only at the next one."""
        while written < len(view):
            written += os.pwrite(self._fd, view[written:], self.size + written)

    def make_room(self, end: int) -> None:
        """Reserve disk space past `end`, or go on without where the file system cannot."""
        if self._limit == _REFUSED:
            self._refuse()
        if hasattr(os, "posix_fallocate"):
            limit = (end // self._step + 1) * self._step
            try:
                os.posix_fallocate(self._fd, self._limit, limit - self._limit)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                    raise
                limit = _UNLIMITED
        else:
            limit = _UNLIMITED
        self._limit = limit
        if self._why:  # A sync beside us failed meanwhile, and that must stay.
            self._limit = _REFUSED
            self._refuse()

    def sync(self) -> None:
        """Make everything appended before the call durable, or raise; an error is never forgiven."""
        if self._limit == _REFUSED:
            self._refuse()
        try:
            sync_data(self._fd)
        except OSError as error:
            # The kernel marks the pages clean even so: a second sync would lie.
            self._poison(error)
            raise
        self._counters.count_sync(self.cause)

    def close(self) -> None:
        """Give unused reserve and the handle back.  Not a sync.  The second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        self._limit = _REFUSED
        self._counters.closed(self)
        try:
            # Also after an error: the space comes back, and the half of an append goes.
            if os.fstat(fd).st_size != self.size:
                os.ftruncate(fd, self.size)
        finally:
            os.close(fd)

    def disown(self) -> None:
        """Let go of the file in a forked child, which must not change a byte of it."""
        self._limit = _REFUSED
        self._why = self._why or "it belongs to the parent process"
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _poison(self, error: BaseException) -> None:
        if not self._why and self._limit != _REFUSED:
            self._why = f"an earlier write failed: {error!r}"  # Before the limit: see make_room.
            self._limit = _REFUSED

    def _refuse(self) -> NoReturn:
        if self._why:
            raise PoisonedFile(errno.EIO, self._why, self._name)
        raise OSError(errno.EBADF, "file is closed", self._name)

    def __del__(self) -> None:
        """Close a forgotten handle, as it is."""
        if self._fd >= 0:
            self._counters.closed(self)
            self.disown()
            warnings.warn(f"{self._name} was never closed", ResourceWarning, stacklevel=2, source=self)


class OsReadFile:
    """A regular file to read, by any number of threads."""

    __slots__ = ("__weakref__", "_counters", "_fd", "_name", "_view", "cause", "read_bytes", "size")

    written_bytes: Final = 0

    def __init__(self, fd: int, name: str, cause: Cause, counters: IoCounters, size: int) -> None:
        self.size = size
        self.cause = cause
        self.read_bytes = 0
        self._fd = fd
        self._name = name
        self._counters = counters
        self._view: memoryview | bytes | None = None
        counters.opened(self)

    def refresh_size(self) -> int:
        """Look again how long the file is: a live log grows."""
        self.size = os.fstat(self._fd).st_size
        return self.size

    def pread(self, offset: int, size: int) -> bytes:
        """Return exactly `size` bytes, or raise ShortRead."""
        data = self.read_upto(offset, size)
        if len(data) != size:
            raise ShortRead(self._name, offset, size, len(data))
        return data

    def read_upto(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes, fewer only at the end of the file."""
        if offset + size > self.size:
            # `size` may come from a damaged length field: never allocate more than the file holds.
            size = min(size, os.fstat(self._fd).st_size - offset)
        if size <= 0:
            return b""
        data = os.pread(self._fd, size, offset)
        while data and len(data) < size:
            more = os.pread(self._fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        self.read_bytes += len(data)
        return data

    def buffer(self) -> memoryview | bytes:
        """Return the whole file (as long as `size`), mapped where possible."""
        if self._view is None:
            self._view = self._mapped()
        return self._view

    def _mapped(self) -> memoryview | bytes:
        found = os.fstat(self._fd).st_size
        if found < self.size:
            # Touching a page past the end would kill the process.
            raise ShortRead(self._name, 0, self.size, found)
        if not self.size:
            return b""
        try:
            if sys.version_info >= (3, 13):
                return memoryview(mmap(self._fd, self.size, access=ACCESS_READ, trackfd=False))
            return memoryview(mmap(self._fd, self.size, access=ACCESS_READ))
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            return self.pread(0, self.size)

    def sync(self) -> None:
        """Make durable what can be read here, whoever wrote it."""
        try:
            sync_data(self._fd)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EINVAL):  # What cannot be written needs no sync.
                raise
        self._counters.count_sync(self.cause)

    def close(self) -> None:
        """Give the handle back; a mapping lives on until its last view is gone."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._view = None
            self._counters.closed(self)
            os.close(fd)

    def __del__(self) -> None:
        """Close a handle whose last user is gone."""
        self.close()
