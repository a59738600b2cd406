"""Segments in memory: a file that only grows, and a small language for what is written to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import wal

STORE_ID = bytes(range(16))
TIME_US = 1_700_000_000_000_000


@dataclass
class MemoryFile:
    """An append-only file that remembers up to where it was synced."""

    data: bytearray = field(default_factory=bytearray)
    synced_bytes: int = 0
    syncs: int = 0
    appends: int = 0
    is_closed: bool = False

    @property
    def size(self) -> int:
        return len(self.data)

    def append(self, data: bytes, /) -> None:
        assert not self.is_closed
        self.data += data
        self.appends += 1

    def sync(self) -> None:
        assert not self.is_closed
        self.synced_bytes = len(self.data)
        self.syncs += 1

    def close(self) -> None:
        self.is_closed = True


def header(first_seq: int = 1, number: int = 7) -> wal.SegmentHeader:
    return wal.SegmentHeader(
        store_id=STORE_ID, number=number, first_seq=first_seq, epoch=1, time_us=TIME_US
    )


def write_group(segment: wal.SegmentWriter, payloads: Sequence[bytes]) -> None:
    """Append several records of one entry each with one write, as a group commit does."""
    data = b""
    for payload in payloads:
        data += segment.encode(payload, 1, TIME_US, ahead_bytes=len(data))
    segment.append(data)


def written(
    groups: Iterable[Sequence[bytes]], *, synced: bool = True, closed: bool = False, first_seq: int = 1
) -> MemoryFile:
    """Return a file with one record for every payload, group by group, each group synced or none."""
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header(first_seq))
    for group in groups:
        write_group(segment, group)
        if synced:
            segment.sync()
    if closed:
        segment.close(TIME_US)
    return file


def payloads(data: bytes, first_seq: int = 1) -> tuple[list[bytes], wal.SegmentEnd]:
    """Read a segment; return its payloads and how it ends."""
    records, end = wal.read_records(data, header(first_seq))
    return [bytes(data[record.payload_start : record.end]) for record in records], end
