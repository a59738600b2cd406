"""What a table's filter, hash index and properties are made from; gathered while blocks go by."""

import numpy as np

from sstable.arrays import IndexArray, U32Array
from sstable.bloom import build_filter
from sstable.columns import Columns
from sstable.hash_index import SlotShape, build_hash_index
from sstable.hashing import key_hashes
from sstable.kind import MAX_SEQ, Kind
from sstable.properties import Properties


class Tally:
    """Counts of entries, hashes and places of keys.  The writer writes by it, `verify` compares with it."""

    def __init__(self) -> None:
        self.distinct_keys = 0
        self._entries = 0
        self._tombstones = 0
        self._key_bytes = 0
        self._value_bytes = 0
        self._min_seq = MAX_SEQ
        self._max_seq = 0
        self._smallest: bytes | None = None
        self._largest = b""
        self._blocks = 0
        self._longest_block = 0
        self._h1: list[U32Array] = []
        self._h2: list[U32Array] = []
        self._block_numbers: list[U32Array] = []
        self._positions: list[U32Array] = []

    def add(self, columns: Columns, keys: list[bytes], heads: IndexArray, cuts: list[int]) -> None:
        """Count the entries of whole blocks, which start at `cuts`, the last of which is the end.

        `heads` are the positions of the newest entry of each key.
        """
        self._entries += len(columns)
        self._tombstones += int(np.count_nonzero(columns.kinds == Kind.DELETE))
        self._key_bytes += columns.key_bytes
        self._value_bytes += columns.value_bytes
        self._min_seq = min(self._min_seq, int(columns.seqs.min()))
        self._max_seq = max(self._max_seq, int(columns.seqs.max()))
        self._smallest = keys[0] if self._smallest is None else self._smallest
        self._largest = keys[-1]
        self._add_keys(keys, heads, np.array(cuts))

    def _add_keys(self, keys: list[bytes], heads: IndexArray, cuts: IndexArray) -> None:
        h1, h2 = key_hashes(keys if len(heads) == len(keys) else [keys[head] for head in heads.tolist()])
        nth_block = np.searchsorted(cuts, heads, "right") - 1
        self._h1.append(h1)
        self._h2.append(h2)
        self._block_numbers.append((nth_block + self._blocks).astype(np.uint32))
        self._positions.append((heads - cuts[nth_block]).astype(np.uint32))
        self.distinct_keys += len(heads)
        self._blocks += len(cuts) - 1
        self._longest_block = max(self._longest_block, int(np.diff(cuts).max()))

    def properties(self, time_us: int) -> Properties:
        """Properties of the table; `time_us` counts if there is a tombstone."""
        assert self._smallest is not None
        return Properties(
            entries=self._entries,
            tombstones=self._tombstones,
            distinct_keys=self.distinct_keys,
            min_seq=self._min_seq,
            max_seq=self._max_seq,
            key_bytes=self._key_bytes,
            value_bytes=self._value_bytes,
            oldest_tombstone_time=time_us if self._tombstones else 0,
            smallest=self._smallest,
            largest=self._largest,
        )

    def bloom_filter(self, size_bytes: int) -> bytes:
        """Filter of that length over all keys."""
        return build_filter(np.concatenate(self._h1), np.concatenate(self._h2), size_bytes)

    def hash_index(self) -> bytes:
        """Hash index over all keys; b"" if places do not fit into its slots."""
        shape = SlotShape.of(self._blocks, self._longest_block)
        if not shape.fits:
            return b""
        return build_hash_index(
            np.concatenate(self._h1),
            np.concatenate(self._block_numbers),
            np.concatenate(self._positions),
            shape,
        )
