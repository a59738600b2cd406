"""The log's door to the operating system: one directory of segments, and the lock of its writer."""

import errno
import os
import stat
import sys
import time
import warnings
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet

from wal.errors import LogLocked
from wal.writer import AppendFile

if sys.platform != "win32":
    import fcntl

LOCK = "LOCK"
_TOLD_BYTES_MAX = 4096
_LOCK_SECONDS_MAX = 0.25
"""How long a writer knocks: readers take the lock for a moment to see whether there is a writer."""
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
# Not blocking: a pipe in place of a segment must not hang whoever opens it.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _SAFE


class WriterLock(Protocol):
    """The one writer's hold on a log, and where it tells readers how far they may read."""

    @property
    def is_held(self) -> bool: ...
    def tell(self, data: bytes, /) -> None: ...
    def release(self) -> None: ...


class Directory(Protocol):
    """All that a log asks of the place it lives in; names are plain file names.

    `read` returns fewer bytes than asked for only at the end of the file.  `sync_file` makes durable what
    anybody has written to a file, `sync` the names.  `look_at_lock` says whether there is a writer, and the
    last it told.
    """

    @property
    def path(self) -> str: ...
    def names(self) -> list[str]: ...
    def size(self, name: str, /) -> int: ...
    def read(self, name: str, position: int, size: int, /) -> bytes: ...
    def sync_file(self, name: str, /) -> None: ...
    def create(self, name: str, /) -> AppendFile: ...
    def rename(self, old: str, new: str, /) -> None: ...
    def remove(self, name: str, /) -> None: ...
    def sync(self) -> None: ...
    def lock(self) -> WriterLock: ...
    def look_at_lock(self) -> tuple[bool, bytes]: ...


class OsFile:
    """A new file that only grows."""

    __slots__ = ("_fd", "size")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size = 0

    def append(self, data: bytes, /) -> None:
        """Write all of `data` at the end, or raise."""
        view = memoryview(data)
        while view:
            written = os.pwrite(self._fd, view, self.size)
            self.size += written
            view = view[written:]

    def sync(self) -> None:
        """Make everything appended so far durable, or raise."""
        _sync(self._fd, is_data=True)

    def close(self) -> None:
        """Give the file back; the second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        """Close a forgotten file."""
        self.close()


class OsLock:
    """An flock.  The kernel drops it when the process dies."""

    __slots__ = ("__weakref__", "_fd", "_path")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path
        _held.add(self)

    @property
    def is_held(self) -> bool:
        """Whether this process has it: false after a release, and in a forked child."""
        return self._fd >= 0

    def tell(self, data: bytes, /) -> None:
        """Leave a few bytes for whoever looks at the lock."""
        os.pwrite(self._fd, data, 0)

    def release(self) -> None:
        """Let others in; the second call does nothing."""
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self.abandon()

    def abandon(self) -> None:
        """Forget the lock in a forked child without taking it from the parent."""
        # Unlocking would unlock the parent: both share one open file.  Closing one of two handles does not.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        """Release a forgotten lock, loudly."""
        if self._fd >= 0:
            self.release()
            warnings.warn(f"log {self._path} was never closed", ResourceWarning, stacklevel=2, source=self)


_held: WeakSet[OsLock] = WeakSet()


def _after_fork() -> None:
    for lock in list(_held):
        lock.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class OsDirectory:
    """A directory of the operating system."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        """Open it, or make it first if it is not there."""
        self.path = os.path.abspath(os.fspath(path))
        if create and not os.path.isdir(self.path):
            os.mkdir(self.path, 0o700)
            _sync_directory(os.path.dirname(self.path))
        os.listdir(self.path)  # raises for what is no directory, or not ours to read
        self._mode = os.stat(self.path).st_mode & 0o666  # whoever may use the directory may read the files

    def names(self) -> list[str]:
        """Return all names in the directory."""
        return os.listdir(self.path)

    def size(self, name: str, /) -> int:
        """Return how long a file is."""
        return os.stat(self._at(name), follow_symlinks=False).st_size

    def read(self, name: str, position: int, size: int, /) -> bytes:
        """Return up to `size` bytes of a regular file."""
        fd = os.open(self._at(name), _READ)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", self._at(name))
            # `size` may come from a damaged length field: never ask for more than there is.
            size = max(0, min(size, found.st_size - position))
            data = more = os.pread(fd, size, position)
            while more and len(data) < size:
                more = os.pread(fd, size - len(data), position + len(data))
                data += more
            return data
        finally:
            os.close(fd)

    def sync_file(self, name: str, /) -> None:
        """Make durable whatever was written to a file."""
        fd = os.open(self._at(name), _READ)
        try:
            _sync(fd, is_data=True)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EINVAL):  # what cannot be written needs no sync
                raise
        finally:
            os.close(fd)

    def create(self, name: str, /) -> OsFile:
        """Make a new file."""
        return OsFile(os.open(self._at(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY | _SAFE, self._mode))

    def rename(self, old: str, new: str, /) -> None:
        """Give a file another name, replacing whatever had it."""
        os.replace(self._at(old), self._at(new))

    def remove(self, name: str, /) -> None:
        """Remove a file."""
        os.unlink(self._at(name))

    def sync(self) -> None:
        """Make every create, rename and remove so far durable."""
        _sync_directory(self.path)

    def lock(self) -> OsLock:
        """Take the writer's lock, or raise LogLocked."""
        deadline = time.monotonic() + _LOCK_SECONDS_MAX
        while True:
            fd = os.open(self._at(LOCK), os.O_CREAT | os.O_RDWR | _SAFE, self._mode)
            try:
                is_ours = _take(fd, fcntl.LOCK_EX) and self._is_lock(fd)
            except BaseException:
                os.close(fd)
                raise
            if is_ours:
                return OsLock(fd, self.path)
            os.close(fd)
            if time.monotonic() > deadline:
                raise LogLocked(f"{self.path}: another writer has the log open; readers use read_only=True")
            time.sleep(0.005)

    def look_at_lock(self) -> tuple[bool, bytes]:
        """Return whether there is a writer, and what the last one told."""
        try:
            fd = os.open(self._at(LOCK), _READ)
        except FileNotFoundError:
            return False, b""
        try:
            # The look comes first: what a writer told before it died must not be missed.
            has_writer = not _take(fd, fcntl.LOCK_SH)
            return has_writer, os.pread(fd, _TOLD_BYTES_MAX, 0)
        finally:
            os.close(fd)

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def _is_lock(self, fd: int) -> bool:
        """Tell whether the open file still has the lock's name: another one would keep nobody out."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(fd), os.stat(self._at(LOCK), follow_symlinks=False))
        return False


def _take(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(fd: int, *, is_data: bool) -> None:
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # plain fsync stops at the drive's cache there
    elif is_data and hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        os.fsync(fd)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        _sync(fd, is_data=False)
    finally:
        os.close(fd)
