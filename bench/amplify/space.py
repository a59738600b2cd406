"""Space amplification: where every byte of a settled store is."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import lsm
from bench.amplify.course import Course
from bench.amplify.disk import DiskUse, disk_use

_BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Bytes by what they are for; all but `mean` and `peak` add up to `total`."""

    live: int
    """Keys and values that a scan of everything returns."""
    overwritten: int
    """Keys and values in tables that no reader sees any more."""
    tombstones: int
    """Keys of deletions."""
    format: int
    """What tables add to keys and values: index, filter, sequence numbers, headers."""
    log: int
    temporary: int
    """Tables that no version has: outputs of running jobs, and files that are about to go."""
    manifest: int
    """And other small files."""
    mean: int
    """Bytes of tables on average while measuring: at the end L0 may happen to be full, or empty."""
    peak: int
    """The most bytes of tables while measuring, the outputs of a running job beside its inputs included."""

    @property
    def tables(self) -> int:
        """Bytes of the tables that the store is made of."""
        return self.live + self.overwritten + self.tombstones + self.format

    @property
    def total(self) -> int:
        """All files."""
        return self.tables + self.log + self.temporary + self.manifest

    def figures(self) -> dict[str, float]:
        """Return ratios to live bytes."""
        live = max(1, self.live)
        return {
            "space_amp": self.tables / live,
            "space_amp_mean": self.mean / live,
            "space_amp_with_log": (self.tables + self.log) / live,
            "space_amp_peak": self.peak / live,
        }

    def to_json(self) -> dict[str, int]:
        """Return plain values."""
        return {**asdict(self), "total": self.total}


def space_of(
    tables: Sequence[lsm.TableInfo], disk: DiskUse, *, live_bytes: int, key_bytes: int, course: Course
) -> Space:
    """Share out the bytes of a settled store, all of whose keys have `key_bytes`."""
    table_bytes = sum(table.size_bytes for table in tables)
    user_bytes = sum(table.user_bytes for table in tables)
    tombstone_bytes = key_bytes * sum(table.tombstones for table in tables)
    return Space(
        live=live_bytes,
        overwritten=user_bytes - tombstone_bytes - live_bytes,
        tombstones=tombstone_bytes,
        format=table_bytes - user_bytes,
        log=disk.log_bytes,
        temporary=max(0, disk.table_bytes - table_bytes),
        manifest=disk.other_bytes,
        mean=course.mean_table_bytes or table_bytes,
        peak=max(course.peak.peak_bytes, table_bytes),
    )


def measure_space(db: lsm.DB, *, key_bytes: int, course: Course) -> Space:
    """Share out the bytes of a store with nothing in memory."""
    return space_of(
        db.tables(),
        disk_use(Path(db.path)),
        live_bytes=live_bytes_of(db.scan()),
        key_bytes=key_bytes,
        course=course,
    )


def live_bytes_of(pairs: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the bytes of keys and values."""
    return sum(len(key) + len(value) for key, value in pairs)


def delete_everything(db: lsm.DB) -> None:
    """Delete every key, one by one, and compact."""
    keys = list(db.keys())
    for at in range(0, len(keys), _BATCH):
        with db.batch() as batch:
            for key in keys[at : at + _BATCH]:
                batch.delete(key)
    db.compact()
    db.settle()
