"""Bytes that the files of a store take, by what they are."""

import os
from dataclasses import dataclass
from pathlib import Path

_BLOCK_BYTES = 512  # what st_blocks counts in, whatever the file system has


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """Tables as long as they are; the rest as much as it takes of the disk, with what is reserved for it."""

    table_bytes: int
    log_bytes: int
    other_bytes: int
    """The manifest, and what is smaller still."""
    allocated_bytes: int
    """All files, as much as they take of the disk."""


def disk_use(directory: Path) -> DiskUse:
    """Look at all files of a store, directories inside it included."""
    tables = log = other = allocated = 0
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                facts = os.stat(os.path.join(place, name), follow_symlinks=False)
            except FileNotFoundError:  # removed since it was listed
                continue
            taken = getattr(facts, "st_blocks", 0) * _BLOCK_BYTES
            allocated += taken
            if name.endswith(".sst"):
                tables += facts.st_size
            elif name.endswith(".log"):
                log += taken
            else:
                other += facts.st_size
    return DiskUse(table_bytes=tables, log_bytes=log, other_bytes=other, allocated_bytes=allocated)
