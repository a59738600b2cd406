"""A file system that fails by rule: the n-th call of an operation, once or from then on.

It wraps any other.  An injected error poisons a handle as a real one does, and the rule's own
counters say whether the fault happened at all, so that a test can tell "survived" from "not hit".
"""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lsm.fs_types import AppendFile, Cause, FileSystem, Lock, PoisonedFile, ReadFile, ShortRead, Watch

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Operation(StrEnum):
    """What can fail.  `size` is every question about a file that does not open it."""

    CREATE = "create"
    OPEN = "open"
    APPEND = "append"
    SYNC = "sync"
    SYNC_DIR = "sync_dir"
    CLOSE = "close"
    RENAME = "rename"
    UNLINK = "unlink"
    LINK = "link"
    LIST = "list"
    PREAD = "pread"
    SIZE = "size"
    LOCK = "lock"


class Fault(StrEnum):
    """How it fails."""

    EIO = "EIO"
    ENOSPC = "ENOSPC"
    EDQUOT = "EDQUOT"
    EMFILE = "EMFILE"
    EROFS = "EROFS"
    EACCES = "EACCES"
    SHORT_WRITE = "short write"  # a part arrives, then ENOSPC
    SHORT_READ = "short read"
    FLIP = "flip"  # one bit of what was read
    LIE = "lie"  # reported as done, not done


_O, _F = Operation, Fault
_NO_SPACE = (_F.EIO, _F.ENOSPC, _F.EDQUOT)
_CELLS: dict[Operation, tuple[Fault, ...]] = {
    _O.CREATE: (*_NO_SPACE, _F.EMFILE, _F.EROFS, _F.EACCES),
    _O.OPEN: (_F.EIO, _F.EMFILE, _F.EACCES),
    _O.APPEND: (*_NO_SPACE, _F.EROFS, _F.SHORT_WRITE, _F.LIE),
    _O.SYNC: (*_NO_SPACE, _F.EROFS, _F.LIE),
    _O.SYNC_DIR: (*_NO_SPACE, _F.EROFS, _F.LIE),
    _O.CLOSE: _NO_SPACE,
    _O.RENAME: (*_NO_SPACE, _F.EROFS, _F.EACCES, _F.LIE),
    _O.UNLINK: (_F.EIO, _F.EROFS, _F.EACCES, _F.LIE),
    _O.LINK: (*_NO_SPACE, _F.EROFS, _F.EACCES, _F.LIE),
    _O.LIST: (_F.EIO, _F.EMFILE, _F.EACCES),
    _O.PREAD: (_F.EIO, _F.SHORT_READ, _F.FLIP),
    _O.SIZE: (_F.EIO, _F.EACCES),
    _O.LOCK: (_F.EIO, _F.ENOSPC, _F.EMFILE, _F.EROFS, _F.EACCES),
}
CELLS = tuple((operation, fault) for operation, faults in _CELLS.items() for fault in faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """Fail the `nth` matching call (from 0), or every one from it on."""

    operation: Operation
    fault: Fault
    pattern: str = "*"  # of the file's name, as a shell writes it
    nth: int = 0
    sticky: bool = False
    flip_at: int = 0  # which byte of a read to flip, counted round

    def __post_init__(self) -> None:
        if (self.operation, self.fault) not in CELLS:
            raise ValueError(f"{self.operation} cannot fail by {self.fault}")

    def error(self, name: str) -> OSError:
        """Return the error that the caller gets to see."""
        code = errno.ENOSPC if self.fault is Fault.SHORT_WRITE else getattr(errno, self.fault)
        return OSError(code, f"injected: {os.strerror(code)}", name)


class FaultFS:
    """Passes everything on to `inner`, except for what the rule says."""

    def __init__(self, inner: FileSystem, rule: FaultRule | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.counters = inner.counters
        self.rule = rule
        self.calls: Counter[Operation] = Counter()
        self.matched = 0
        self.injected = 0
        self.calls_after_poison = 0
        self._dir_poisoned = False
        self._lock = threading.Lock()

    def heal(self) -> None:
        """Stop failing, as if the directory had been opened anew; handles stay poisoned."""
        self.rule = None
        self._dir_poisoned = False

    def fault(self, operation: Operation, name: str) -> FaultRule | None:
        """Count a call, raise its error if it is to fail, or return the rule for faults of another kind."""
        with self._lock:
            self.calls[operation] += 1
            rule = self.rule
            if rule is None or rule.operation is not operation or not fnmatchcase(name, rule.pattern):
                return None
            self.matched += 1
            number = self.matched - 1
            if not (number == rule.nth or (rule.sticky and number > rule.nth)):
                return None
            self.injected += 1
        if rule.fault in (Fault.SHORT_WRITE, Fault.SHORT_READ, Fault.FLIP, Fault.LIE):
            return rule
        raise rule.error(name)

    def poisoned(self, name: str) -> PoisonedFile:
        """Count a call on a handle that failed before, and return its error."""
        self.calls_after_poison += 1
        return PoisonedFile(errno.EIO, "injected: failed before", name)

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> FaultyAppendFile:
        self.fault(Operation.CREATE, name)
        return FaultyAppendFile(self, self.inner.create(name, cause, reserve_bytes=reserve_bytes), name)

    def open(self, name: str, cause: Cause = Cause.READ) -> FaultyReadFile:
        self.fault(Operation.OPEN, name)
        return FaultyReadFile(self, self.inner.open(name, cause), name)

    def rename(self, old: str, new: str) -> None:
        if not self.fault(Operation.RENAME, new):
            self.inner.rename(old, new)

    def unlink(self, name: str) -> None:
        if not self.fault(Operation.UNLINK, name):
            self.inner.unlink(name)

    def sync_dir(self, cause: Cause = Cause.OTHER) -> None:
        if self._dir_poisoned:
            raise self.poisoned(self.name)
        try:
            lie = self.fault(Operation.SYNC_DIR, self.name)
        except OSError:
            self._dir_poisoned = True
            raise
        if not lie:
            self.inner.sync_dir(cause)

    def list(self) -> list[str]:
        self.fault(Operation.LIST, self.name)
        return self.inner.list()

    def exists(self, name: str) -> bool:
        self.fault(Operation.SIZE, name)
        return self.inner.exists(name)

    def size_of(self, name: str) -> int:
        self.fault(Operation.SIZE, name)
        return self.inner.size_of(name)

    def disk_bytes(self, name: str) -> int:
        self.fault(Operation.SIZE, name)
        return self.inner.disk_bytes(name)

    def link(self, name: str, target: FileSystem, new_name: str | None = None) -> None:
        if not self.fault(Operation.LINK, name):
            self.inner.link(name, target.inner if isinstance(target, FaultFS) else target, new_name)

    def lock(self, name: str, holder: str) -> Lock:
        self.fault(Operation.LOCK, name)
        return self.inner.lock(name, holder)

    def published(self, name: str) -> bytes:
        return self.inner.published(name)

    def watch(self, name: str) -> Watch:
        return self.inner.watch(name)

    def subdirectory(self, name: str) -> FileSystem:
        return self.inner.subdirectory(name)

    def free_bytes(self) -> int:
        return self.inner.free_bytes()

    def close(self) -> None:
        self.inner.close()


class FaultyAppendFile:
    """A file whose appends, syncs and close may fail."""

    def __init__(self, fs: FaultFS, inner: AppendFile, name: str) -> None:
        self.size = inner.size
        self._fs = fs
        self._inner = inner
        self._name = name
        self._is_poisoned = False
        self._is_closed = False

    def append(self, data: Buffer) -> None:
        rule = self._fault(Operation.APPEND)
        if rule and rule.fault is Fault.SHORT_WRITE:
            self._is_poisoned = True
            self._inner.append(bytes(data)[: len(bytes(data)) // 2])
            raise rule.error(self._name)
        # A write that was lost on its way leaves a hole where its bytes should be.
        self._inner.append(bytes(len(bytes(data))) if rule else data)
        self.size = self._inner.size

    def sync(self) -> None:
        if not self._fault(Operation.SYNC):
            self._inner.sync()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._inner.close()  # Also if it fails: the handle is gone then all the same.
        self._fs.fault(Operation.CLOSE, self._name)

    def _fault(self, operation: Operation) -> FaultRule | None:
        if self._is_poisoned:
            raise self._fs.poisoned(self._name)
        try:
            return self._fs.fault(operation, self._name)
        except OSError:
            self._is_poisoned = True
            raise


class FaultyReadFile:
    """A file whose reads may fail, end early or come back changed."""

    def __init__(self, fs: FaultFS, inner: ReadFile, name: str) -> None:
        self.size = inner.size
        self._fs = fs
        self._inner = inner
        self._name = name
        self._is_closed = False

    def refresh_size(self) -> int:
        self._fs.fault(Operation.SIZE, self._name)
        self.size = self._inner.refresh_size()
        return self.size

    def pread(self, offset: int, size: int) -> bytes:
        data = self._changed(self._inner.pread(offset, size))
        if len(data) != size:
            raise ShortRead(self._name, offset, size, len(data))
        return data

    def read_upto(self, offset: int, size: int) -> bytes:
        return self._changed(self._inner.read_upto(offset, size))

    def buffer(self) -> memoryview | bytes:
        found = self._inner.buffer()
        changed = self._changed(bytes(found))
        if len(changed) != len(found):
            raise ShortRead(self._name, 0, len(found), len(changed))
        return found if changed == found else changed

    def sync(self) -> None:
        if not self._fs.fault(Operation.SYNC, self._name):
            self._inner.sync()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._inner.close()
        self._fs.fault(Operation.CLOSE, self._name)

    def _changed(self, data: bytes) -> bytes:
        rule = self._fs.fault(Operation.PREAD, self._name)
        if rule is None or not data:
            return data
        if rule.fault is Fault.SHORT_READ:
            return data[: len(data) // 2]
        flipped = bytearray(data)
        flipped[rule.flip_at % len(data)] ^= 1
        return bytes(flipped)
