"""What there is of a log: its range and its segments."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import wal
from lsm.errors import LogCorrupt
from lsm.filenames import segment_name
from lsm.fs_types import Cause
from lsm.log.offsets import earliest, latest, log_id_of
from lsm.log.place import read_header

if TYPE_CHECKING:
    from lsm.fs_types import ReadFile
    from lsm.log.source import LogSource
    from lsm.version import SegmentMeta

_FIRST_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSegment:
    """One segment of the log; what is not known before it is finished is None.

    `first_time` is of its first change, `last_time` is when it was finished.
    """

    number: int
    first_seq: int
    last_seq: int | None
    size_bytes: int
    first_time: datetime | None
    last_time: datetime | None
    is_closed: bool
    is_flushed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInfo:
    """A log at one moment.  It holds every change from `earliest` to `latest`."""

    id: str
    store_id: str
    epoch: int
    earliest: int
    latest: int
    segments: tuple[LogSegment, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size_bytes for segment in self.segments)


def log_info(source: LogSource) -> LogInfo:
    """Look at a log."""
    last = latest(source)
    version = source.version
    return LogInfo(
        id=log_id_of(version),
        store_id=version.store_id.hex(),
        epoch=version.epoch,
        earliest=earliest(version),
        latest=last,
        segments=tuple(_segment(source, meta) for meta in version.segments),
    )


def _segment(source: LogSource, meta: SegmentMeta) -> LogSegment:
    size_bytes, first_time = meta.size_bytes or 0, None
    if not meta.tables:
        name = segment_name(meta.number)
        try:
            file = source.fs.open(name, Cause.LOG)
        except FileNotFoundError:
            pass  # trimmed since the version was read, or missing: reading it will tell
        else:
            with closing(file), suppress(LogCorrupt):  # as above
                header = read_header(file, meta, source.version.store_id, f"{source.fs.name}/{name}")
                first_time = first_time_us(file, header)
                if meta.size_bytes is None:
                    # The file is longer: space is reserved ahead of the records.
                    size_bytes = min(file.size, max(source.shown(meta).position, wal.SEGMENT_HEADER_BYTES))
    return LogSegment(
        number=meta.number,
        first_seq=meta.first_seq,
        last_seq=meta.last_seq,
        size_bytes=size_bytes,
        first_time=as_datetime(first_time),
        last_time=as_datetime(meta.last_time_us),
        is_closed=meta.last_seq is not None,
        is_flushed=meta.last_seq is not None and meta.last_seq <= source.version.flushed_seq,
    )


def first_time_us(file: ReadFile, header: wal.SegmentHeader) -> int | None:
    """Return when the first record of a segment was committed, None if it has none yet."""
    wanted_bytes = _FIRST_BYTES
    while True:
        data = file.read_upto(wal.SEGMENT_HEADER_BYTES, wanted_bytes)
        record = wal.decode_record(data, 0, seed=header.seed)
        if record is not None:
            return record.time_us if record.mark == wal.DATA else None
        if len(data) < wanted_bytes or not any(data):
            return None  # not whole, or not there
        wanted_bytes *= 8


def as_datetime(time_us: int | None) -> datetime | None:
    """Return a time of the log as a moment."""
    return None if time_us is None else datetime.fromtimestamp(time_us / 1e6, UTC)
