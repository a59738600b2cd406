"""Bloom filter: says for sure that a key is absent, or that it may be there.  See FORMAT.md."""

from collections.abc import Iterator

import numpy as np

from sstable.align import aligned
from sstable.arrays import BoolArray, IndexArray, U8Array, U32Array
from sstable.source import Data

# On disk: changing a line below needs a new format version.
PROBES_MAX = 30
BITS_MAX = 2**32 - 64  # A probe is a 32-bit fraction of the filter.
_FRACTION_BITS = np.uint64(32)


class BloomFilter:
    """Bits set by the keys of a table: `size` bytes at `start` of `data`."""

    __slots__ = ("_bits", "_data", "_probes", "_start")

    def __init__(self, data: Data, start: int, size: int, *, keys: int) -> None:
        self._data = data
        self._start = start
        self._bits = 8 * size
        self._probes = probe_count(self._bits, keys)

    def may_contain(self, h1: int, h2: int) -> bool:
        """False only if no key with these hashes was added."""
        data, start, bits = self._data, self._start, self._bits
        step = h2 | 1
        for _ in range(self._probes):
            bit = h1 * bits >> 32
            if not data[start + (bit >> 3)] >> (bit & 7) & 1:
                return False
            h1 = h1 + step & 0xFFFFFFFF
        return True

    def may_contain_many(self, h1: U32Array, h2: U32Array) -> BoolArray:
        """`may_contain` for each pair of hashes."""
        # Made anew for each question: an array that is kept would keep a closed file mapped.
        octets: U8Array = np.frombuffer(self._data, np.uint8, self._bits >> 3, self._start)
        result = np.ones(len(h1), np.bool_)
        for bit in _probe_bits(h1, h2, self._bits, self._probes):
            result &= (octets[bit >> 3] >> (bit & 7).astype(np.uint8) & 1).astype(np.bool_)
        return result


def filter_bytes(keys: int, bits_per_key: float) -> int:
    """Length of a filter over that many keys: a multiple of 8, as padding behind it could pass for bits."""
    return aligned(min(round(keys * bits_per_key), BITS_MAX) + 7 >> 3)


def build_filter(h1: U32Array, h2: U32Array, size_bytes: int) -> bytes:
    """A filter of `size_bytes` over distinct keys with these hashes."""
    # A byte for each bit while building: numpy sets bytes faster than bits.
    flags = np.zeros(8 * size_bytes, np.bool_)
    for bit in _probe_bits(h1, h2, len(flags), probe_count(len(flags), len(h1))):
        flags[bit] = True
    return np.packbits(flags, bitorder="little").tobytes()


def probe_count(bits: int, keys: int) -> int:
    """The number of probes with the fewest false positives: ln 2 times the bits of a key."""
    return max(1, min((693 * bits + 500 * keys) // (1000 * keys), PROBES_MAX))


def _probe_bits(h1: U32Array, h2: U32Array, bits: int, probes: int) -> Iterator[IndexArray]:
    """For each probe, the bit of every key."""
    point = h1
    # An odd step visits all of the circle of 2^32 points before it repeats one.
    step = h2 | np.uint32(1)
    for _ in range(probes):
        yield (point.astype(np.uint64) * np.uint64(bits) >> _FRACTION_BITS).astype(np.int64)
        point = point + step
