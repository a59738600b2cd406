"""Trees of many runs, one a level: which belong to one tier, how far tables may sink, whole runs as plans."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from compaction.garbage import GarbageRules
from compaction.joining import joining_plans
from compaction.levels import KeyRange, Levels, Run, key_range, level_bytes, overlapping
from compaction.plan import CompactionPlan, MoveRules, plan_down
from sstable import TableMeta

_ANY_BYTES = 2**63
"""Whole runs are merged: what a table lies over makes no later merge larger."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Runs of similar size next to each other, newest first."""

    levels: tuple[int, ...]
    """The levels that hold them; those between are empty."""
    size_bytes: int


def used_levels(levels: Levels) -> tuple[int, ...]:
    """The levels below L0 that hold a run, newest first."""
    return tuple(level for level, run in enumerate(levels) if run and level > 0)


def tiers(levels: Levels, used: Sequence[int], ratio: int, run_bytes_min: int) -> list[Tier]:
    """The runs of the `used` levels as tiers, newest first.

    A tier goes on as long as runs are less than the square root of `ratio` times as large as its
    first one: halfway, by factors, to what a merge of `ratio` such runs makes.  Runs below
    `run_bytes_min` count as that large, or very small ones would make tiers without end.
    """
    found: list[Tier] = []
    limit = 0.0
    for level in used:
        size = level_bytes(levels[level])
        if found and size < limit:
            found[-1] = Tier((*found[-1].levels, level), found[-1].size_bytes + size)
        else:
            found.append(Tier((level,), size))
            limit = sqrt(ratio) * max(size, run_bytes_min)
    return found


def floor_level(levels: Levels, level: int, keys: KeyRange) -> int:
    """How deep tables of the range `keys` may sink from `level`: until older ones are in the way.

    So an output takes the deepest free slot above older runs, and what shares no key with the run
    below becomes part of it: keys in rising order make one run and are written once.
    """
    for below in range(level + 1, len(levels)):
        if overlapping(levels[below], *keys):
            return below - 1
    return len(levels) - 1


def with_older(levels: Levels, sources: Run, level: int) -> tuple[Run, int]:
    """`sources` of `level` with all older tables that must not end up above them, and the deepest level used.

    Going down, the range grows with every table taken.  A table that was passed over lies above all
    that was taken after it, and may stay there.
    """
    taken, deepest = list(sources), level
    for below in range(level + 1, len(levels)):
        if found := overlapping(levels[below], *key_range(taken)):
            taken += found
            deepest = below
    return tuple(taken), deepest


class RunPlans:
    """One call of `choose` of a policy that merges whole runs: the plans that all such policies know."""

    def __init__(self, levels: Levels, garbage: GarbageRules, *, ratio: int, table_bytes_max: int) -> None:
        self.levels = levels
        self.used = used_levels(levels)
        self._garbage = garbage
        self._ratio = ratio
        self._table_bytes_max = table_bytes_max
        self._rules = MoveRules(oldest_snapshot=garbage.oldest_snapshot, grandparent_bytes_max=_ANY_BYTES)

    def tables(self, levels: Iterable[int]) -> Run:
        """All tables of some levels."""
        return tuple(table for level in levels for table in self.levels[level])

    def merged(self, levels: Sequence[int], *, reason: str, score: float) -> CompactionPlan:
        """Whole levels, all from the first to the last of them that have tables, become one run."""
        return self._sunk(self.tables(levels), levels[-1], reason=reason, score=score)

    def into_last(self, levels: Sequence[int], *, reason: str, score: float) -> CompactionPlan:
        """Whole levels go into the last run, of which only the tables in their range are rewritten."""
        return self._down(self.tables(levels), self.used[-1], reason=reason, score=score)

    def emptying_l0(self, *, reason: str, score: float) -> Iterator[CompactionPlan]:
        """L0 becomes a run of its own; if no level is left for one, runs move down or are merged with it.

        A run is taken along if it is not larger than all that is newer: what an entry is rewritten
        into so doubles each time, as far as the number of levels allows it.
        """
        l0 = self.levels[0]
        if floor_level(self.levels, 0, key_range(l0)) > 0:
            yield self.merged((0,), reason=reason, score=score)
            return
        yield from self._sinking(score)
        taken, size = [0], level_bytes(l0)
        for level in self.used:
            run_bytes = level_bytes(self.levels[level])
            if len(taken) > 1 and run_bytes > size:
                break
            taken.append(level)
            size += run_bytes
        yield self.merged(taken, reason=f"{reason} and no level is free", score=score)

    def tombstone_plans(self) -> Iterator[CompactionPlan]:
        """For deletions that hold space: with all that is older at once, so that they are gone for good."""
        l0 = self.levels[0]
        if (reason := self._garbage.ripeness(l0)) and self._is_worth_it(l0, 0):
            yield self._down_to_bottom(l0, 0, f"L0 {reason}")
        for level in self.used:
            for table in filter(self._garbage.reclaimable, self.levels[level]):
                if with_older(self.levels, (table,), level)[1] == level:
                    if self._garbage.is_worth_rewriting(table):
                        yield self._down_to_bottom((table,), level, f"table {table.number} has garbage")
                elif (reason := self._garbage.ripeness((table,))) and self._is_worth_it((table,), level):
                    yield self._down_to_bottom((table,), level, f"table {table.number} {reason}")

    def joining_plans(self) -> Iterator[CompactionPlan]:
        """For small neighbours of any run, as moves out of many short sessions leave them."""
        for level in self.used:
            yield from joining_plans(self.levels, level, self._table_bytes_max)

    def _sinking(self, score: float) -> Iterator[CompactionPlan]:
        """Moves into levels that merges have left empty, the lowest first, to make room at the top."""
        for level in reversed(self.used):
            run = self.levels[level]
            if floor_level(self.levels, level, key_range(run)) > level:
                yield self._sunk(run, level, reason=f"L{level} makes room above it", score=score)

    def _is_worth_it(self, tables: Run, level: int) -> bool:
        """Whether tombstones cannot wait for their turn, or may free a good part of what is rewritten."""
        if any(map(self._garbage.is_old, tables)):
            return True
        taken, _ = with_older(self.levels, tables, level)
        entries_below = sum(table.entries for table in taken[len(tables) :])
        return sum(table.tombstones for table in tables) * self._ratio >= entries_below

    def _down_to_bottom(self, sources: Run, level: int, reason: str) -> CompactionPlan:
        taken, deepest = with_older(self.levels, sources, level)
        return self._sunk(taken, deepest, reason=reason, score=0.0)

    def _sunk(
        self, sources: Sequence[TableMeta], level: int, *, reason: str, score: float
    ) -> CompactionPlan:
        """`sources`, of `level` and above, as deep as they may go."""
        output_level = floor_level(self.levels, level, key_range(sources))
        return self._down(sources, output_level, reason=reason, score=score)

    def _down(
        self, sources: Sequence[TableMeta], output_level: int, *, reason: str, score: float
    ) -> CompactionPlan:
        plan = plan_down(self.levels, sources, output_level, self._rules, reason=reason, score=score)
        return replace(plan, output_grandparents=())
