"""Where the bytes of a store's directory are, by what its files are for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsm.filenames import INBOX, PINS, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from lsm.fs_types import FileSystem
    from lsm.version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """Bytes on disk by purpose."""

    tables: int = 0
    """Tables that the store reads."""
    log_needed: int = 0
    """Log that is not in tables yet, with the room reserved ahead."""
    log_retained: int = 0
    """Log that is in tables, kept for consumers, followers or by the retention settings."""
    manifest: int = 0
    waiting: int = 0
    """Tables that are being written, or are still read by somebody though no longer needed."""
    pinned: int = 0
    """Held for readers in other processes, or waiting in the inbox; links to tables are counted again."""
    other: int = 0
    """Small files: CURRENT, LOCK, positions of consumers; and what is not the store's."""

    @property
    def log(self) -> int:
        """All of the log."""
        return self.log_needed + self.log_retained

    @property
    def total(self) -> int:
        """All of it."""
        return self.tables + self.log + self.manifest + self.waiting + self.pinned + self.other


def disk_use(fs: FileSystem, version: Version) -> DiskUse:
    """Look at all files of a directory; what goes meanwhile counts as nothing."""
    used = dict.fromkeys(DiskUse.__dataclass_fields__, 0)
    tables, tables_of_log = version.tables(), version.all_tables()
    needed = {
        meta.number
        for meta in version.segments
        if meta.last_seq is None or meta.last_seq > version.flushed_seq
    }
    for name in fs.list():
        if name in (PINS, INBOX):
            used["pinned"] += _directory_bytes(fs, name)
            continue
        kind, number = parse(name) or ("other", 0)
        if kind == "sst":
            kept = "log_retained" if number in tables_of_log else "waiting"
            used["tables" if number in tables else kept] += _size(fs.size_of, name)
        elif kind == "log":
            used["log_needed" if number in needed else "log_retained"] += _size(fs.disk_bytes, name)
        else:
            used["manifest" if kind == "manifest" else "other"] += _size(fs.size_of, name)
    return DiskUse(**used)


def _directory_bytes(fs: FileSystem, name: str, depth: int = 3) -> int:
    """Return the bytes of a directory and of those inside it, as deep as a store makes them."""
    try:
        inside = fs.subdirectory(name)
    except OSError:
        return _size(fs.size_of, name)
    try:
        return sum(_directory_bytes(inside, entry, depth - 1) for entry in inside.list()) if depth else 0
    finally:
        inside.close()


def _size(measure: Callable[[str], int], name: str) -> int:
    try:
        return measure(name)
    except OSError:  # gone meanwhile
        return 0
