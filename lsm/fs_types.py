"""The seam to the operating system: what the store asks of files, and who moved how many bytes.

Nothing here touches a file; `lsm.fs` does, and the tests' file systems do without.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from typing_extensions import Buffer

_COPY_BYTES = 1 << 20


class Cause(StrEnum):
    """Why bytes move."""

    LOG = "log"
    FLUSH = "flush"
    COMPACTION = "compaction"
    MANIFEST = "manifest"
    READ = "read"
    CHECKPOINT = "checkpoint"
    OTHER = "other"


class ShortRead(OSError):
    """The file ends before the bytes that were asked for."""

    def __init__(self, name: str, offset: int, wanted: int, found: int) -> None:
        super().__init__(errno.EIO, f"wanted {wanted} bytes at byte {offset}, found {found}", name)


class PoisonedFile(OSError):
    """An earlier write or sync of this handle failed, so nothing it says now could be trusted."""


class LockHeld(OSError):
    """Somebody else holds the lock; `holder` is what they wrote about themselves."""

    def __init__(self, holder: str) -> None:
        super().__init__(errno.EWOULDBLOCK, f"locked by {holder or 'another process'}")
        self.holder = holder


class AppendFile(Protocol):
    """A new file that only grows.  One thread appends; `sync` may run beside it."""

    size: int

    def append(self, data: Buffer) -> None:
        """Write all of `data` at the end, or raise; after an error every further append and sync raises."""

    def sync(self) -> None:
        """Make everything appended before the call durable, or raise; an error is never forgiven."""

    def close(self) -> None:
        """Give unused reserve and the handle back.  Not a sync.  The second call does nothing."""


class ReadFile(Protocol):
    """A file to read, by any number of threads."""

    size: int

    def refresh_size(self) -> int:
        """Look again how long the file is: a live log grows."""

    def pread(self, offset: int, size: int) -> bytes:
        """Return exactly `size` bytes, or raise ShortRead."""

    def read_upto(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes, fewer only at the end of the file."""

    def buffer(self) -> memoryview | bytes:
        """Return the whole file (as long as `size`), mapped where possible."""

    def sync(self) -> None:
        """Make durable what can be read here, whoever wrote it."""

    def close(self) -> None:
        """Give the handle back; a mapping lives on until its last view is gone."""


class Lock(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Let others in.  The second call does nothing."""

    def abandon(self) -> None:
        """Forget the lock in a forked child without taking it from the parent."""

    def publish(self, data: bytes) -> None:
        """Let others see a few bytes; at once, not durably, and at best: it never raises."""


class Watch(Protocol):
    """Notices that the holder of a lock has published something."""

    def wait(self, seconds: float) -> None:
        """Return when something was published since the last call, or after so long."""

    def close(self) -> None:
        """Give the handle back."""


class FileSystem(Protocol):
    """One directory of files.  Names are plain: no separators, no dots that lead elsewhere."""

    name: str
    counters: IoCounters

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> AppendFile:
        """Make a new file, with room for `reserve_bytes` more bytes ahead of its end at all times."""

    def open(self, name: str, cause: Cause = Cause.READ) -> ReadFile:
        """Open a regular file; anything else is refused."""

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, replacing whatever had it."""

    def unlink(self, name: str) -> None:
        """Remove a name."""

    def sync_dir(self, cause: Cause = Cause.OTHER) -> None:
        """Make every create, rename, link and unlink so far durable."""

    def list(self) -> list[str]:
        """Return all names, sorted."""

    def exists(self, name: str) -> bool:
        """Tell whether the name is taken."""

    def size_of(self, name: str) -> int:
        """Return how long the file is."""

    def disk_bytes(self, name: str) -> int:
        """Return how much of the disk the file takes."""

    def link(self, name: str, target: FileSystem, new_name: str | None = None) -> None:
        """Give the file a name in `target` too, the same by default; by a copy where it cannot be linked."""

    def lock(self, name: str, holder: str) -> Lock:
        """Take the lock or raise LockHeld at once; `holder` is what others get to read."""

    def published(self, name: str) -> bytes:
        """Return what the holder of a lock published last, nothing if it did not; it may be torn."""

    def watch(self, name: str) -> Watch:
        """Return something that notices when the holder of a lock publishes."""

    def subdirectory(self, name: str) -> FileSystem:
        """Open a directory inside this one, or raise FileNotFoundError."""

    def free_bytes(self) -> int:
        """Return how much more the disk takes."""

    def close(self) -> None:
        """Give the directory back; open files stay usable."""


class Tallied(Protocol):
    """An open handle that knows how many bytes went through it."""

    cause: Cause

    @property
    def written_bytes(self) -> int:
        """Bytes written so far."""

    @property
    def read_bytes(self) -> int:
        """Bytes read so far."""


@dataclass(frozen=True, slots=True)
class IoSnapshot:
    """Bytes and syncs by cause at one moment; the difference of two is what happened between."""

    written: Mapping[Cause, int]
    read: Mapping[Cause, int]
    syncs: Mapping[Cause, int]

    def __sub__(self, earlier: IoSnapshot) -> IoSnapshot:
        """Return what was counted since `earlier`."""
        return IoSnapshot(
            _difference(self.written, earlier.written),
            _difference(self.read, earlier.read),
            _difference(self.syncs, earlier.syncs),
        )


def _difference(now: Mapping[Cause, int], then: Mapping[Cause, int]) -> dict[Cause, int]:
    return {cause: now[cause] - then[cause] for cause in Cause}


class IoCounters:
    """Bytes written and read, and syncs, by cause.

    An append costs nothing here: open handles know their bytes and are asked only on demand.
    """

    __slots__ = ("__weakref__", "_lock", "_open", "_read", "_syncs", "_written")

    def __init__(self) -> None:
        # Re-entrant: the collector may close a forgotten handle while this thread is counting.
        self._lock = threading.RLock()
        self._open: WeakSet[Tallied] = WeakSet()
        self._written = dict.fromkeys(Cause, 0)
        self._read = dict.fromkeys(Cause, 0)
        self._syncs = dict.fromkeys(Cause, 0)

    def opened(self, handle: Tallied) -> None:
        """Count what goes through `handle` from now on."""
        with self._lock:
            self._open.add(handle)

    def closed(self, handle: Tallied) -> None:
        """Keep the bytes of a handle that is about to go; the second call does nothing."""
        with self._lock:
            if handle in self._open:
                self._open.discard(handle)
                self._written[handle.cause] += handle.written_bytes
                self._read[handle.cause] += handle.read_bytes

    def count_read(self, cause: Cause, size_bytes: int) -> None:
        """Count bytes taken from a mapped file, which no handle sees."""
        with self._lock:
            self._read[cause] += size_bytes

    def add(self, elsewhere: IoSnapshot) -> None:
        """Count what another process did for this store."""
        with self._lock:
            for mine, theirs in (
                (self._written, elsewhere.written),
                (self._read, elsewhere.read),
                (self._syncs, elsewhere.syncs),
            ):
                for cause, count in theirs.items():
                    mine[cause] += count

    def count_sync(self, cause: Cause) -> None:
        """Count one sync of a file or of the directory."""
        with self._lock:
            self._syncs[cause] += 1

    def open_handles(self) -> list[Tallied]:
        """Return the handles that are open now."""
        with self._lock:
            return list(self._open)

    def snapshot(self) -> IoSnapshot:
        """Return all counts as they are now."""
        with self._lock:
            handles = list(self._open)
            written, read = dict(self._written), dict(self._read)
            for handle in handles:
                written[handle.cause] += handle.written_bytes
                read[handle.cause] += handle.read_bytes
            return IoSnapshot(written, read, dict(self._syncs))

    def after_fork(self) -> None:
        """Start with a fresh lock in a forked child: the old one may be held by a thread that is not here."""
        self._lock = threading.RLock()


def check_name(name: str) -> str:
    """Return `name` if it is a plain file name; a name from a hostile store must not lead elsewhere."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"not a plain file name: {name!r}")
    return name


def as_bytes_view(data: Buffer) -> memoryview:
    """Return `data` as a view of single bytes, and refuse wider items.

    With wider items `len` is not the number of bytes, and a short write could pass for a whole one.
    """
    view = memoryview(data)
    if view.itemsize != 1 or view.ndim != 1:
        raise TypeError('append takes single bytes: hand over memoryview(data).cast("B")')
    return view


def copy_file(source: FileSystem, name: str, target: FileSystem, new_name: str | None = None) -> None:
    """Copy a file to another file system and make its data durable there; a half copy is removed."""
    reader = source.open(name, Cause.CHECKPOINT)
    try:
        writer = target.create(new_name or name, Cause.CHECKPOINT)
        try:
            try:
                while data := reader.read_upto(writer.size, _COPY_BYTES):
                    writer.append(data)
                writer.sync()
            finally:
                writer.close()
        except BaseException:
            with suppress(OSError):  # The first error is the one to report.
                target.unlink(new_name or name)
            raise
    finally:
        reader.close()
