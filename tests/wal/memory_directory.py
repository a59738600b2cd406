"""A log's directory in memory: it forgets what was not synced, fails on demand, and counts what is read."""

import random
from collections.abc import Callable

import wal
from tests.wal.memory import MemoryFile


def no_fault(operation: str, name: str) -> None:
    """What happens before every operation, by default: nothing."""


class DirectoryFile(MemoryFile):
    """A file of a MemoryDirectory."""

    def __init__(self, directory: "MemoryDirectory", name: str) -> None:
        super().__init__()
        self.directory, self.name = directory, name

    def append(self, data: bytes, /) -> None:
        try:
            self.directory.fault("append", self.name)
        except OSError:
            super().append(data[: len(data) // 2])  # a full disk takes what fits
            raise
        super().append(data)

    def sync(self) -> None:
        self.directory.fault("sync", self.name)
        super().sync()


class MemoryLock:
    """The lock of a MemoryDirectory."""

    def __init__(self, directory: "MemoryDirectory") -> None:
        self._directory = directory
        self.is_held = True
        directory.is_locked = True

    def tell(self, data: bytes, /) -> None:
        self._directory.fault("tell", "LOCK")
        self._directory.told.append(data)

    def release(self) -> None:
        if self.is_held:
            self.is_held = self._directory.is_locked = False


class MemoryDirectory:
    """A directory whose names, like the bytes of its files, survive a crash only if they were synced."""

    path = "memory"

    def __init__(self) -> None:
        self.files: dict[str, DirectoryFile] = {}
        self.synced_files: dict[str, DirectoryFile] = {}
        self.is_locked = False
        self.told: list[bytes] = []
        self.read_bytes = 0
        self.fault: Callable[[str, str], None] = no_fault

    def names(self) -> list[str]:
        return [*self.files, *(["LOCK"] if self.told else [])]

    def size(self, name: str, /) -> int:
        return self._file(name).size

    def read(self, name: str, position: int, size: int, /) -> bytes:
        self.fault("read", name)
        data = bytes(self._file(name).data[position : position + size])
        self.read_bytes += len(data)
        return data

    def sync_file(self, name: str, /) -> None:
        self._file(name).synced_bytes = self.size(name)

    def create(self, name: str, /) -> DirectoryFile:
        self.fault("create", name)
        if name in self.files:
            raise FileExistsError(name)
        file = self.files[name] = DirectoryFile(self, name)
        return file

    def rename(self, old: str, new: str, /) -> None:
        self.fault("rename", old)
        self.files[new] = self.files.pop(old)
        self.files[new].name = new

    def remove(self, name: str, /) -> None:
        self.fault("remove", name)
        self._file(name)
        del self.files[name]

    def sync(self) -> None:
        self.fault("sync", ".")
        self.synced_files = dict(self.files)

    def lock(self) -> MemoryLock:
        if self.is_locked:
            raise wal.LogLocked("another writer has the log open")
        return MemoryLock(self)

    def look_at_lock(self) -> tuple[bool, bytes]:
        return self.is_locked, self.told[-1] if self.told else b""

    def _file(self, name: str) -> DirectoryFile:
        try:
            return self.files[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def put(self, name: str, data: bytes) -> None:
        """Put a file there, durably, as if from outside."""
        file = self.files[name] = self.synced_files[name] = DirectoryFile(self, name)
        file.data = bytearray(data)
        file.synced_bytes = len(data)

    def after_kill(self) -> "MemoryDirectory":
        """What is there when the writing process was killed: everything that was written."""
        return self._copy(self.files, lambda file: bytes(file.data), self.told)

    def after_crash(self, rng: random.Random) -> "MemoryDirectory":
        """What may be there after the power went: synced bytes, and anything of the others."""

        def survived(file: DirectoryFile) -> bytes:
            lost = bytearray(file.data[file.synced_bytes :])
            if lost and rng.random() < 0.5:
                start, stop = sorted((rng.randrange(len(lost) + 1), rng.randrange(len(lost) + 1)))
                lost[start:stop] = rng.choice([b"\0", b"\xa5"]) * (stop - start)
            return bytes(file.data[: file.synced_bytes] + lost[: rng.randrange(len(lost) + 1)])

        # Of the names that were changed since the last sync, each may have been written down or not.
        files = {
            name: file
            for name in [*self.files, *self.synced_files]
            if (file := rng.choice([self.files, self.synced_files]).get(name)) is not None
        }
        return self._copy(files, survived, self.told[: rng.randrange(len(self.told) + 1)])

    def _copy(
        self, files: dict[str, DirectoryFile], survived: Callable[[DirectoryFile], bytes], told: list[bytes]
    ) -> "MemoryDirectory":
        copy = MemoryDirectory()
        for name, file in files.items():
            copy.put(name, survived(file))
        copy.told = list(told)
        return copy


class Clock:
    """A clock that tests move."""

    def __init__(self, now_us: int = 1_700_000_000_000_000, step_us: int = 0) -> None:
        self.now_us = now_us
        self._step_us = step_us

    def __call__(self) -> int:
        self.now_us += self._step_us
        return self.now_us * 1000


def open_log(
    directory: MemoryDirectory | None = None, *, clock: Clock | None = None, **settings: object
) -> wal.Log:
    """Open a log for writing."""
    chosen = wal.LogSettings(**{"segment_bytes": 4096} | settings)
    return wal.Log(directory or MemoryDirectory(), chosen, time_ns=clock or Clock(step_us=1))


def payloads(log: wal.Log, offset: int | None = None, **how: object) -> list[bytes]:
    return [entry.payload for entry in log.read(log.earliest if offset is None else offset, **how)]
