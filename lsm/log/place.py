"""Finding a sequence number or a time in a segment through its sparse index, without reading the segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import wal
from lsm.errors import LogCorrupt, UnsupportedFormat, typed_errors

if TYPE_CHECKING:
    from lsm.fs_types import ReadFile
    from lsm.log.source import LogSource
    from lsm.version import SegmentMeta


_READ_BYTES = 256 * 1024


class Place(NamedTuple):
    """Where a record begins: its first sequence number and its byte in the segment."""

    seq: int
    position: int


def read_header(file: ReadFile, meta: SegmentMeta, store_id: bytes, path: str) -> wal.SegmentHeader:
    """Return the header of a segment, checked against what the manifest says of it."""
    try:
        with typed_errors(path, "reading the log"):
            header = wal.decode_header(file.read_upto(0, wal.SEGMENT_HEADER_BYTES))
    except wal.SegmentUnsupported as error:
        raise UnsupportedFormat(f"{path}: {error}; upgrade this software") from error
    except wal.LogError as error:
        raise LogCorrupt(path, str(error), offset=0) from error
    if header is None:
        raise LogCorrupt(path, "segment has no header", offset=0)
    if (header.store_id, header.number, header.first_seq) != (store_id, meta.number, meta.first_seq):
        raise LogCorrupt(path, "segment belongs elsewhere", offset=0)
    return header


def locate_seq(
    file: ReadFile, header: wal.SegmentHeader, meta: SegmentMeta, seq: int, source: LogSource
) -> Place:
    """Return a place at or before the record that holds `seq`, not far from it where an index tells."""
    start = Place(header.first_seq, wal.SEGMENT_HEADER_BYTES)
    if seq <= header.first_seq:
        return start
    index = source.index(meta) if meta.last_seq is None else read_index(file, header)
    found = None if index is None else index.sample_of_seq(seq)
    near_end = source.sample(meta) if meta.last_seq is None else None
    if near_end is not None and (found or start)[0] <= near_end[0] <= seq:
        found = near_end
    return start if found is None else Place(*found)


def end_of_records(file: ReadFile, header: wal.SegmentHeader, start: Place) -> Place:
    """Return the place behind the last whole record that there is now, from a record on."""
    wanted_bytes = _READ_BYTES
    while True:
        data = file.read_upto(start.position, wanted_bytes)
        records, taken = wal.read_tail(data, header, start.seq)
        if taken:
            last = records[-1]
            start = Place(last.first_seq + last.entries, start.position + taken)
        elif len(data) < wanted_bytes or not data.strip(b"\0"):
            return start
        wanted_bytes = _READ_BYTES if taken else 2 * wanted_bytes  # one record larger than what was read


def locate_time(
    file: ReadFile, header: wal.SegmentHeader, meta: SegmentMeta, time_us: int, source: LogSource
) -> Place:
    """Return a place at or before the first record of that time or a later one."""
    index = source.index(meta) if meta.last_seq is None else read_index(file, header)
    found = None if index is None else index.sample_of_time(time_us)
    return Place(header.first_seq, wal.SEGMENT_HEADER_BYTES) if found is None else Place(*found)


def read_index(file: ReadFile, header: wal.SegmentHeader) -> wal.SparseIndex | None:
    """Return the sparse index of a finished segment; None if there is none that holds: it is derived data."""
    size = file.refresh_size()
    if size < wal.SEGMENT_HEADER_BYTES + wal.TRAILER_BYTES:
        return None
    position = wal.decode_trailer(file.read_upto(size - wal.TRAILER_BYTES, wal.TRAILER_BYTES), header.seed)
    if position is None or not wal.SEGMENT_HEADER_BYTES <= position < size:
        return None
    marker = file.read_upto(position, size - position)
    record = wal.decode_record(marker, 0, seed=header.seed)
    if record is None or record.mark != wal.CLOSE:
        return None
    return wal.decode_index(marker[record.payload_start : record.end])
