"""A block in memory: entries by position, by key, and as columns."""

import operator
from bisect import bisect_left
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sstable.arrays import BoolArray, IndexArray, U8Array, U64Array
from sstable.block_header import MIXED, BlockHeader
from sstable.columns import Columns
from sstable.kind import DELETED, MAX_SEQ, Deleted, Kind
from sstable.source import Data
from sstable.string_column import StringColumn

Values: TypeAlias = list[bytes | Deleted]


class Block:
    """Entries of one block by key, newest first, read in place from `data`.

    `decode_block` makes blocks and has checked that all columns lie inside `data`.
    """

    __slots__ = (
        "_data",
        "_kind",
        "_seq_width",
        "_seqs_at",
        "count",
        "distinct_keys",
        "key_column",
        "kinds_at",
        "max_seq",
        "min_seq",
        "value_column",
    )

    def __init__(
        self,
        data: Data,
        header: BlockHeader,
        column_starts: tuple[int, ...],
        *,
        distinct_keys: int,
        seq_base: int,
    ) -> None:
        key_offsets_at, keys_at, self._seqs_at, self.kinds_at, value_offsets_at, values_at, _ = column_starts
        self._data = data
        self._kind = header.kind
        self._seq_width = header.seq_width
        self.count = header.entries
        self.distinct_keys = distinct_keys
        self.min_seq = header.seq_min + seq_base
        self.max_seq = self.min_seq + header.seq_span
        self.key_column = StringColumn(
            data,
            self.count,
            width=header.key_width,
            offsets_at=key_offsets_at,
            start=keys_at,
            size=header.key_bytes,
        )
        self.value_column = StringColumn(
            data,
            self.count,
            width=header.value_width,
            offsets_at=value_offsets_at,
            start=values_at,
            size=header.value_bytes,
        )

    def __len__(self) -> int:
        return self.count

    @property
    def first_key(self) -> bytes:
        """Smallest key."""
        return self.key_column[0]

    @property
    def last_key(self) -> bytes:
        """Largest key."""
        return self.key_column[self.count - 1]

    @property
    def sole_kind(self) -> int | None:
        """The kind of all entries, or None if kinds differ."""
        return None if self._kind == MIXED else self._kind

    @property
    def tombstones(self) -> int:
        """Number of entries of kind DELETE."""
        if self._kind != MIXED:
            return self.count if self._kind == Kind.DELETE else 0
        return int(np.count_nonzero(self.kinds() == Kind.DELETE))

    def key(self, position: int) -> bytes:
        """Key of one entry."""
        return self.key_column[position]

    def value(self, position: int) -> bytes:
        """Value of one entry; b"" if it is a tombstone."""
        return self.value_column[position]

    def seq(self, position: int) -> int:
        """Sequence number of one entry."""
        width = self._seq_width
        start = self._seqs_at + position * width
        return self.min_seq + int.from_bytes(self._data[start : start + width], "little")

    def kind(self, position: int) -> int:
        """Kind of one entry."""
        kind = self._kind
        return kind if kind != MIXED else self._data[self.kinds_at + position]

    def keys(self) -> list[bytes]:
        """Keys of all entries; a key stands once for each of its versions."""
        return self.key_column.to_list(0, self.count)

    def values(self) -> list[bytes]:
        """Values of all entries."""
        return self.value_column.to_list(0, self.count)

    def seq_distances(self) -> "npt.NDArray[np.unsignedinteger] | None":
        """How far above `min_seq` each sequence number is, as stored; None if all are the same."""
        width = self._seq_width
        return np.frombuffer(self._data, f"<u{width}", self.count, self._seqs_at) if width else None

    def seqs(self) -> U64Array:
        """Sequence numbers of all entries."""
        distances = self.seq_distances()
        if distances is None:
            return np.full(self.count, self.min_seq, np.uint64)
        return distances.astype(np.uint64) + np.uint64(self.min_seq)

    def kinds(self) -> U8Array:
        """Kinds of all entries."""
        kind = self._kind
        if kind != MIXED:
            return np.full(self.count, kind, np.uint8)
        return np.frombuffer(self._data, np.uint8, self.count, self.kinds_at)

    def columns(self) -> Columns:
        """All entries; keys and values are not copied, and have the offsets Arrow asks for."""
        return Columns(
            self.key_column.offsets(),
            self.key_column.content(),
            self.seqs(),
            self.kinds(),
            self.value_column.offsets(),
            self.value_column.content(),
        )

    def lower_bound(self, key: bytes) -> int:
        """Position of the first entry whose key is not below `key`."""
        return bisect_left(range(self.count), key, key=self.key_column.__getitem__)

    def find(self, position: int, key: bytes, seq_max: int) -> int | None:
        """Newest visible entry of `key`, whose newest entry would be at `position`."""
        if not 0 <= position < self.count or self.key_column[position] != key:
            return None
        if self.max_seq <= seq_max or self.seq(position) <= seq_max:
            return position
        # Seqs fall within a key: the first entry from here on that is old enough
        # either is the one or belongs to a later key.
        old_enough = np.flatnonzero(self.seqs()[position:] <= np.uint64(seq_max))
        if not len(old_enough):
            return None
        position += int(old_enough[0])
        return position if self.key_column[position] == key else None

    def get(self, position: int, key: bytes, seq_max: int) -> bytes | Deleted | None:
        """Newest visible value of `key`, whose newest entry would be at `position`."""
        found = self.find(position, key, seq_max)
        if found is None:
            return None
        return DELETED if self.kind(found) == Kind.DELETE else self.value_column[found]

    def visible(
        self, seq_max: int = MAX_SEQ, start: int = 0, stop: int | None = None
    ) -> tuple[list[bytes], Values]:
        """Keys and values of the newest visible entry of each key, DELETED for tombstones.

        `start` and `stop` are positions that do not cut the versions of a key apart.
        """
        stop = self.count if stop is None else stop
        keys = self.key_column.to_list(start, stop)
        values: Values = list(self.value_column.to_list(start, stop))
        if self._kind != Kind.PUT:
            for position in np.flatnonzero(self.kinds()[start:stop] == Kind.DELETE).tolist():
                values[position] = DELETED
        if self.distinct_keys == self.count and self.max_seq <= seq_max:
            return keys, values
        chosen = self._newest_visible(keys, self.seqs()[start:stop] <= np.uint64(seq_max)).tolist()
        return [keys[position] for position in chosen], [values[position] for position in chosen]

    def _newest_visible(self, keys: list[bytes], is_visible: BoolArray) -> IndexArray:
        """Of each of `keys`, the position of the first entry that is visible."""
        positions = np.flatnonzero(is_visible)
        if self.distinct_keys == self.count or not len(positions):
            return positions
        changes = np.fromiter(map(operator.ne, keys, keys[1:]), np.int64, len(keys) - 1)
        nth_key = np.concatenate([[0], np.cumsum(changes)])[positions]
        is_first: BoolArray = np.concatenate([[True], nth_key[1:] != nth_key[:-1]])
        return positions[is_first]
