"""Entries of a log, and how one record carries several.  See FORMAT.md."""

import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from wal.errors import PayloadTooLarge, SegmentDamaged
from wal.reader import Records
from wal.record import PAYLOAD_BYTES_MAX, Record

_LENGTH_BYTES = 4


class Entry(NamedTuple):
    """One payload, its offset, and when it was appended, in microseconds since 1970."""

    offset: int
    time_us: int
    payload: bytes


def encode_entries(payloads: Sequence[bytes]) -> bytes:
    """Return the payload of the record that carries these entries: one as it is, several behind lengths."""
    lengths = b"" if len(payloads) == 1 else struct.pack(f"<{len(payloads)}I", *map(len, payloads))
    size = len(lengths) + sum(map(len, payloads))
    if size > PAYLOAD_BYTES_MAX:
        raise PayloadTooLarge(f"{size} bytes in one append; at most {PAYLOAD_BYTES_MAX} fit")
    return b"".join((lengths, *payloads))


def decode_entries(data: bytes, records: Records, *, base: int = 0) -> list[Entry]:
    """Return the entries of records that were read from `data`, which begins at byte `base` of a segment."""
    if (records.counts == 1).all():
        # Most records carry one entry: no line of Python is run for each (bench: log).
        slices = map(slice, records.payload_starts.tolist(), records.ends.tolist())
        columns = records.first_seqs.tolist(), records.times.tolist(), map(data.__getitem__, slices)
        return list(map(Entry._make, zip(*columns, strict=True)))
    return [entry for record in records for entry in _entries_of(data, record, base)]


def _entries_of(data: bytes, record: Record, base: int) -> Iterator[Entry]:
    start, count = record.payload_start, record.entries
    if count == 1:
        yield Entry(record.first_seq, record.time_us, data[start : record.end])
        return
    lengths_end = start + count * _LENGTH_BYTES
    lengths = struct.unpack_from(f"<{count}I", data, start) if lengths_end <= record.end else ()
    if not lengths or lengths_end + sum(lengths) != record.end:
        raise SegmentDamaged(
            "record of several entries does not add up",
            offset=base + record.position,
            last_good_seq=record.first_seq - 1,
        )
    for number, (begin, end) in enumerate(pairwise(accumulate(lengths, initial=lengths_end))):
        yield Entry(record.first_seq + number, record.time_us, data[begin:end])
