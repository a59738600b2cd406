"""A file system that calls a hook before each operation: to hold it back, to raise, to act in the middle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lsm.fs_types import AppendFile, Cause, FileSystem, ReadFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

WAIT_SECONDS = 60
Hook = Callable[[str, str, Cause], None]
"""Gets the operation, the file's name and the cause."""


class HookFS:
    """Passes everything on to `inner`, after the hook has had its say."""

    def __init__(self, inner: FileSystem) -> None:
        self.inner = inner
        self.name = inner.name
        self.counters = inner.counters
        self.hook: Hook | None = None

    def before(self, operation: str, name: str, cause: Cause = Cause.OTHER) -> None:
        if self.hook is not None:
            self.hook(operation, name, cause)

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> HookedAppendFile:
        self.before("create", name, cause)
        inner = self.inner.create(name, cause, reserve_bytes=reserve_bytes)
        return HookedAppendFile(self, inner, name, cause)

    def open(self, name: str, cause: Cause = Cause.READ) -> ReadFile:
        self.before("open", name, cause)
        return self.inner.open(name, cause)

    def rename(self, old: str, new: str) -> None:
        self.before("rename", new)
        self.inner.rename(old, new)

    def unlink(self, name: str) -> None:
        self.before("unlink", name)
        self.inner.unlink(name)

    def sync_dir(self, cause: Cause = Cause.OTHER) -> None:
        self.before("sync_dir", self.name, cause)
        self.inner.sync_dir(cause)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    @contextmanager
    def holding(self, operation: str, pattern: str) -> Iterator[Gate]:
        """Hold every such operation back until the block ends or the gate is opened."""
        gate = Gate(operation, pattern)
        self.hook = gate
        try:
            yield gate
        finally:
            self.hook = None
            gate.opened.set()


class Gate:
    """Lets nobody through until it is opened; `reached` tells that somebody waits."""

    def __init__(self, operation: str, pattern: str) -> None:
        self._operation = operation
        self._pattern = pattern
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, operation: str, name: str, cause: Cause) -> None:
        if operation == self._operation and fnmatchcase(name, self._pattern):
            self.reached.set()
            assert self.opened.wait(WAIT_SECONDS)

    def wait_until_reached(self) -> None:
        assert self.reached.wait(WAIT_SECONDS), "nobody came"


class HookedAppendFile:
    """A file whose appends, syncs and closing pass the hook."""

    def __init__(self, fs: HookFS, inner: AppendFile, name: str, cause: Cause) -> None:
        self._fs = fs
        self._inner = inner
        self._name = name
        self._cause = cause

    @property
    def size(self) -> int:
        return self._inner.size

    def append(self, data: Buffer) -> None:
        self._fs.before("append", self._name, self._cause)
        self._inner.append(data)

    def sync(self) -> None:
        self._fs.before("sync", self._name, self._cause)
        self._inner.sync()

    def close(self) -> None:
        self._fs.before("close", self._name, self._cause)
        self._inner.close()


def fail_once(operation: str, pattern: str, error: BaseException) -> Hook:
    """Return a hook that raises at the first such operation and at no other."""
    left = [error]

    def hook(found: str, name: str, cause: Cause) -> None:
        if left and found == operation and fnmatchcase(name, pattern):
            raise left.pop()

    return hook
