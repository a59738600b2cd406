"""Where sorted entries are cut into blocks: by size, and never between versions of one key."""

from collections.abc import Iterator

import numpy as np

from sstable.arrays import IndexArray
from sstable.columns import Columns

# About what seq, kind and offsets add to an entry; also makes empty entries count.
ENTRY_OVERHEAD_BYTES = 4


def sizes_before(columns: Columns) -> IndexArray:
    """For each entry, and for the end, the bytes of all entries before it."""
    keys = columns.key_offsets.astype(np.int64) - columns.key_offsets[0]
    values = columns.value_offsets.astype(np.int64) - columns.value_offsets[0]
    overheads: IndexArray = ENTRY_OVERHEAD_BYTES * np.arange(len(keys))
    before: IndexArray = keys + values + overheads
    return before


def size_of(columns: Columns) -> int:
    """Bytes of all entries together."""
    return columns.key_bytes + columns.value_bytes + ENTRY_OVERHEAD_BYTES * len(columns)


def pieces(columns: Columns, piece_bytes: int) -> Iterator[Columns]:
    """The entries in slices of about `piece_bytes`."""
    before = sizes_before(columns)
    start = 0
    while start < len(columns):
        stop = int(np.searchsorted(before, before[start] + piece_bytes, "left"))
        stop = min(max(stop, start + 1), len(columns))
        yield columns.slice(start, stop)
        start = stop


def block_cuts(before: IndexArray, heads: IndexArray, block_bytes: int) -> list[int]:
    """Where full blocks start and stop.  Entries behind the last cut do not fill a block yet."""
    cuts = [0]
    while True:
        limit = int(before[cuts[-1]]) + block_bytes
        if before[-1] <= limit:
            return cuts
        # The last key change that keeps the block within its size; if one key alone exceeds it, the next.
        fitting = int(np.searchsorted(before, limit, "right")) - 1
        nth = int(np.searchsorted(heads, fitting, "right")) - 1
        if heads[nth] <= cuts[-1]:
            nth = int(np.searchsorted(heads, cuts[-1], "right"))
        if nth == len(heads):
            return cuts
        cuts.append(int(heads[nth]))
