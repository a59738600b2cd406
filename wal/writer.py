"""Appending to one segment: records, syncs, the close marker.  See FORMAT.md."""

import struct
from collections.abc import Callable
from typing import Protocol
from zlib import crc32

from wal.header import SEGMENT_HEADER_BYTES, SegmentHeader
from wal.index import IndexBuilder, SparseIndex
from wal.record import CLOSE, encode

# On disk: changing a line below needs a new format version.
_TRAILER_POSITION = struct.Struct("<Q")
_TRAILER_END = struct.Struct("<II")
TRAILER_MAGIC = 0x454E444C
TRAILER_BYTES = _TRAILER_POSITION.size + _TRAILER_END.size
SEGMENT_BYTES_MAX = 2**32 - 1


class AppendFile(Protocol):
    """All that a segment asks of a file."""

    size: int

    def append(self, data: bytes, /) -> None:
        """Write all of `data` at the end, or raise."""

    def sync(self) -> None:
        """Make everything appended so far durable, or raise."""

    def close(self) -> None:
        """Give the file back."""


class SegmentWriter:
    """Owns the file of the segment that is being written.

    Callers serialise `append` and `close`; `sync` may run beside an append of another thread.  A caller for
    whom every call counts may encode a record by itself, append it to `file`, raise `next_seq`, and call
    `sample` once the file has passed `sample_at`.
    """

    __slots__ = (
        "_index",
        "closed_us",
        "file",
        "header",
        "next_seq",
        "on_synced",
        "sample_at",
        "seed",
        "synced_upto",
    )

    def __init__(self, file: AppendFile, header: SegmentHeader) -> None:
        """Write the header and make it durable."""
        assert file.size == 0
        self.file = file
        self.header = header
        self.seed = header.seed
        self.next_seq = header.first_seq
        self._index = IndexBuilder()
        self.sample_at = 0
        self.closed_us: int | None = None
        self.on_synced: Callable[[SegmentWriter], None] | None = None
        """Called after every sync, with what is durable by then."""
        file.append(header.encode())
        file.sync()
        self.synced_upto = SEGMENT_HEADER_BYTES

    def encode(self, payload: bytes, count: int, time_us: int, *, ahead_bytes: int = 0) -> bytes:
        """Return the bytes of the next record and take its sequence numbers.

        `ahead_bytes` is how much was encoded but not yet appended: a group is one append.
        """
        position = self.file.size + ahead_bytes
        first_seq = self.next_seq
        if position >= self.sample_at:
            self._sample(first_seq, time_us, position)
        self.next_seq = first_seq + count
        return encode(
            payload,
            seed=self.seed,
            first_seq=first_seq,
            count=count,
            time_us=time_us,
            synced_upto=self.synced_upto,
        )

    def append_record(self, payload: bytes, count: int, time_us: int) -> int:
        """Write one record, return its first sequence number."""
        first_seq = self.next_seq
        self.append(self.encode(payload, count, time_us))
        return first_seq

    def sample(self, time_us: int) -> None:
        """Let the sparse index know where the next record begins, if a sample is due."""
        if self.file.size >= self.sample_at:
            self._sample(self.next_seq, time_us, self.file.size)

    def sample_record(self, first_seq: int, time_us: int, position: int) -> None:
        """Let the sparse index know of a record that was encoded elsewhere, if a sample is due."""
        if position >= self.sample_at:
            self._sample(first_seq, time_us, position)

    @property
    def durable_sample(self) -> tuple[int, int] | None:
        """A sequence number near the durable end, and the position its record begins at, if known."""
        last = self._index.last
        return last if last is not None and last[1] <= self.synced_upto else None

    def index(self) -> SparseIndex:
        """Return the sparse index of what was appended so far; any thread may ask."""
        return self._index.finish()

    def _sample(self, seq: int, time_us: int, position: int) -> None:
        self._index.sample(seq, time_us, position)
        self.sample_at = self._index.next_position

    def append(self, data: bytes) -> None:
        """Write encoded records with one write."""
        self.file.append(data)

    def sync(self) -> None:
        """Make everything appended before the call durable."""
        size = self.file.size
        self.file.sync()
        self.synced_upto = max(self.synced_upto, size)
        if self.on_synced is not None:
            self.on_synced(self)

    def close(self, time_us: int) -> None:
        """Finish the segment: all data durable, then the marker durable, then no more of this file."""
        # The marker must not outlive records before it: it says that nothing is missing.
        if self.synced_upto < self.file.size:
            self.sync()
        position = self.file.size
        marker = encode(
            self._index.finish().encode(),
            seed=self.seed,
            first_seq=self.next_seq,
            count=0,
            time_us=time_us,
            synced_upto=self.synced_upto,
            mark=CLOSE,
        )
        self.file.append(marker + _trailer(position, self.seed))
        self.sync()
        self.file.close()
        self.closed_us = max(time_us, self._index.latest_us)


def _trailer(position: int, seed: int) -> bytes:
    where = _TRAILER_POSITION.pack(position)
    return where + _TRAILER_END.pack(crc32(where, seed), TRAILER_MAGIC)


def decode_trailer(tail: bytes, seed: int) -> int | None:
    """Return the close marker's position from the last bytes of a segment, or None without a trailer."""
    if len(tail) < TRAILER_BYTES:
        return None
    where = tail[-TRAILER_BYTES : -_TRAILER_END.size]
    crc, magic = _TRAILER_END.unpack(tail[-_TRAILER_END.size :])
    if magic != TRAILER_MAGIC or crc32(where, seed) != crc:
        return None
    (position,) = _TRAILER_POSITION.unpack(where)
    return int(position)
