"""A batch of entries as columns: the form in which entries move through the engine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sstable import byte_strings
from sstable.arrays import BoolArray, IndexArray, OffsetArray, U8Array, U32Array, U64Array

__all__ = ["BoolArray", "Columns", "IndexArray", "OffsetArray", "U8Array", "U32Array", "U64Array"]


@dataclass(slots=True, eq=False)
class Columns:
    """Entries side by side: entry i has `key_data[key_offsets[i]:key_offsets[i + 1]]` as its key.

    Offsets may start above zero, so that a slice shares its data with the whole.
    """

    key_offsets: OffsetArray
    key_data: U8Array
    seqs: U64Array
    kinds: U8Array
    value_offsets: OffsetArray
    value_data: U8Array

    def __len__(self) -> int:
        return len(self.seqs)

    @staticmethod
    def from_lists(
        keys: Sequence[bytes], seqs: Sequence[int], kinds: Sequence[int], values: Sequence[bytes]
    ) -> "Columns":
        """Columns of Python objects; of tombstones the value is b""."""
        return Columns(
            byte_strings.offsets_of(np.fromiter(map(len, keys), np.int64, len(keys))),
            np.frombuffer(b"".join(keys), np.uint8),
            np.array(seqs, np.uint64),
            np.array(kinds, np.uint8),
            byte_strings.offsets_of(np.fromiter(map(len, values), np.int64, len(values))),
            np.frombuffer(b"".join(values), np.uint8),
        )

    @staticmethod
    def concat(batches: Sequence["Columns"]) -> "Columns":
        """All entries of `batches`, in their order."""
        if len(batches) == 1:
            return batches[0]
        key_offsets, key_data = byte_strings.concat(
            [(batch.key_offsets, batch.key_data) for batch in batches]
        )
        value_offsets, value_data = byte_strings.concat(
            [(batch.value_offsets, batch.value_data) for batch in batches]
        )
        seqs = np.concatenate([np.empty(0, np.uint64), *(batch.seqs for batch in batches)])
        kinds = np.concatenate([np.empty(0, np.uint8), *(batch.kinds for batch in batches)])
        return Columns(key_offsets, key_data, seqs, kinds, value_offsets, value_data)

    def slice(self, start: int, stop: int) -> "Columns":
        """Entries start <= i < stop, sharing the data of this batch."""
        return Columns(
            self.key_offsets[start : stop + 1],
            self.key_data,
            self.seqs[start:stop],
            self.kinds[start:stop],
            self.value_offsets[start : stop + 1],
            self.value_data,
        )

    def take(self, indices: npt.NDArray[np.integer]) -> "Columns":
        """The entries at `indices`, in that order, copied."""
        key_offsets, key_data = byte_strings.take(self.key_offsets, self.key_data, indices)
        value_offsets, value_data = byte_strings.take(self.value_offsets, self.value_data, indices)
        return Columns(
            key_offsets, key_data, self.seqs[indices], self.kinds[indices], value_offsets, value_data
        )

    def copy(self) -> "Columns":
        """The same entries in arrays of their own, offsets from zero."""
        key_offsets, key_data = byte_strings.concat([(self.key_offsets, self.key_data)])
        value_offsets, value_data = byte_strings.concat([(self.value_offsets, self.value_data)])
        return Columns(key_offsets, key_data, self.seqs.copy(), self.kinds.copy(), value_offsets, value_data)

    @property
    def fixed_key_width(self) -> int | None:
        """The length of every key, or None if lengths differ or there is no entry."""
        return byte_strings.fixed_width(self.key_offsets)

    @property
    def fixed_value_width(self) -> int | None:
        """The length of every value, or None if lengths differ or there is no entry."""
        return byte_strings.fixed_width(self.value_offsets)

    @property
    def key_bytes(self) -> int:
        """Length of all keys together."""
        return int(self.key_offsets[-1] - self.key_offsets[0])

    @property
    def value_bytes(self) -> int:
        """Length of all values together."""
        return int(self.value_offsets[-1] - self.value_offsets[0])

    def key(self, position: int) -> bytes:
        """Key of one entry."""
        return self.key_data[self.key_offsets[position] : self.key_offsets[position + 1]].tobytes()

    def value(self, position: int) -> bytes:
        """Value of one entry."""
        return self.value_data[self.value_offsets[position] : self.value_offsets[position + 1]].tobytes()

    def keys(self) -> list[bytes]:
        """All keys, as bytes."""
        return byte_strings.to_list(self.key_offsets, self.key_data)

    def values(self) -> list[bytes]:
        """All values, as bytes."""
        return byte_strings.to_list(self.value_offsets, self.value_data)
