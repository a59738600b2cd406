"""A tree of synthetic tables, on which plans are carried out as a store would, and what that costs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from compaction.levels import Levels, level_bytes, replaced
from compaction.monkey import bits_for_run, false_positive_rate
from compaction.plan import CompactionPlan
from compaction.shape import Shape
from compaction.sim_entries import (
    Costs,
    Cutter,
    Entries,
    key_of,
    merged,
    sorted_entries,
    without_needless_tombstones,
)
from compaction.streams import Writes
from sstable import TableMeta

BloomSharing: TypeAlias = Literal["uniform", "monkey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Bloom filters: how many bits a key on average, and whether small levels get more."""

    bits_per_key: float = 10.0
    sharing: BloomSharing = "uniform"

    def bits(self, levels: Levels, level: int, keys: int, without: frozenset[int] = frozenset()) -> float:
        """Bits a key for new tables."""
        if self.sharing == "uniform":
            return self.bits_per_key
        return bits_for_run(levels, level, keys, self.bits_per_key, without=without)


@dataclass(frozen=True, slots=True)
class _SimTable:
    entries: Entries
    bits_per_key: float


@dataclass(frozen=True, slots=True)
class _Job:
    """How the tables of one job are written."""

    bits_per_key: float
    seqs: tuple[int, int]
    runs: int
    plan: CompactionPlan | None = None
    table_bytes_max: int = 0
    """Where tables are cut, if not where all others are."""


class SimTree:
    """Levels of synthetic tables, settled after every flush: a background that always keeps up."""

    def __init__(self, shape: Shape, costs: Costs, filters: Filters) -> None:
        self.policy = shape.make_policy()
        self.levels: Levels = ((),) * self.policy.levels_max
        self.flushed_bytes = 0
        self.merged_bytes: Counter[int] = Counter()
        """By output level."""
        self.read_bytes: Counter[int] = Counter()
        """What merges have read, by level."""
        self.flushes = self.merges = self.moves = 0
        self.peak_bytes = 0
        self._shape = shape
        self._costs = costs
        self._filters = filters
        self._tables: dict[int, _SimTable] = {}
        self._numbers = 0
        self._seq = 0

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables."""
        return sum(map(level_bytes, self.levels))

    def load(self, writes: Writes) -> None:
        """Begin with a last level that holds these, one write a key; nothing is counted as written."""
        if len(writes) == 0:
            return
        entries, last = sorted_entries(writes), len(self.levels) - 1
        count = len(entries) * self._costs.sample
        job = _Job(self._filters.bits(self.levels, last, count), (self._seq, self._seq + count), runs=1)
        self._seq += count
        self.levels = (*self.levels[:last], tuple(self._written(entries, job)))
        self.peak_bytes = self.table_bytes

    def flush(self, writes: Writes, count: int) -> None:
        """A memtable of so many writes, of which `writes` are the sample, becomes tables of L0."""
        seqs = self._seq, self._seq + count
        self._seq += count
        if len(writes) == 0:
            return
        entries = sorted_entries(writes)
        bits = self._filters.bits(self.levels, 0, len(entries) * self._costs.sample)
        job = _Job(bits, seqs, runs=1, table_bytes_max=self._shape.flush_table_bytes_max)
        tables = self._written(entries, job)
        # Newest first; tables of one flush share no key, so their order means nothing.
        self.levels = (tuple(tables) + self.levels[0], *self.levels[1:])
        self.flushes += 1
        self.flushed_bytes += level_bytes(tables)
        self.peak_bytes = max(self.peak_bytes, self.table_bytes)

    def settle(self) -> None:
        """Carry out plans until the policy has none."""
        while plan := self.policy.choose(self.levels, frozenset(), 0):
            tables = plan.tables if plan.kind == "move" else self._merge(plan)
            self.moves += plan.kind == "move"
            self.levels = replaced(self.levels, plan.input_numbers, plan.output_level, tables)

    def live_bytes(self) -> int:
        """Bytes of keys and values that a scan of everything would give."""
        runs = [self._tables[table.number].entries for level in self.levels for table in level]
        if not runs:
            return 0
        entries = merged(runs)
        return int(entries.sizes[~entries.deletes].sum()) * self._costs.sample

    def miss_reads(self) -> float:
        """Blocks that the lookup of an absent key reads: wrong answers of the filters of all runs."""
        runs = [*((table,) for table in self.levels[0]), *filter(None, self.levels[1:])]
        return sum(map(self._miss_reads_of, runs))

    def _miss_reads_of(self, run: Sequence[TableMeta]) -> float:
        def wrong_answers(table: TableMeta) -> float:
            return table.distinct_keys * false_positive_rate(self._tables[table.number].bits_per_key)

        return sum(map(wrong_answers, run)) / sum(table.distinct_keys for table in run)

    def _merge(self, plan: CompactionPlan) -> list[TableMeta]:
        tables, numbers = plan.tables, plan.input_numbers
        everything = merged([self._tables[table.number].entries for table in tables])
        keys = sum(table.distinct_keys for table in tables)
        job = _Job(
            self._filters.bits(self.levels, plan.output_level, keys, numbers),
            (min(table.min_seq for table in tables), max(table.max_seq for table in tables)),
            len(plan.inputs),
            plan,
        )
        outputs = self._written(without_needless_tombstones(everything, plan.deeper), job)
        self.peak_bytes = max(self.peak_bytes, self.table_bytes + level_bytes(outputs))
        self.merges += 1
        self.merged_bytes[plan.output_level] += level_bytes(outputs)
        for level, run in enumerate(self.levels):
            self.read_bytes[level] += level_bytes(t for t in run if t.number in numbers)
        for table in tables:
            del self._tables[table.number]
        return outputs

    def _written(self, entries: Entries, job: _Job) -> list[TableMeta]:
        cutter = Cutter(
            table_bytes_max=job.table_bytes_max or self._shape.table_bytes_max,
            entry_bytes=self._costs.entry_bytes_while_written(job.bits_per_key),
            sample=self._costs.sample,
            runs=job.runs,
            grandparents=job.plan.output_grandparents if job.plan else (),
        )
        return [self._table(part, job) for part in cutter.cut(entries)]

    def _table(self, entries: Entries, job: _Job) -> TableMeta:
        self._numbers += 1
        first, last = job.seqs
        count = len(entries) * self._costs.sample
        self._tables[self._numbers] = _SimTable(entries, job.bits_per_key)
        return TableMeta(
            number=self._numbers,
            size_bytes=self._costs.table_bytes(entries, last - first, job.bits_per_key),
            entries=count,
            tombstones=entries.tombstones * self._costs.sample,
            distinct_keys=count,
            smallest=key_of(int(entries.keys[0])),
            largest=key_of(int(entries.keys[-1])),
            min_seq=first,
            max_seq=last,
            key_bytes=0,
            value_bytes=int(entries.sizes.sum()) * self._costs.sample,
            crc=0,
        )
