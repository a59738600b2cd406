"""Log segments as files of a store: making, reading and copying them."""

from collections.abc import Iterator
from dataclasses import dataclass

import wal
from lsm.clock import Clock
from lsm.errors import LogCorrupt, UnsupportedFormat
from lsm.filenames import segment_name
from lsm.fs_types import Cause, FileSystem
from lsm.payload import Writes, decode
from lsm.version import SegmentMeta, Version

RESERVE_BYTES = 4 * 1024 * 1024
_ADVICE = "restore the store from a checkpoint"


def create_segment(
    fs: FileSystem, clock: Clock, version: Version, number: int, first_seq: int
) -> wal.SegmentWriter:
    """Make a new segment, durable by name; the manifest has yet to hear of it."""
    header = wal.SegmentHeader(
        store_id=version.store_id,
        number=number,
        first_seq=first_seq,
        epoch=version.epoch_of(first_seq),
        time_us=clock.now_us(),
    )
    file = fs.create(segment_name(number), Cause.LOG, reserve_bytes=RESERVE_BYTES)
    try:
        segment = wal.SegmentWriter(file, header)
        fs.sync_dir(Cause.LOG)
    except BaseException:
        file.close()
        raise
    return segment


def closed_segment(segment: wal.SegmentWriter) -> SegmentMeta:
    """Return what the manifest keeps of a finished segment."""
    return SegmentMeta(
        number=segment.header.number,
        first_seq=segment.header.first_seq,
        last_seq=segment.next_seq - 1,
        size_bytes=segment.file.size,
        last_time_us=segment.closed_us,
    )


@dataclass(frozen=True, slots=True)
class SegmentContents:
    """A segment in memory."""

    path: str
    header: wal.SegmentHeader
    data: bytes
    records: wal.Records
    end: wal.SegmentEnd

    def payload(self, record: wal.Record) -> memoryview:
        """Return the payload of one of the records."""
        return memoryview(self.data)[record.payload_start : record.end]

    def writes(self, record: wal.Record) -> Iterator[Writes]:
        """Yield the writes of one of the records."""
        return decode(self.payload(record), record.entries, path=self.path, offset=record.position)


def read_segment(
    fs: FileSystem, version: Version, meta: SegmentMeta, *, durably: bool = False
) -> SegmentContents:
    """Read a segment whole and check it against what the manifest says of it.

    `durably` syncs the file first, so that everything returned would survive a crash.
    """
    path = f"{fs.name}/{segment_name(meta.number)}"
    data = _read(fs, meta, path, durably=durably)
    try:
        header = wal.decode_header(data)
        if header is None:
            raise wal.SegmentDamaged("segment has no header", offset=0)
        if (header.store_id, header.number) != (
            version.store_id,
            meta.number,
        ) or header.first_seq != meta.first_seq:
            raise wal.SegmentDamaged("segment belongs elsewhere", offset=0)
        records, end = wal.read_records(data, header)
        _check_end(meta, end)
    except wal.SegmentDamaged as error:
        advice = f"the last good write before it is {error.last_good_seq}; {_ADVICE}"
        corrupt = LogCorrupt(path, error.what, offset=error.offset, advice=advice)
        corrupt.last_good_seq = error.last_good_seq
        raise corrupt from error
    except wal.SegmentUnsupported as error:
        raise UnsupportedFormat(f"{path}: {error}; upgrade this software") from error
    return SegmentContents(path, header, data, records, end)


def _read(fs: FileSystem, meta: SegmentMeta, path: str, *, durably: bool) -> bytes:
    try:
        file = fs.open(segment_name(meta.number), Cause.LOG)
    except FileNotFoundError as error:
        raise LogCorrupt(path, "log segment is missing", advice=_ADVICE) from error
    try:
        size = file.refresh_size()
        data = file.read_upto(0, size)
        if durably:
            file.sync()
        return data
    finally:
        file.close()


def _check_end(meta: SegmentMeta, end: wal.SegmentEnd) -> None:
    """Refuse a finished segment that is not whole: a torn tail is legal in the newest one only."""
    if meta.last_seq is None:
        return
    if end.ending is not wal.Ending.CLOSED or end.next_seq != meta.last_seq + 1:
        raise wal.SegmentDamaged(
            f"finished segment ends at {end.next_seq - 1} where {meta.last_seq} was due",
            offset=end.position,
            last_good_seq=end.next_seq - 1,
        )


def copy_records(source: SegmentContents, target: wal.SegmentWriter, *, last_seq: int | None = None) -> None:
    """Append the source's records, up to `last_seq` if given, to a new segment, durably."""
    for record in source.records:
        if last_seq is not None and record.first_seq + record.entries - 1 > last_seq:
            break
        target.append_record(bytes(source.payload(record)), record.entries, record.time_us)
    target.sync()
