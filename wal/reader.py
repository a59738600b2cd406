"""Reading a segment: whole records, and how the segment ends.  See FORMAT.md."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wal.checksums import run_is_whole
from wal.errors import SegmentDamaged
from wal.header import SEGMENT_HEADER_BYTES, SegmentHeader
from wal.record import CLOSE, CRC, CRC_BYTES, DATA, HEADER_BYTES, PAYLOAD_BYTES_MAX, Record, decode

_MARK_POSITION = 8  # of the mark's bytes inside a record
_MARK_TAIL = CRC.pack(DATA)[:3]  # what data and close marks share
_LATER = struct.Struct("<4xI4xQ8xI4x")  # of a record's header: length, first_seq, synced_upto
_CHECKS_A_BYTE = 4
"""How often bytes behind a torn tail may be checksummed before that is taken for an attack: damage."""
_CHECKED = struct.Struct("<IIIQ12xI")  # of a record's header: crc, length, mark, first_seq, count
_HEADERS = np.dtype(
    {
        "names": ["crc", "length", "mark", "first_seq", "count"],
        "formats": ["<u4", "<u4", "<u4", "<u8", "<u4"],
        "offsets": [0, 4, 8, 12, 32],
    }
)
_RUN_RECORDS_MIN = 128
"""Fewer records of one length than this are better walked one by one: numpy takes long to begin."""
_RUN_RECORDS_MAX = 16 * 1024
_TOGETHER_MIN = 1024
"""From so many records on their checksums are taken together."""
_WALK_RECORDS_MIN, _WALK_RECORDS_MAX = 64, 4096
"""How far is walked before another look for a run: twice as far each time that there was none."""


class Ending(Enum):
    """How the records of a segment end."""

    CLOSED = "closed"  # in a close marker: nothing can be missing
    OPEN = "open"  # in zeros or at the end of the file: it was being written
    TORN = "torn"  # in bytes of a write that was never acknowledged as durable


@dataclass(frozen=True, slots=True)
class SegmentEnd:
    """Where the records of a segment end, and how."""

    ending: Ending
    position: int
    next_seq: int


class Records:
    """The whole records of a segment: one after the other, or field by field as columns."""

    def __init__(self, segment: bytes, positions: list[int] | npt.NDArray[np.int64], end: int) -> None:
        self._segment = segment
        self.positions: npt.NDArray[np.int64] = np.array(positions, np.int64)
        self.ends: npt.NDArray[np.int64] = np.append(self.positions[1:], end)[: len(positions)]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.positions)

    def __getitem__(self, number: int) -> Record:
        """Return one of them."""
        return Record.at(self._segment, int(self.positions[number]), int(self.ends[number]))

    def __iter__(self) -> Iterator[Record]:
        """Yield them in order."""
        for position, end in zip(self.positions.tolist(), self.ends.tolist(), strict=True):
            yield Record.at(self._segment, position, end)

    def first(self, count: int) -> "Records":
        """Return the first `count` of them, which are not all."""
        return Records(self._segment, self.positions[:count].tolist(), int(self.positions[count]))

    @property
    def payload_starts(self) -> npt.NDArray[np.int64]:
        """Where the payloads begin in the segment."""
        return self.positions + HEADER_BYTES

    @cached_property
    def first_seqs(self) -> npt.NDArray[np.int64]:
        """First sequence numbers."""
        return self._field("<i8", 12)

    @cached_property
    def times(self) -> npt.NDArray[np.int64]:
        """Commit times, in microseconds since 1970."""
        return self._field("<i8", 20)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Numbers of entries."""
        return self._field("<u4", 32).astype(np.int64)

    def _field(self, dtype: str, offset: int) -> npt.NDArray[np.int64]:
        # A view of the segment with one item at every byte: gathers at any alignment.
        field = np.dtype(dtype)
        items = np.ndarray(
            (max(0, len(self._segment) - field.itemsize + 1),), field, self._segment, strides=(1,)
        )
        return items[self.positions + offset]


def read_records(
    segment: bytes, header: SegmentHeader, *, start: int = SEGMENT_HEADER_BYTES, first_seq: int | None = None
) -> tuple[Records, SegmentEnd]:
    """Return the whole data records from `start` on, and how the segment ends.

    Raises SegmentDamaged where bytes that were durable once are bad.  `start` is the position of a
    record, `first_seq` its sequence number; both are the segment's first by default.
    """
    expected = header.first_seq if first_seq is None else first_seq
    records, position, expected = _whole_records(segment, header.seed, start, expected)
    return records, _end_of(segment, position, expected, header.seed)


def read_tail(data: bytes, header: SegmentHeader, first_seq: int) -> tuple[Records, int]:
    """Return the whole records at the front of `data`, a piece of a segment, and how many bytes they take.

    For following a segment that is being written: what comes behind them is not judged.
    """
    records, position, _ = _whole_records(data, header.seed, 0, first_seq)
    return records, position


def _whole_records(segment: bytes, seed: int, position: int, expected: int) -> tuple[Records, int, int]:
    """Return the records from `position` on that are whole and due, their end, and what is due then.

    Every record of every recovery and flush passes here.  Single puts of one size, of which most logs are
    made, are a run: their headers are compared at once (bench: background).
    """
    found: list[npt.NDArray[np.int64]] = []
    walk_max = _WALK_RECORDS_MIN
    while True:
        run, due = _run(segment, seed, position, expected)
        walked, position, expected = _walk(segment, seed, run.stop, due, walk_max)
        found += [np.arange(run.start, run.stop, run.step), np.array(walked, np.int64)]
        if len(walked) < walk_max:
            return Records(segment, np.concatenate(found), position), position, expected
        is_run = len(run) >= _RUN_RECORDS_MIN
        walk_max = _WALK_RECORDS_MIN if is_run else min(2 * walk_max, _WALK_RECORDS_MAX)


def _walk(
    segment: bytes, seed: int, position: int, expected: int, records_max: int
) -> tuple[list[int], int, int]:
    """Find whole records one after the other; fewer than `records_max` only where there are no more."""
    size, last = len(segment), len(segment) - HEADER_BYTES
    positions: list[int] = []
    unpack, crc32, append = _CHECKED.unpack_from, zlib.crc32, positions.append  # no call but into C
    for _ in range(records_max):
        if position > last:
            break
        crc, length, mark, seq, count = unpack(segment, position)
        end = position + HEADER_BYTES + length
        if mark != DATA or seq != expected or length > PAYLOAD_BYTES_MAX or end > size:
            break
        if crc32(segment[position + CRC_BYTES : end], seed) != crc:
            break
        append(position)
        expected += count
        position = end
    return positions, position, expected


def _run(segment: bytes, seed: int, position: int, expected: int) -> tuple[range, int]:
    """Find many whole records that are as long as the first; return their positions and what is due then."""
    start, records = position, _RUN_RECORDS_MIN
    if len(segment) - position < records * HEADER_BYTES:
        return range(start, start), expected
    _, length, _, _, count = _CHECKED.unpack_from(segment, position)
    if length > PAYLOAD_BYTES_MAX:
        return range(start, start), expected
    stride = HEADER_BYTES + length
    crc_and_body = struct.Struct(f"<I{stride - CRC_BYTES}s")
    while position + records * stride <= len(segment):
        headers = np.ndarray((records,), _HEADERS, segment, position, (stride,))
        due = _count_due(headers, length, count, expected)
        piece = memoryview(segment)[position : position + due * stride]
        if due >= _TOGETHER_MIN and run_is_whole(piece, headers["crc"][:due], stride, seed):
            whole = due
        else:
            good = [zlib.crc32(body, seed) == crc for crc, body in crc_and_body.iter_unpack(piece)]
            whole = good.index(False) if False in good else due
        position += whole * stride
        expected += whole * count
        if whole < records:
            break
        records = min(64 * records, _RUN_RECORDS_MAX, max(1, (len(segment) - position) // stride))
    return range(start, position, stride), expected


def _count_due(headers: npt.NDArray[np.void], length: int, count: int, expected: int) -> int:
    """Count the headers, from the first on, that have this length and count and are due."""
    if expected + len(headers) * count >= 1 << 63:
        return 0  # more than any log ever holds, and than numpy can count
    is_due = (headers["length"] == length) & (headers["mark"] == DATA) & (headers["count"] == count)
    is_due &= headers["first_seq"] == np.arange(len(headers), dtype=np.uint64) * count + expected
    return len(headers) if is_due.all() else int(is_due.argmin())


def _end_of(segment: bytes, position: int, next_seq: int, seed: int) -> SegmentEnd:
    record = decode(segment, position, seed=seed)
    if record is not None:
        if record.mark == CLOSE and record.first_seq == next_seq:
            return SegmentEnd(Ending.CLOSED, position, next_seq)
        raise SegmentDamaged(
            f"record has sequence number {record.first_seq} where {next_seq} was due",
            offset=position,
            last_good_seq=next_seq - 1,
        )
    if not segment[position:].strip(b"\0"):
        return SegmentEnd(Ending.OPEN, position, next_seq)
    _refuse_damage(segment, position, next_seq, seed)
    return SegmentEnd(Ending.TORN, position, next_seq)


def _refuse_damage(segment: bytes, position: int, next_seq: int, seed: int) -> None:
    """Raise if a later record proves that the bytes at `position` had been durable."""
    damage = SegmentDamaged(
        "bytes that were durable do not match their checksum", offset=position, last_good_seq=next_seq - 1
    )
    budget = _CHECKS_A_BYTE * len(segment)
    found = segment.find(_MARK_TAIL, position + _MARK_POSITION)
    while found >= 0:
        start = found - _MARK_POSITION
        if start + HEADER_BYTES > len(segment):
            return
        length, first_seq, synced_upto = _LATER.unpack_from(segment, start)
        # A value may be made to look like records: claims are checked before checksums, which cost more.
        if first_seq >= next_seq and position < synced_upto <= start:
            budget -= length
            if budget < 0 or decode(segment, start, seed=seed) is not None:
                raise damage
        found = segment.find(_MARK_TAIL, found + 1)
