"""Leveled compaction: each level a run, about `level_ratio` times as large as the one above."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from compaction.garbage import GarbageRules
from compaction.joining import joining_plans
from compaction.levels import Levels, Run, key_range, level_bytes, overlapping
from compaction.plan import (
    GRANDPARENT_TABLES_MAX,
    BusyRanges,
    CompactionPlan,
    MoveRules,
    plan_down,
    plan_merge,
)
from compaction.policy import check_settings, padded
from sstable import TableMeta

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Targets:
    """How large each level should be."""

    base_level: int
    """Where L0 is merged into; the levels between are not needed and are emptied."""
    level_bytes: tuple[float, ...]
    """By level; 0 above the base level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeveledPolicy:
    """The default policy; compaction/DESIGN.md has its rules and their reasons."""

    level_ratio: int = 10
    l0_tables_max: int = 4
    base_bytes: int = 256 * MIB
    """The base level never needs to be larger: past that, another level is put above it."""
    upper_bytes_min: int = 0
    """No level above the last two has a smaller target."""
    table_bytes_max: int = 32 * MIB
    """Where outputs are cut; whoever runs the plans must cut them there."""
    levels_max: int = 7
    tombstone_share: float = 0.5
    """A table with this share of tombstones is compacted even if its level is within its target."""
    tombstone_age_seconds: float = 24 * 3600.0
    """A tombstone older than this is brought on its way down even if it is the only one."""

    def __post_init__(self) -> None:
        check_settings(self, "l0_tables_max", "base_bytes", "table_bytes_max")

    def choose(
        self, levels: Levels, busy: frozenset[int], now_us: int, oldest_snapshot: int | None = None
    ) -> CompactionPlan | None:
        """The most pressing compaction, or None if every level is within its target and free of garbage."""
        levels = padded(levels, self.levels_max)
        garbage = GarbageRules.of(self, now_us, oldest_snapshot)
        chooser = _Chooser(self, levels, busy, garbage)
        plans = chain(chooser.size_plans(), chooser.tombstone_plans(), chooser.joining_plans())
        return next(filter(BusyRanges(levels, busy).leave_free, plans), None)

    def targets(self, levels: Levels) -> Targets:
        """Targets from the largest level upwards, so that all above the last hold a small part of the data.

        With fixed targets from the top downwards, a half-filled last level would leave nearly as
        many bytes above it as in it, all of which may be overwritten there.
        """
        levels = padded(levels, self.levels_max)
        base_level = len(levels) - 1
        sizes = [0.0] * len(levels)
        sizes[base_level] = float(max(map(level_bytes, levels[1:])))
        while base_level > 1 and sizes[base_level] > self.base_bytes:
            least = self.upper_bytes_min if base_level < len(levels) - 1 else 0
            sizes[base_level - 1] = max(sizes[base_level] / self.level_ratio, least)
            base_level -= 1
        return Targets(base_level, tuple(sizes))

    def pressures(self, levels: Levels, busy: frozenset[int] = frozenset()) -> tuple[float, ...]:
        """Of each level, how full it is: from 1 on it is to be compacted.

        Tables that are already on their way down do not count; the last level has nowhere to go.
        """
        levels = padded(levels, self.levels_max)
        targets = self.targets(levels)
        deeper = [
            self._pressure(level_bytes(table for table in run if table.number not in busy), target)
            for run, target in zip(levels[1:-1], targets.level_bytes[1:-1], strict=True)
        ]
        return (len(levels[0]) / self.l0_tables_max, *deeper, 0.0)

    def _pressure(self, size_bytes: int, target: float) -> float:
        if size_bytes and not target:
            return max(1.0, size_bytes / self.base_bytes)
        return size_bytes / target if target else 0.0


class _Chooser:
    """One call of `choose`: candidates of each kind, the most pressing first; not all of them are free."""

    def __init__(
        self, policy: LeveledPolicy, levels: Levels, busy: frozenset[int], garbage: GarbageRules
    ) -> None:
        self._policy = policy
        self._levels = levels
        self._busy = busy
        self._garbage = garbage
        self._last = len(levels) - 1
        self._base_level = policy.targets(levels).base_level

    def size_plans(self) -> Iterator[CompactionPlan]:
        """For levels past their target."""
        pressures = enumerate(self._policy.pressures(self._levels, self._busy))
        for level, pressure in sorted(pressures, key=lambda pair: -pair[1]):
            if pressure < 1.0:
                return
            for sources in self._choices_of(level):
                yield self._down(sources, level, self._size_reason(level, pressure), pressure)

    def tombstone_plans(self) -> Iterator[CompactionPlan]:
        """For deletions that hold space: their own, and that of what they hide."""
        l0 = self._levels[0]
        if (reason := self._garbage.ripeness(l0)) and self._is_worth_it(l0):
            yield self._down(l0, 0, f"L0 {reason}")
        for level, run in enumerate(self._levels[1 : self._last], start=1):
            for table in run:
                if reason := self._garbage.ripeness((table,)):
                    yield self._down((table,), level, f"table {table.number} {reason}")
        for table in filter(self._garbage.is_worth_rewriting, self._levels[self._last]):
            yield plan_merge(self._levels, (table,), self._last, reason=f"table {table.number} has garbage")

    def joining_plans(self) -> Iterator[CompactionPlan]:
        """For small neighbours in the last level, as moves out of many short sessions leave them."""
        return joining_plans(self._levels, self._last, self._policy.table_bytes_max)

    def _choices_of(self, level: int) -> Iterable[Run]:
        """What to take from a level: all of L0, as its tables overlap; elsewhere one table, best first."""
        if level == 0:
            return [self._levels[0]]
        beneath = self._levels[self._output_level(level)]

        def cost(table: TableMeta) -> tuple[float, bytes]:
            rewritten = level_bytes(overlapping(beneath, table.smallest, table.largest))
            return rewritten / max(1, table.size_bytes), table.smallest

        return [(table,) for table in sorted(self._levels[level], key=cost) if table.number not in self._busy]

    def _size_reason(self, level: int, pressure: float) -> str:
        if level == 0:
            return f"L0 has {len(self._levels[0])} tables of {self._policy.l0_tables_max}"
        if level < self._base_level:
            return f"L{level} is not needed"
        return f"L{level} is at {pressure:.2f} of its target"

    def _is_worth_it(self, l0: Run) -> bool:
        """Whether the tombstones of L0 cannot wait for L0 to fill, or may free much of what is rewritten."""
        if any(map(self._garbage.is_old, l0)):
            return True
        beneath = overlapping(self._levels[self._output_level(0)], *key_range(l0))
        tombstones = sum(table.tombstones for table in l0)
        return tombstones * self._policy.level_ratio >= sum(table.entries for table in beneath)

    def _down(self, sources: Run, level: int, reason: str, score: float = 0.0) -> CompactionPlan:
        rules = MoveRules(
            oldest_snapshot=self._garbage.oldest_snapshot,
            grandparent_bytes_max=GRANDPARENT_TABLES_MAX * self._policy.table_bytes_max,
        )
        return plan_down(self._levels, sources, self._output_level(level), rules, reason=reason, score=score)

    def _output_level(self, level: int) -> int:
        """The next level that has tables, but no deeper than the base level: nothing may be jumped over."""
        below = level + 1
        while below < self._base_level and not self._levels[below]:
            below += 1
        return below
