"""What a stream of writes would cost under other settings: the policies on metadata alone, without files.

The same policies decide over a tree of synthetic tables, which hold key numbers and sizes instead of
keys and values.  So which tables overlap, and which entries a merge drops, is not estimated but
computed; with `sample` = k only for one key in k, which then stands for k of them.  A memtable is
flushed when its log, counted in full, has reached `memtable_bytes`, and the tree is settled after
every flush, as by a background that always keeps up.  Not modelled: snapshots, time (and with it the
age of tombstones), several keyspaces, and how well data compresses, which has to be said.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from compaction import monkey, predict, theory
from compaction.levels import level_bytes
from compaction.shape import PolicyName, Shape
from compaction.sim_entries import Costs
from compaction.sim_tree import BloomSharing, Filters, SimTree
from compaction.streams import Distribution, Synthetic, Writes, recorded, total_bytes
from sstable.columns import BoolArray, IndexArray

__all__ = [
    "BloomSharing",
    "Costs",
    "Distribution",
    "Figures",
    "Filters",
    "PolicyName",
    "Settings",
    "Shape",
    "Synthetic",
    "Writes",
    "monkey",
    "predict",
    "recorded",
    "run",
    "theory",
    "timeline",
    "total_bytes",
]

_SEGMENT_BYTES = 64
"""Header of a log segment."""
_RECORD_BYTES = 36
"""Header of a log record."""
_LENGTHS_BYTES = 12
"""What the log adds to a write of its own; in a batch 8, and 4 for the batch."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_SHIFT = np.uint64(33)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is simulated."""

    shape: Shape = field(default_factory=Shape)
    filters: Filters = field(default_factory=Filters)
    costs: Costs = field(default_factory=Costs)
    batch: int = 1
    """How many writes are committed together: it decides how many fit a log of `memtable_bytes`."""

    @property
    def log_bytes_per_write(self) -> float:
        """What the log adds to the bytes of a write."""
        return _RECORD_BYTES / self.batch + (
            _LENGTHS_BYTES if self.batch == 1 else _LENGTHS_BYTES - 4 + 4 / self.batch
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What it has cost up to one moment."""

    user_bytes: int
    flushed_bytes: int
    merged_bytes: Mapping[int, int]
    """Bytes that merges wrote, by output level."""
    read_bytes: Mapping[int, int]
    """Bytes that merges read, by level."""
    level_bytes: Mapping[int, int]
    """Bytes in tables, by level that has any."""
    flushes: int
    merges: int
    moves: int
    runs: int
    """What a scan merges: tables of L0 and deeper levels that have tables."""
    table_bytes: int
    peak_bytes: int
    """The most there was so far, outputs of running merges included."""
    live_bytes: int
    miss_reads: float
    """Blocks that the lookup of an absent key reads."""

    @property
    def tree_write_amp(self) -> float:
        """Flushed and merged bytes over flushed ones."""
        return (self.flushed_bytes + sum(self.merged_bytes.values())) / max(1, self.flushed_bytes)

    @property
    def write_amp(self) -> float:
        """Flushed and merged bytes over user bytes; the log comes to about 1 more."""
        return (self.flushed_bytes + sum(self.merged_bytes.values())) / max(1, self.user_bytes)

    @property
    def space_amp(self) -> float:
        """Bytes in tables over live bytes."""
        return self.table_bytes / max(1, self.live_bytes)


def run(stream: Iterable[Writes], settings: Settings | None = None) -> Figures:
    """Simulate a whole stream; what is left in the last memtable is flushed."""
    *_, last = timeline(stream, settings or Settings(), every_bytes=2**62)
    return last


def timeline(stream: Iterable[Writes], settings: Settings, *, every_bytes: int) -> Iterator[Figures]:
    """Simulate a stream and yield the figures after about every so many user bytes, and at the end."""
    tree = SimTree(settings.shape, settings.costs, settings.filters)
    user_bytes, next_bytes = 0, every_bytes
    for count, size_bytes, writes in _memtables(stream, settings):
        tree.flush(writes, count)
        tree.settle()
        user_bytes += size_bytes
        if user_bytes >= next_bytes:
            yield _figures(tree, user_bytes)
            next_bytes = user_bytes + every_bytes
    yield _figures(tree, user_bytes)


def _figures(tree: SimTree, user_bytes: int) -> Figures:
    return Figures(
        user_bytes=user_bytes,
        flushed_bytes=tree.flushed_bytes,
        merged_bytes=dict(tree.merged_bytes),
        read_bytes=dict(tree.read_bytes),
        level_bytes={level: level_bytes(run) for level, run in enumerate(tree.levels) if run},
        flushes=tree.flushes,
        merges=tree.merges,
        moves=tree.moves,
        runs=len(tree.levels[0]) + sum(1 for run in tree.levels[1:] if run),
        table_bytes=tree.table_bytes,
        peak_bytes=tree.peak_bytes,
        live_bytes=tree.live_bytes(),
        miss_reads=tree.miss_reads(),
    )


def _memtables(stream: Iterable[Writes], settings: Settings) -> Iterator[tuple[int, int, Writes]]:
    """Cut a stream where the log of a memtable is full: number of writes, their bytes, and the sample."""
    sample, full_bytes = settings.costs.sample, settings.shape.memtable_bytes
    parts: list[Writes] = []
    count = size_bytes = 0
    log_bytes = float(_SEGMENT_BYTES)
    for writes in stream:
        start = 0
        while start < len(writes):
            sizes = writes.sizes[start:]
            log_ends = log_bytes + np.cumsum(sizes + settings.log_bytes_per_write)
            # The write that fills the log still belongs to it.
            taken = min(len(sizes), int(np.searchsorted(log_ends, full_bytes, "left")) + 1)
            parts.append(_sampled(writes, start, start + taken, sample))
            count += taken
            size_bytes += int(sizes[:taken].sum())
            log_bytes = float(log_ends[taken - 1])
            start += taken
            if log_bytes >= full_bytes:
                yield count, size_bytes, _joined(parts)
                parts, count, size_bytes, log_bytes = [], 0, 0, float(_SEGMENT_BYTES)
    if count:
        yield count, size_bytes, _joined(parts)


def _sampled(writes: Writes, start: int, stop: int, sample: int) -> Writes:
    """All writes of one key in `sample`: which keys is decided by their numbers, whatever the order."""
    part = slice(start, stop)
    keys, sizes, deletes = writes.keys[part], writes.sizes[part], writes.deletes[part]
    if sample == 1:
        return Writes(keys, sizes, deletes)
    kept = _is_in_sample(keys, sample)
    return Writes(keys[kept], sizes[kept], deletes[kept])


def _is_in_sample(keys: IndexArray, sample: int) -> BoolArray:
    mixed = keys.astype(np.uint64) * _MIX
    mixed ^= mixed >> _MIX_SHIFT
    chosen: BoolArray = mixed % np.uint64(sample) == 0
    return chosen


def _joined(parts: list[Writes]) -> Writes:
    return Writes(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.deletes for part in parts]),
    )
