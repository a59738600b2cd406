"""Entries of synthetic tables: sorted key numbers with sizes, of which one in `sample` stands for all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from compaction.levels import KeyRange, Run, united
from compaction.outputs import BORDER_SHARE, FULL_SHARE, body_bytes, grandparents_stop, next_border
from compaction.run import WINDOW_BYTES
from compaction.streams import Writes
from sstable.columns import BoolArray, IndexArray

_FOOTER_BYTES = 300
"""Footer, properties and the rounding of sections, about."""
_BLOCK_BYTES = 80
"""Header and handle of a block, and its last key, about."""
_PENDING_BYTES = 4
"""What a writer adds to an entry while it does not know better."""


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """One entry of each key, by key."""

    keys: IndexArray
    sizes: IndexArray
    deletes: BoolArray

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, which: BoolArray | slice) -> "Entries":
        """Some of them."""
        return Entries(self.keys[which], self.sizes[which], self.deletes[which])

    @property
    def tombstones(self) -> int:
        """How many are deletions."""
        return int(np.count_nonzero(self.deletes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What tables add to keys and values, as the format of tables has it."""

    hash_index: bool = True
    block_bytes: int = 64 * 1024
    compressed_share: float = 1.0
    """What compression leaves of a block."""
    sample: int = 1
    """How many entries each one stands for."""

    def entry_bytes_while_written(self, bits_per_key: float) -> float:
        """What an entry adds to its bytes as long as its table is being written."""
        return _PENDING_BYTES + self._key_bytes(bits_per_key)

    def table_bytes(self, entries: Entries, seq_span: int, bits_per_key: float) -> int:
        """The size of a table."""
        count, tombstones = len(entries), entries.tombstones
        columns = _width(seq_span) + (1 if 0 < tombstones < count else 0)
        if int(entries.sizes.min()) != int(entries.sizes.max()):
            columns += 4  # offsets of values of different lengths
        plain = self.sample * (int(entries.sizes.sum()) + columns * count)
        blocks = plain / self.block_bytes + 1
        sections = self.sample * count * self._key_bytes(bits_per_key)
        return int(plain * self.compressed_share + _BLOCK_BYTES * blocks + sections) + _FOOTER_BYTES

    def _key_bytes(self, bits_per_key: float) -> float:
        return bits_per_key / 8 + (8 if self.hash_index else 0)


def sorted_entries(writes: Writes) -> Entries:
    """The last write of each key, by key."""
    return merged([Entries(writes.keys[::-1], writes.sizes[::-1], writes.deletes[::-1])])


def merged(runs: Sequence[Entries]) -> Entries:
    """Of each key the first entry in `runs`, which come newest first."""
    keys = np.concatenate([run.keys for run in runs])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    kept = np.empty(len(keys), np.bool_)
    kept[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=kept[1:])
    sizes = np.concatenate([run.sizes for run in runs])
    deletes = np.concatenate([run.deletes for run in runs])
    newest = order[kept]
    return Entries(keys[kept], sizes[newest], deletes[newest])


def without_needless_tombstones(entries: Entries, deeper: Sequence[KeyRange]) -> Entries:
    """Drop deletions of keys that no deeper table can hold."""
    if not entries.tombstones:
        return entries
    needless = entries.deletes.copy()
    for smallest, largest in united(deeper):
        start = np.searchsorted(entries.keys, number_of(smallest), "left")
        needless[start : np.searchsorted(entries.keys, number_of(largest), "right")] = False
    return entries.take(~needless)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutter:
    """Cuts the outputs of a job as `Outputs` does, window by window."""

    table_bytes_max: int
    entry_bytes: float
    """What an entry adds to its own bytes."""
    sample: int
    runs: int
    """A window holds so much of each of them."""
    grandparents: Run = ()

    def cut(self, entries: Entries) -> Iterator[Entries]:
        """The tables of a job."""
        for start, stop in pairwise(self._cuts(entries)):
            yield entries.take(slice(start, stop))

    def _cuts(self, entries: Entries) -> list[int]:
        ends = np.append(0, np.cumsum(entries.sizes) * self.sample)
        window_bytes = WINDOW_BYTES * self.runs
        cuts, at = [0], 0
        while at < len(entries):
            stop, estimate = self._stop(entries, at), 0.0
            is_at_border, full_bytes = not self.grandparents, self.table_bytes_max
            while at < stop and estimate < full_bytes * (1 - 1 / FULL_SHARE):
                if not is_at_border and estimate >= body_bytes(full_bytes):
                    stop, is_at_border = min(stop, self._border(entries, at)), True
                    continue
                room = (full_bytes if is_at_border else full_bytes // BORDER_SHARE) - estimate
                window_end = (int(ends[at]) // window_bytes + 1) * window_bytes
                limit = min(int(ends[at] + room), window_end)
                until = min(stop, max(at + 1, int(np.searchsorted(ends, limit, "right")) - 1))
                added = until - at
                estimate += float(ends[until] - ends[at]) + self.entry_bytes * added * self.sample
                at = until
            cuts.append(at)
        return cuts

    def _border(self, entries: Entries, at: int) -> int:
        """Where a table whose last entry is the one before `at` may end at a border of the level below."""
        border = next_border(self.grandparents, key_of(int(entries.keys[at - 1])))
        if border is None:
            return len(entries)
        return int(np.searchsorted(entries.keys, number_of(border), "left"))

    def _stop(self, entries: Entries, at: int) -> int:
        """Where a table that begins at entry `at` must end not to lie over too much of the level below."""
        if not self.grandparents:
            return len(entries)
        stop = grandparents_stop(self.grandparents, key_of(int(entries.keys[at])), self.table_bytes_max)
        if stop is None:
            return len(entries)
        return max(at + 1, int(np.searchsorted(entries.keys, number_of(stop), "left")))


def key_of(number: int) -> bytes:
    """A key for a number, in the same order."""
    return number.to_bytes(8, "big")


def number_of(key: bytes) -> int:
    """Inverse of `key_of`."""
    return int.from_bytes(key, "big")


def _width(span: int) -> int:
    """Bytes of a column of numbers from 0 to `span`."""
    return next(width for width in (0, 1, 2, 4, 8) if span < 1 << 8 * width)
