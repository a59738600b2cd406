"""Records that another store has committed, made ready for the log of this one: same numbers, same times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import wal
from lsm.errors import CorruptionError, FollowerError
from lsm.log_columns import read_writes
from lsm.payload import KEY_BYTES_MAX, VALUE_BYTES_MAX, Value, Writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsm.version import Version


class ShippedRecord(NamedTuple):
    """One record of a log on its way to another: one atomic batch."""

    first_seq: int
    entries: int
    time_us: int
    payload: bytes

    @property
    def last_seq(self) -> int:
        """The sequence number of its last entry."""
        return self.first_seq + self.entries - 1


@dataclass(frozen=True, slots=True)
class ShippedGroup:
    """Records as they will stand in a segment; nothing is written yet."""

    path: str
    data: bytes
    records: wal.Records

    def writes(self, version: Version) -> list[Writes]:
        """Return what the records write; CorruptionError if they are no batches of this store."""
        found = read_writes(self, version)
        # No value is larger than all of them together: most groups need no look at each (bench: log).
        may_be_large = len(self.data) > VALUE_BYTES_MAX
        for keys, values in found.values():
            is_large = may_be_large and max(map(_size, values)) > VALUE_BYTES_MAX
            if is_large or max(map(len, keys)) > KEY_BYTES_MAX:
                raise CorruptionError(self.path, "a shipped record has a key or a value beyond all limits")
        return [Writes(keyspace, keys, values) for keyspace, (keys, values) in found.items()]

    def append_to(self, segment: wal.SegmentWriter) -> None:
        """Write the records to the segment that they were made for, with one write."""
        start = segment.file.size
        segment.append(self.data)
        records = self.records
        for position, seq, time_us in zip(
            records.positions.tolist(), records.first_seqs.tolist(), records.times.tolist(), strict=True
        ):
            segment.sample_record(seq, time_us, start + position)
        last = records[-1]
        segment.next_seq = last.first_seq + last.entries


def _size(value: Value) -> int:
    return len(value) if isinstance(value, bytes) else 0


def group_for(segment: wal.SegmentWriter, records: Sequence[ShippedRecord], path: str) -> ShippedGroup:
    """Return records in the form that a segment takes next; FollowerError if they do not go on there."""
    expected, position = segment.next_seq, 0
    parts: list[bytes] = []
    positions: list[int] = []
    for first_seq, count, time_us, payload in records:
        if first_seq != expected or count < 1:
            raise FollowerError(f"{path} stands at {expected - 1}, but the next record is of {first_seq}")
        record = wal.encode_record(
            payload,
            seed=segment.seed,
            first_seq=first_seq,
            count=count,
            time_us=time_us,
            synced_upto=segment.synced_upto,
        )
        parts.append(record)
        positions.append(position)
        expected += count
        position += len(record)
    data = b"".join(parts)
    return ShippedGroup(path, data, wal.Records(data, positions, position))
