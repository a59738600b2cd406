"""The bloom filter section of a table, read and verified when it is first asked."""

import numpy as np

from sstable.align import aligned
from sstable.arrays import BoolArray, U32Array
from sstable.bloom import BloomFilter
from sstable.errors import CorruptTable
from sstable.extent import Extent
from sstable.sections import memory_of
from sstable.source import Source


class LazyFilter:
    """Answers like a BloomFilter; without the section, every key may be there."""

    __slots__ = ("_extent", "_filter", "_keys", "_source", "_verify")

    def __init__(self, source: Source, extent: Extent, *, keys: int, verify: bool) -> None:
        self._source = source
        self._extent = extent
        self._keys = keys
        self._verify = verify
        self._filter: BloomFilter | None = None

    @property
    def bits_per_key(self) -> float:
        """How large the filter is; 0 without one."""
        return 8 * self._extent.size / self._keys

    def may_contain(self, h1: int, h2: int) -> bool:
        """False only if no key of the table has these hashes."""
        return not self._extent.size or self._open().may_contain(h1, h2)

    def may_contain_many(self, h1: U32Array, h2: U32Array) -> BoolArray:
        """`may_contain` for each pair of hashes."""
        if not self._extent.size:
            return np.ones(len(h1), np.bool_)
        return self._open().may_contain_many(h1, h2)

    def _open(self) -> BloomFilter:
        if self._filter is None:
            if self._extent.size != aligned(self._extent.size):
                raise CorruptTable("bloom filter ends off a multiple of 8", offset=self._extent.offset)
            data, start = memory_of(self._source, self._extent, "bloom filter", verify=self._verify)
            self._filter = BloomFilter(data, start, self._extent.size, keys=self._keys)
        return self._filter
