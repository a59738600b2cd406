"""Opening a log for writing: the end of its newest segment, and a fresh file that goes on from there.

Nothing old is appended to.  The unfinished newest segment is copied up to where it is whole, made durable,
and put in its own place: after a failed sync the system may show bytes that the disk does not hold.
"""

import secrets
from itertools import pairwise

import numpy as np

from wal.directory import LOCK, Directory
from wal.errors import LogError
from wal.header import SEGMENT_HEADER_BYTES, SegmentHeader
from wal.index import SAMPLE_EVERY_BYTES
from wal.log_segment import (
    TEMPORARY,
    LogSegment,
    create_segment,
    first_offsets,
    naming,
    open_segment,
    put_in_place,
)
from wal.log_view import refuse_loss
from wal.publication import Publication
from wal.reader import Ending, Records, SegmentEnd, read_records
from wal.writer import SegmentWriter

CONTINUED_BYTES_MAX = 1024 * 1024
"""A finished segment up to this size is continued, so that many short lives do not leave many small files."""


def new_header(log_id: bytes, first: int, time_us: int) -> SegmentHeader:
    """Return the header of a segment of this log: its number is its first offset."""
    return SegmentHeader(store_id=log_id, number=first, first_seq=first, epoch=1, time_us=time_us)


def recover(directory: Directory, told: Publication | None, now_us: int) -> tuple[SegmentWriter, int]:
    """Return the segment to append to, and the time of the last entry.  The caller has the lock.

    `told` is what the last writer said of the log.
    """
    for name in directory.names():
        if name.endswith(TEMPORARY) and name.removesuffix(TEMPORARY).endswith(".wal"):
            directory.remove(name)  # of a segment that never got its name
    firsts = first_offsets(directory)
    if not firsts:
        return _create(directory, told, now_us), now_us
    segment = open_segment(directory, firsts[-1])
    data = segment.read_all()
    with naming(directory, segment.first):
        records, end = read_records(data, segment.header)
    if told is not None and told.log_id == segment.header.store_id:
        refuse_loss(segment, end.position, end.next_seq - 1, told.durable)
    last_us = max([segment.header.time_us, *records.times[-1:].tolist()])
    if end.ending is Ending.CLOSED and end.position > CONTINUED_BYTES_MAX:
        header = new_header(segment.header.store_id, end.next_seq, last_us)
        return create_segment(directory, header), last_us
    return _continue(segment, data, records, end), last_us


def _create(directory: Directory, told: Publication | None, now_us: int) -> SegmentWriter:
    foreign = [name for name in directory.names() if name != LOCK]
    if foreign:
        raise LogError(f"{directory.path} holds other files (such as {foreign[0]!r:.50}), no log")
    if told is not None and told.durable:
        raise LogError(f"{directory.path}: all segments of a log with {told.durable} entries are gone")
    return create_segment(directory, new_header(secrets.token_bytes(16), 1, now_us))


def _continue(segment: LogSegment, data: bytes, records: Records, end: SegmentEnd) -> SegmentWriter:
    """Write the whole records of a segment anew, as they are, and put the copy in its place."""
    directory = segment.directory
    file = directory.create(segment.name + TEMPORARY)
    try:
        writer = SegmentWriter(file, segment.header)
        # A piece begins where the sparse index has a sample.
        edges = np.arange(SEGMENT_HEADER_BYTES, end.position, SAMPLE_EVERY_BYTES)
        begins = np.unique(np.append(records.positions.searchsorted(edges), len(records)))
        for begin, following in pairwise(begins.tolist()):
            first, last = records[begin], records[following - 1]
            writer.sample(first.time_us)
            writer.append(data[first.position : last.end])
            writer.next_seq = last.first_seq + last.entries
        writer.sync()
        put_in_place(directory, segment.first)
    except BaseException:
        file.close()
        raise
    return writer
