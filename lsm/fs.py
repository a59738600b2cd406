"""The only door to the operating system's files.

Every name is relative to one open directory, every file is new or read-only, and every byte is
counted by its cause.  What a caller may rely on stands in `lsm.fs_types`.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
import threading
from contextlib import suppress
from typing import Final
from weakref import WeakSet

from lsm.fs_files import OsAppendFile, OsReadFile, sync_all
from lsm.fs_types import (
    AppendFile,
    Cause,
    FileSystem,
    IoCounters,
    IoSnapshot,
    Lock,
    LockHeld,
    PoisonedFile,
    ReadFile,
    ShortRead,
    Watch,
    check_name,
    copy_file,
)
from lsm.fs_watch import watch_file

if sys.platform != "win32":
    import fcntl

__all__ = [
    "AppendFile",
    "Cause",
    "FileSystem",
    "IoCounters",
    "IoSnapshot",
    "Lock",
    "LockHeld",
    "OsAppendFile",
    "OsFileSystem",
    "OsLock",
    "OsReadFile",
    "PoisonedFile",
    "ReadFile",
    "ShortRead",
    "open_directory",
    "this_process",
]

_SAFE_FLAGS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE_FLAGS: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | _SAFE_FLAGS
# Not blocking: a FIFO in place of a table must not hang the open.
_READ_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _SAFE_FLAGS
_LOCK_FLAGS: Final = os.O_CREAT | os.O_RDWR | getattr(os, "O_NONBLOCK", 0) | _SAFE_FLAGS
_DIRECTORY_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)

_HOLDER_BYTES_MAX: Final = 1024  # what is published stands behind it
_PUBLISHED_BYTES_MAX: Final = 64
_NO_LINK: Final = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP)


class OsLock:
    """An flock.  The kernel drops it when the process dies."""

    __slots__ = ("__weakref__", "_fd", "_key", "holder")

    def __init__(self, fd: int, key: tuple[int, int], holder: str) -> None:
        self._fd = fd
        self._key = key
        self.holder = holder

    def release(self) -> None:
        """Let others in.  The second call does nothing."""
        with _process.lock:
            if self._fd >= 0:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
                self.abandon()

    def publish(self, data: bytes) -> None:
        """Let others see a few bytes; at once, not durably, and at best: it never raises."""
        with suppress(OSError):
            os.pwrite(self._fd, data, _HOLDER_BYTES_MAX)

    def abandon(self) -> None:
        """Forget the lock in a forked child without taking it from the parent."""
        # Unlocking would unlock the parent: both share one open file.  Closing one of two handles does not.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            _process.locks.pop(self._key, None)
            os.close(fd)


class _Process:
    """What this process holds open; a forked child holds none of it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.locks: dict[tuple[int, int], OsLock] = {}
        self.counters: WeakSet[IoCounters] = WeakSet()

    def after_fork(self) -> None:
        self.lock = threading.RLock()
        for lock in list(self.locks.values()):
            lock.abandon()
        for counters in list(self.counters):
            counters.after_fork()
            for handle in counters.open_handles():
                if isinstance(handle, OsAppendFile):
                    handle.disown()


_process: Final = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.after_fork)


class OsFileSystem:
    """One directory of files.  Made by `open_directory`."""

    __slots__ = ("_dir_error", "_fd", "_mode", "_read_only", "counters", "name", "permissions")

    def __init__(self, fd: int, name: str, *, read_only: bool, file_mode: int) -> None:
        self._fd = fd
        self.name = name
        self.counters = IoCounters()
        self.permissions = stat.S_IMODE(os.fstat(fd).st_mode)
        self._mode = file_mode
        self._read_only = read_only
        self._dir_error = ""
        _process.counters.add(self.counters)

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> OsAppendFile:
        """Make a new file, with room for `reserve_bytes` more bytes ahead of its end at all times."""
        self._check_writable(name)
        fd = os.open(check_name(name), _CREATE_FLAGS, self._mode, dir_fd=self._fd)
        file = OsAppendFile(fd, name, cause, self.counters, reserve_bytes)
        try:
            os.fchmod(fd, self._mode)  # Whatever the umask says.
            if reserve_bytes:
                file.make_room(0)
        except BaseException:
            with suppress(OSError):  # The first error is the one to report.
                file.close()
                os.unlink(name, dir_fd=self._fd)
            raise
        return file

    def open(self, name: str, cause: Cause = Cause.READ) -> OsReadFile:
        """Open a regular file; anything else is refused."""
        fd = os.open(check_name(name), _READ_FLAGS, dir_fd=self._fd)
        try:
            size = _regular(os.fstat(fd), name).st_size
        except BaseException:
            os.close(fd)
            raise
        return OsReadFile(fd, name, cause, self.counters, size)

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, replacing whatever had it."""
        self._check_writable(old)
        os.replace(check_name(old), check_name(new), src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def unlink(self, name: str) -> None:
        """Remove a name."""
        self._check_writable(name)
        os.unlink(check_name(name), dir_fd=self._fd)

    def sync_dir(self, cause: Cause = Cause.OTHER) -> None:
        """Make every create, rename, link and unlink so far durable; an error is never forgiven."""
        if self._dir_error:
            raise PoisonedFile(errno.EIO, self._dir_error, self.name)
        try:
            sync_all(self._fd)
        except OSError as error:
            self._dir_error = f"an earlier sync of the directory failed: {error!r}"
            raise
        self.counters.count_sync(cause)

    def list(self) -> list[str]:
        """Return all names, sorted."""
        # A handle of its own: two threads that list through one share its place, and each misses names.
        fd = os.open(".", _DIRECTORY_FLAGS, dir_fd=self._fd)
        try:
            return sorted(os.listdir(fd))
        finally:
            os.close(fd)

    def exists(self, name: str) -> bool:
        """Tell whether the name is taken, by whatever."""
        try:
            self._stat(name)
        except FileNotFoundError:
            return False
        return True

    def size_of(self, name: str) -> int:
        """Return how long the file is."""
        return self._stat(name).st_size

    def disk_bytes(self, name: str) -> int:
        """Return how much of the disk the file takes."""
        return self._stat(name).st_blocks * 512

    def link(self, name: str, target: FileSystem, new_name: str | None = None) -> None:
        """Give the file a name in `target` too, the same by default; by a copy where it cannot be linked."""
        new = check_name(new_name or name)
        if not isinstance(target, OsFileSystem):
            copy_file(self, name, target, new)
            return
        target._check_writable(new)
        _regular(self._stat(name), name)
        try:
            os.link(name, new, src_dir_fd=self._fd, dst_dir_fd=target._fd, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            copy_file(self, name, target, new)

    def lock(self, name: str, holder: str) -> OsLock:
        """Take the lock or raise LockHeld at once; `holder` is what others get to read."""
        self._check_writable(name)
        with _process.lock:
            while True:
                fd = os.open(check_name(name), _LOCK_FLAGS, self._mode, dir_fd=self._fd)
                try:
                    key = _take_lock(fd, name)
                    if self._is_same(name, key):
                        break
                except BaseException:
                    os.close(fd)
                    raise
                os.close(fd)  # The file was replaced meanwhile: that lock keeps nobody out.
            # Only a courtesy to others: on a full disk the lock holds without it.
            with suppress(OSError):
                os.fchmod(fd, self._mode)
                os.ftruncate(fd, 0)
                os.pwrite(fd, holder.encode()[:_HOLDER_BYTES_MAX], 0)
            lock = _process.locks[key] = OsLock(fd, key, holder)
            return lock

    def published(self, name: str) -> bytes:
        """Return what the holder of a lock published last, nothing if it did not; it may be torn."""
        try:
            fd = os.open(check_name(name), _READ_FLAGS, dir_fd=self._fd)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(fd, _PUBLISHED_BYTES_MAX, _HOLDER_BYTES_MAX)
        finally:
            os.close(fd)

    def watch(self, name: str) -> Watch:
        """Return something that notices when the holder of a lock publishes."""
        return watch_file(self._fd, check_name(name))

    def subdirectory(self, name: str) -> OsFileSystem:
        """Open a directory inside this one; a link to one elsewhere is refused."""
        fd = os.open(check_name(name), _DIRECTORY_FLAGS | getattr(os, "O_NOFOLLOW", 0), dir_fd=self._fd)
        return OsFileSystem(fd, f"{self.name}/{name}", read_only=self._read_only, file_mode=self._mode)

    @property
    def is_read_only(self) -> bool:
        """Tell whether this handle refuses to change anything."""
        return self._read_only

    def for_writing(self) -> OsFileSystem:
        """Return another handle of the directory, one that can write: a reader has a few files of its own."""
        return OsFileSystem(os.dup(self._fd), self.name, read_only=False, file_mode=self._mode)

    def free_bytes(self) -> int:
        """Return how much more the disk takes from an ordinary user."""
        found = os.fstatvfs(self._fd)
        return found.f_bavail * found.f_frsize

    def close(self) -> None:
        """Give the directory back; open files stay usable.  The second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        """Close a directory whose last user is gone."""
        self.close()

    def _stat(self, name: str) -> os.stat_result:
        return os.stat(check_name(name), dir_fd=self._fd, follow_symlinks=False)

    def _is_same(self, name: str, key: tuple[int, int]) -> bool:
        try:
            found = self._stat(name)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == key

    def _check_writable(self, name: str) -> None:
        if self._read_only:
            raise OSError(errno.EROFS, "opened read-only", f"{self.name}/{name}")


def open_directory(
    path: str | os.PathLike[str], *, create: bool, read_only: bool, mode: int = 0o700
) -> OsFileSystem:
    """Open a directory, or make it first; files in it get the read and write bits of `mode`."""
    name = os.fspath(path)
    made = False
    if create and not read_only:
        with suppress(FileExistsError):
            os.mkdir(name, mode)
            made = True
    fd = os.open(name, _DIRECTORY_FLAGS)
    try:
        if made:
            os.fchmod(fd, mode)  # Whatever the umask says.
        if create and not read_only and (made or not os.listdir(fd)):
            # Before the first file: a store whose own directory is lost is lost whole.  An empty one may
            # have been made by a process that died before it came to this line.
            _sync_parent(name)
    except BaseException:
        os.close(fd)
        raise
    return OsFileSystem(fd, name, read_only=read_only, file_mode=mode & 0o666)


def this_process() -> str:
    """Return how a lock names its holder."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


def _sync_parent(path: str) -> None:
    try:
        fd = os.open(os.path.dirname(os.path.abspath(path)), _DIRECTORY_FLAGS)
    except PermissionError:
        return  # A directory that may be entered but not read cannot be synced by us.
    try:
        sync_all(fd)
    finally:
        os.close(fd)


def _take_lock(fd: int, name: str) -> tuple[int, int]:
    """Lock an open file and return its identity, or raise LockHeld."""
    found = _regular(os.fstat(fd), name)
    key = (found.st_dev, found.st_ino)
    if key in _process.locks:
        raise LockHeld(_process.locks[key].holder)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, _HOLDER_BYTES_MAX, 0).decode(errors="replace")
        # Whoever can write the file must not be able to steer the terminal that shows this.
        raise LockHeld("".join(c if c.isprintable() else "?" for c in text)) from None
    return key


def _regular(found: os.stat_result, name: str) -> os.stat_result:
    """Refuse a directory, link, pipe or device in place of a file."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "not a regular file", name)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", name)
    return found
