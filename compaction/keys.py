"""Keys as columns of numbers: eight bytes at a time, so that numpy can compare them."""

import numpy as np

from sstable.columns import BoolArray, Columns, IndexArray, U64Array

WORD_BYTES = 8
_PREFIX_BYTES_MAX = 256

# By how many bytes of a word belong to the key: the rest is not to be looked at.
_MASKS = np.array([(1 << 64) - (1 << 8 * (WORD_BYTES - used)) for used in range(WORD_BYTES + 1)], np.uint64)


class KeyWords:
    """The keys of some columns as big-endian words, padded with zero bytes.

    Keys order like (words, length): padding makes b"a" and b"a\\0" equal in all words, and the
    shorter one comes first.
    """

    __slots__ = ("_starts", "_words", "lengths")

    def __init__(self, columns: Columns) -> None:
        offsets = columns.key_offsets.astype(np.int64)
        start, stop = int(offsets[0]), int(offsets[-1])
        padded = np.concatenate([columns.key_data[start:stop], np.zeros(WORD_BYTES, np.uint8)])
        # One word for every byte that may start one, all views of the same bytes.
        self._words = np.ndarray((stop - start + 1,), ">u8", buffer=padded.data, strides=(1,))
        self._starts = offsets[:-1] - start
        self.lengths = np.diff(offsets)

    def at(self, depth: int, entries: IndexArray | slice = slice(None)) -> U64Array:
        """Bytes depth to depth + 8 of the keys of `entries`."""
        # Where a key ends before `depth` we read whatever follows, and mask all of it.
        begins = np.minimum(self._starts[entries] + depth, len(self._words) - 1)
        used = np.clip(self.lengths[entries] - depth, 0, WORD_BYTES)
        words: U64Array = self._words[begins].astype(np.uint64)
        words &= _MASKS[used]
        return words

    def common_prefix(self) -> int:
        """How many bytes, up to a limit, all keys have in common."""
        shortest = min(int(self.lengths.min()), _PREFIX_BYTES_MAX)
        for depth in range(0, shortest, WORD_BYTES):
            words = self.at(depth)
            difference = int(words.min()) ^ int(words.max())
            if difference:
                return min(shortest, depth + (64 - difference.bit_length()) // 8)
        return shortest


def changes(values: IndexArray | U64Array) -> BoolArray:
    """Which values differ from the one before; the first counts as different."""
    result = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=result[1:])
    return result
