"""How many bytes of keys and values users have written, at no cost to a single put.

A put of one key has a fixed overhead in the log, so what puts wrote follows from the log's size; only
batches are counted one by one.
"""

import wal
from lsm.payload import HEAD, MIXED, ONE

_PUT_OVERHEAD_BYTES = wal.HEADER_BYTES + ONE.size


class UserBytes:
    """Counts user bytes over the segments of one opening."""

    def __init__(self, segment: wal.SegmentWriter) -> None:
        self._counted = 0  # without the puts into the segment that is being written
        self._batch_entries = 0
        self._batch_log_bytes = 0
        self._start(segment)

    def batch(self, payload: bytes, count: int) -> None:
        """Count one batch that is in the log."""
        form_bytes = 5 * count if payload[0] & 15 == MIXED else 0
        self._counted += len(payload) - HEAD.size - 8 * count - form_bytes
        self._batch_entries += count
        self._batch_log_bytes += len(payload) + wal.HEADER_BYTES

    def rotated(self, old: wal.SegmentWriter, old_bytes: int, new: wal.SegmentWriter) -> None:
        """Count what the old segment took before it was closed, and go on with the new one."""
        self._counted += self._puts_of(old, old_bytes)
        self._batch_entries = self._batch_log_bytes = 0
        self._start(new)

    def total(self, segment: wal.SegmentWriter) -> int:
        """Return the bytes so far."""
        return self._counted + self._puts_of(segment, segment.file.size)

    def _start(self, segment: wal.SegmentWriter) -> None:
        self._first_seq = segment.next_seq
        self._first_size = segment.file.size

    def _puts_of(self, segment: wal.SegmentWriter, size: int) -> int:
        puts = segment.next_seq - self._first_seq - self._batch_entries
        return size - self._first_size - self._batch_log_bytes - puts * _PUT_OVERHEAD_BYTES
