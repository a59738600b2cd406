"""A file system in memory that records what was done to it, for crash states and mutants.

It keeps the promises of `lsm.fs_types` and no more.  Several directories may share one disk
(`sibling`), so that hard links and the moment of a crash are common to them.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from lsm.fs_types import (
    Cause,
    FileSystem,
    IoCounters,
    LockHeld,
    PoisonedFile,
    ShortRead,
    as_bytes_view,
    check_name,
    copy_file,
)
from lsm.fs_watch import PollingWatch
from tests.support.mutants import SyncCall, SyncPredicate, calling_site
from tests.support.oplog import Append, Link, OpLog, Rename, Reserve, Site, Sync, SyncDir, Truncate, Unlink

if TYPE_CHECKING:
    from typing_extensions import Buffer

SECTOR_BYTES = 512
_RESERVE_BYTES_MAX = 8 * SECTOR_BYTES


@dataclass(slots=True)
class Inode:
    """One file, whatever its names."""

    ino: int
    data: bytearray
    frozen: bytes | None = None  # `data` as bytes, until it changes.

    def content(self) -> bytes:
        """Return the whole file, reserve included."""
        if self.frozen is None:
            self.frozen = bytes(self.data)
        return self.frozen


@dataclass(slots=True)
class MemDisk:
    """Files, directories and the record of what happened to them."""

    skip_syncs: SyncPredicate | None = None
    reserve_bytes_max: int = _RESERVE_BYTES_MAX
    free_bytes: int = 1 << 40
    log: OpLog = field(default_factory=OpLog)
    inodes: dict[int, Inode] = field(default_factory=dict)
    directories: dict[str, dict[str, int]] = field(default_factory=dict)
    held: dict[tuple[str, str], str] = field(default_factory=dict)
    published: dict[tuple[str, str], bytes] = field(default_factory=dict)
    sync_calls: int = 0
    skipped: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def new_inode(self, data: bytes = b"") -> Inode:
        """Make an empty file without a name; only an image starts with bytes."""
        inode = Inode(len(self.inodes) + 1, bytearray(data))
        self.inodes[inode.ino] = inode
        return inode

    def wants_sync(self, kind: str, name: str, site: Site) -> bool:
        """Count a sync and tell whether it really happens."""
        call = SyncCall(kind, name, site, self.sync_calls)
        self.sync_calls += 1
        if self.skip_syncs is not None and self.skip_syncs(call):
            self.skipped += 1
            return False
        return True

    def sync(self, inode: Inode, name: str) -> None:
        """Make a file durable, unless a mutant says no."""
        with self.lock:
            site = calling_site()
            if self.wants_sync("sync", name, site):
                self.log.ops.append(Sync(inode.ino, site))


class MemAppendFile:
    """A new file that only grows."""

    read_bytes = 0

    def __init__(self, disk: MemDisk, inode: Inode, name: str, cause: Cause, reserve_bytes: int) -> None:
        self.size = 0
        self.cause = cause
        self._disk = disk
        self._inode = inode
        self._name = name
        self._step = min(reserve_bytes, disk.reserve_bytes_max)
        self._counters: IoCounters | None = None
        self._why = ""
        if self._step:
            self._reserve(0)

    @property
    def written_bytes(self) -> int:
        return self.size

    def counted_by(self, counters: IoCounters) -> MemAppendFile:
        self._counters = counters
        counters.opened(self)
        return self

    def append(self, data: Buffer) -> None:
        if self._counters is None or self._why:
            self._refuse()
        try:
            with self._disk.lock:
                self._append(bytes(as_bytes_view(data)))
        except BaseException as error:
            self._why = f"an earlier write failed: {error!r}"
            raise

    def _append(self, data: bytes) -> None:
        end = self.size + len(data)
        if self._step and end > len(self._inode.data):
            self._reserve(end)
        self._inode.data[self.size : end] = data
        self._inode.frozen = None
        self._disk.log.ops.append(Append(self._inode.ino, self.size, data))
        self.size = end

    def _reserve(self, end: int) -> None:
        limit = (end // self._step + 1) * self._step
        self._inode.data += bytes(limit - len(self._inode.data))
        self._inode.frozen = None
        self._disk.log.ops.append(Reserve(self._inode.ino, limit))

    def sync(self) -> None:
        if self._counters is None or self._why:
            self._refuse()
        self._disk.sync(self._inode, self._name)
        self._counters.count_sync(self.cause)

    def close(self) -> None:
        if self._counters is None:
            return
        self._counters.closed(self)
        self._counters = None
        with self._disk.lock:
            if len(self._inode.data) != self.size:
                del self._inode.data[self.size :]
                self._inode.frozen = None
                self._disk.log.ops.append(Truncate(self._inode.ino, self.size))

    def _refuse(self) -> NoReturn:
        if self._why:
            raise PoisonedFile(errno.EIO, self._why, self._name)
        raise OSError(errno.EBADF, "file is closed", self._name)


class MemReadFile:
    """A file to read; it stays readable after its name is gone."""

    written_bytes = 0

    def __init__(self, disk: MemDisk, inode: Inode, name: str, cause: Cause, counters: IoCounters) -> None:
        self.size = len(inode.data)
        self.cause = cause
        self.read_bytes = 0
        self._disk = disk
        self._inode = inode
        self._name = name
        self._counters: IoCounters | None = counters
        counters.opened(self)

    def refresh_size(self) -> int:
        self.size = len(self._open_inode().data)
        return self.size

    def pread(self, offset: int, size: int) -> bytes:
        data = self.read_upto(offset, size)
        if len(data) != size:
            raise ShortRead(self._name, offset, size, len(data))
        return data

    def read_upto(self, offset: int, size: int) -> bytes:
        if offset < 0:
            raise OSError(errno.EINVAL, "negative offset", self._name)
        with self._disk.lock:
            data = bytes(self._open_inode().data[offset : offset + max(size, 0)])
        self.read_bytes += len(data)
        return data

    def buffer(self) -> memoryview | bytes:
        with self._disk.lock:
            content = self._open_inode().content()
        if len(content) < self.size:
            raise ShortRead(self._name, 0, self.size, len(content))
        return memoryview(content)[: self.size] if content else b""

    def sync(self) -> None:
        self._disk.sync(self._open_inode(), self._name)
        if self._counters is not None:
            self._counters.count_sync(self.cause)

    def close(self) -> None:
        if self._counters is not None:
            self._counters.closed(self)
            self._counters = None

    def _open_inode(self) -> Inode:
        if self._counters is None:
            raise OSError(errno.EBADF, "file is closed", self._name)
        return self._inode


class MemLock:
    """A lock of the disk in memory; an image of the disk has none."""

    def __init__(self, disk: MemDisk, key: tuple[str, str]) -> None:
        self._disk = disk
        self._key: tuple[str, str] | None = key

    def release(self) -> None:
        if self._key is not None:
            self._disk.held.pop(self._key, None)
            self._disk.published.pop(self._key, None)
        self._key = None

    def publish(self, data: bytes) -> None:
        if self._key is not None:
            self._disk.published[self._key] = data

    def abandon(self) -> None:
        self._key = None


class MemFS:
    """One directory of a disk in memory."""

    def __init__(
        self,
        *,
        skip_syncs: SyncPredicate | None = None,
        reserve_bytes_max: int = _RESERVE_BYTES_MAX,
        disk: MemDisk | None = None,
        directory: str = "mem",
    ) -> None:
        self.name = directory
        self.counters = IoCounters()
        self.disk = disk or MemDisk(skip_syncs=skip_syncs, reserve_bytes_max=reserve_bytes_max)
        self._names = self.disk.directories.setdefault(directory, {})

    @classmethod
    def from_image(
        cls,
        image: Mapping[str, bytes],
        *,
        skip_syncs: SyncPredicate | None = None,
        reserve_bytes_max: int = _RESERVE_BYTES_MAX,
    ) -> MemFS:
        """Return a file system that holds `image`, all of it durable, with an empty log."""
        fs = cls(skip_syncs=skip_syncs, reserve_bytes_max=reserve_bytes_max)
        for name, data in sorted(image.items()):
            fs._names[check_name(name)] = fs.disk.new_inode(data).ino
        fs.log.base_names = {fs.name: dict(fs._names)}
        fs.log.base_bytes = {ino: bytes(inode.data) for ino, inode in fs.disk.inodes.items()}
        return fs

    @property
    def log(self) -> OpLog:
        """What happened to the disk, siblings included."""
        return self.disk.log

    def image(self) -> dict[str, bytes]:
        """Return what is there now, as if everything had been synced."""
        with self.disk.lock:
            return {name: self._inode(name).content() for name in sorted(self._names)}

    def sibling(self, directory: str) -> MemFS:
        """Return another directory of the same disk."""
        return MemFS(disk=self.disk, directory=directory)

    def subdirectory(self, name: str) -> MemFS:
        directory = f"{self.name}/{check_name(name)}"
        if directory not in self.disk.directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", name)
        return self.sibling(directory)

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> MemAppendFile:
        with self.disk.lock:
            inode = self._new_name(name)
            return MemAppendFile(self.disk, inode, name, cause, reserve_bytes).counted_by(self.counters)

    def open(self, name: str, cause: Cause = Cause.READ) -> MemReadFile:
        return MemReadFile(self.disk, self._inode(name), name, cause, self.counters)

    def rename(self, old: str, new: str) -> None:
        with self.disk.lock:
            ino = self._inode(old).ino
            del self._names[old]
            self._names[check_name(new)] = ino
            self.log.ops.append(Rename(self.name, old, new, ino))

    def unlink(self, name: str) -> None:
        with self.disk.lock:
            self._inode(name)
            del self._names[name]
            self.log.ops.append(Unlink(self.name, name))

    def sync_dir(self, cause: Cause = Cause.OTHER) -> None:
        with self.disk.lock:
            site = calling_site()
            if self.disk.wants_sync("sync_dir", self.name, site):
                self.log.ops.append(SyncDir(self.name, site))
        self.counters.count_sync(cause)

    def list(self) -> list[str]:
        return sorted([*self._names, *self._directories()])

    def _directories(self) -> list[str]:
        inside = [name for name in self.disk.directories if name.startswith(f"{self.name}/")]
        return [name.rpartition("/")[2] for name in inside if name.count("/") == self.name.count("/") + 1]

    def exists(self, name: str) -> bool:
        return check_name(name) in self._names or f"{self.name}/{name}" in self.disk.directories

    def size_of(self, name: str) -> int:
        return len(self._inode(name).data)

    def disk_bytes(self, name: str) -> int:
        return -(-self.size_of(name) // SECTOR_BYTES) * SECTOR_BYTES

    def link(self, name: str, target: FileSystem, new_name: str | None = None) -> None:
        if not isinstance(target, MemFS) or target.disk is not self.disk:
            copy_file(self, name, target, new_name)
            return
        with self.disk.lock:
            inode = self._inode(name)
            target._give_name(new_name or name, inode)

    def lock(self, name: str, holder: str) -> MemLock:
        key = (self.name, check_name(name))
        with self.disk.lock:
            if key in self.disk.held:
                raise LockHeld(self.disk.held[key])
            if name not in self._names:
                self._new_name(name)
            self.disk.held[key] = holder
            return MemLock(self.disk, key)

    def published(self, name: str) -> bytes:
        return self.disk.published.get((self.name, check_name(name)), b"")

    def watch(self, name: str) -> PollingWatch:
        return PollingWatch()

    def free_bytes(self) -> int:
        return self.disk.free_bytes

    def close(self) -> None:
        """Nothing to give back."""

    def _inode(self, name: str) -> Inode:
        ino = self._names.get(check_name(name))
        if ino is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", name)
        return self.disk.inodes[ino]

    def _new_name(self, name: str) -> Inode:
        self._refuse_taken(name)
        inode = self.disk.new_inode()
        self._give_name(name, inode)
        return inode

    def _give_name(self, name: str, inode: Inode) -> None:
        self._refuse_taken(name)
        self._names[name] = inode.ino
        self.log.ops.append(Link(self.name, name, inode.ino))

    def _refuse_taken(self, name: str) -> None:
        if check_name(name) in self._names:
            raise FileExistsError(errno.EEXIST, "name is taken", name)
