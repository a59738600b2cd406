"""Lazy leveling: one large run at the bottom, and above it tiers that together stay a small part of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.levels import Levels, level_bytes
from compaction.plan import CompactionPlan
from compaction.runs import RunPlans, Tier, tiers, used_levels
from compaction.tiered import TieredPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyPolicy(TieredPolicy):
    """Tiered, but what is above the last run is merged into it when it has grown to a `level_ratio`-th of it.

    compaction/DESIGN.md has its rules and their reasons.
    """

    def tiers(self, levels: Levels) -> list[Tier]:
        """The runs above the last one by size, newest first."""
        return tiers(levels, used_levels(levels)[:-1], self.level_ratio, self.run_bytes_min)

    def _size_plans(self, runs: RunPlans) -> Iterator[CompactionPlan]:
        """Into the last run if there is enough for it; else L0 and full tiers, as in tiered compaction."""
        above = runs.used[:-1]
        l0_score = len(runs.levels[0]) / self.l0_tables_max
        # A full L0 goes along rather than becoming a run for a moment.
        sources = (0, *above) if l0_score >= 1 else above
        if runs.used and sources and self._is_enough(runs, sources):
            reason = f"what is above L{runs.used[-1]} has grown to one part in {self.level_ratio} of it"
            yield runs.into_last(sources, reason=reason, score=max(l0_score, 1.0))
        # Not `super()`: a dataclass with slots is made anew, and the name would mean the one before.
        yield from TieredPolicy._size_plans(self, runs)

    def _is_enough(self, runs: RunPlans, sources: tuple[int, ...]) -> bool:
        """Whether the levels `sources` are worth rewriting the last run for."""
        last_bytes = level_bytes(runs.levels[runs.used[-1]])
        return self.level_ratio * level_bytes(runs.tables(sources)) >= last_bytes
