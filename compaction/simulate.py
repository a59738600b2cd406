"""What a stream of writes would cost under other settings: the policies on metadata alone, without files.

The same policies decide over a tree of synthetic tables, which hold key numbers and sizes instead of
keys and values.  So which tables overlap, and which entries a merge drops, is not estimated but
computed; with `sample` = k only for one key in k, which then stands for k of them.  A memtable is
flushed when its log, counted in full, has reached `memtable_bytes`, and the tree is settled after
every flush, as by a background that always keeps up.  Not modelled: snapshots, time (and with it the
age of tombstones), several keyspaces, and how well data compresses, which has to be said.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from compaction import monkey, predict, theory
from compaction.levels import level_bytes
from compaction.replay import replayed
from compaction.shape import PolicyName, Shape
from compaction.sim_entries import Costs
from compaction.sim_tree import BloomSharing, Filters, SimTree
from compaction.streams import Distribution, Synthetic, Writes, recorded, total_bytes
from compaction.trace import SEGMENT_BYTES, Trace, is_in_sample, joined, thinned
from sstable import Columns

__all__ = [
    "BloomSharing",
    "Columns",
    "Costs",
    "Distribution",
    "Figures",
    "Filters",
    "PolicyName",
    "Settings",
    "Shape",
    "Steady",
    "Synthetic",
    "Trace",
    "Writes",
    "monkey",
    "predict",
    "recorded",
    "replayed",
    "run",
    "steady",
    "theory",
    "thinned",
    "timeline",
    "total_bytes",
]

_MARKS = 37
"""How often the state of a store is looked at for an average."""
_RECORD_BYTES = 36
"""Header of a log record."""
_LENGTHS_BYTES = 12
"""What the log adds to a write of its own; in a batch 8, and 4 for the batch."""


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

    def since(self, earlier: "Figures") -> "Figures":
        """What was written between an earlier moment and this one, and the state as it is now."""
        return replace(
            self,
            user_bytes=self.user_bytes - earlier.user_bytes,
            flushed_bytes=self.flushed_bytes - earlier.flushed_bytes,
            merged_bytes=_more(self.merged_bytes, earlier.merged_bytes),
            read_bytes=_more(self.read_bytes, earlier.read_bytes),
            flushes=self.flushes - earlier.flushes,
            merges=self.merges - earlier.merges,
            moves=self.moves - earlier.moves,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """A store after warm-up: what was written, and the state on average instead of at some moment."""

    figures: Figures
    """Of what was written after warm-up; the state is that of the end."""
    log_write_amp: float
    space_amp: float
    miss_reads: float
    runs: float
    marks: tuple[Figures, ...]
    """The way there, warm-up included."""

    @property
    def write_amp(self) -> float:
        """Bytes of log, flush and compaction over user bytes; the manifest is not in it."""
        return self.log_write_amp + self.figures.write_amp


def _more(now: Mapping[int, int], earlier: Mapping[int, int]) -> dict[int, int]:
    return {level: size for level in now if (size := now[level] - earlier.get(level, 0))}


def run(stream: Iterable[Writes] | Trace, settings: Settings | None = None) -> Figures:
    """Simulate a whole stream; what is left in the last memtable is flushed.

    Of a trace that has to warm up first, the figures are of what comes after that.
    """
    warm_bytes = stream.warm_bytes if isinstance(stream, Trace) else 0
    first, *later = timeline(stream, settings or Settings(), every_bytes=warm_bytes or 2**62)
    return later[-1].since(first) if later else first


def steady(trace: Trace, settings: Settings) -> Steady:
    """Simulate a trace, and average what changes from flush to flush over what comes after warm-up."""
    every_bytes = max(1, (trace.user_bytes - trace.warm_bytes) // _MARKS)
    marks = tuple(timeline(trace, settings, every_bytes=every_bytes))
    counted = [mark for mark in marks if mark.user_bytes >= trace.warm_bytes] or marks[-1:]
    first, last = counted[0], counted[-1]
    is_warm = trace.warm_bytes and last.user_bytes > first.user_bytes
    return Steady(
        figures=last.since(first) if is_warm else last,
        log_write_amp=1 + settings.log_bytes_per_write * trace.count / max(1, trace.user_bytes),
        space_amp=fmean(mark.space_amp for mark in counted),
        miss_reads=fmean(mark.miss_reads for mark in counted),
        runs=fmean(mark.runs for mark in counted),
        marks=marks,
    )


def timeline(stream: Iterable[Writes] | Trace, settings: Settings, *, every_bytes: int) -> Iterator[Figures]:
    """Simulate a stream and yield the figures after about every so many user bytes, and at the end.

    A trace knows itself what it is a sample of, and what the store holds at first.
    """
    costs = replace(settings.costs, sample=stream.sample) if isinstance(stream, Trace) else settings.costs
    tree = SimTree(settings.shape, costs, settings.filters)
    if isinstance(stream, Trace) and stream.loaded is not None:
        tree.load(stream.loaded)
    user_bytes, next_bytes = 0, every_bytes
    for count, size_bytes, writes in _memtables(stream, settings):
        tree.flush(writes, count)
        tree.settle()
        user_bytes += size_bytes
        if user_bytes >= next_bytes:
            yield _figures(tree, user_bytes)
            next_bytes += every_bytes * -(-(user_bytes + 1 - next_bytes) // every_bytes)
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


def _memtables(stream: Iterable[Writes] | Trace, settings: Settings) -> Iterator[tuple[int, int, Writes]]:
    """Cut a stream where the log of a memtable is full: number of writes, their bytes, and the sample."""
    sample, full_bytes = settings.costs.sample, settings.shape.memtable_bytes
    if isinstance(stream, Trace):
        yield from stream.memtables(full_bytes, settings.log_bytes_per_write, settings.batch)
        return
    parts: list[Writes] = []
    count = size_bytes = 0
    log_bytes = float(SEGMENT_BYTES)
    for writes in stream:
        start = 0
        while start < len(writes):
            sizes = writes.sizes[start:]
            log_ends = log_bytes + np.cumsum(sizes + settings.log_bytes_per_write)
            # The write that fills the log still belongs to it, with all of its batch.
            taken = int(np.searchsorted(log_ends, full_bytes, "left")) + 1
            taken = min(len(sizes), taken + -(count + taken) % settings.batch)
            parts.append(_sampled(writes.take(slice(start, start + taken)), sample))
            count += taken
            size_bytes += int(sizes[:taken].sum())
            log_bytes = float(log_ends[taken - 1])
            start += taken
            if log_bytes >= full_bytes and count % settings.batch == 0:
                yield count, size_bytes, joined(parts)
                parts, count, size_bytes, log_bytes = [], 0, 0, float(SEGMENT_BYTES)
    if count:
        yield count, size_bytes, joined(parts)


def _sampled(writes: Writes, sample: int) -> Writes:
    """All writes of one key in `sample`: which keys is decided by their numbers, whatever the order."""
    return writes if sample == 1 else writes.take(is_in_sample(writes.keys, sample))
