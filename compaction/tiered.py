"""Tiered compaction: runs wait until there are `level_ratio` of similar size, and are merged all at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from compaction.garbage import GarbageRules
from compaction.levels import Levels
from compaction.plan import BusyRanges, CompactionPlan
from compaction.policy import check_settings, padded
from compaction.runs import RunPlans, Tier, tiers, used_levels

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredPolicy:
    """Few writes, many runs; compaction/DESIGN.md has its rules and their reasons."""

    level_ratio: int = 10
    """So many runs of similar size are merged into one."""
    l0_tables_max: int = 4
    run_bytes_min: int = 16 * MIB
    """Smaller runs count as this large: about what a memtable becomes."""
    table_bytes_max: int = 32 * MIB
    """Where outputs are cut; whoever runs the plans must cut them there."""
    levels_max: int = 64
    """Every run takes a level: with fewer than there should be runs, more is rewritten."""
    tombstone_share: float = 0.5
    """A table with this share of tombstones is compacted before its turn, if that may free a good part."""
    tombstone_age_seconds: float = 24 * 3600.0
    """A tombstone older than this is brought to the bottom even if it is the only one."""

    def __post_init__(self) -> None:
        check_settings(self, "l0_tables_max", "run_bytes_min", "table_bytes_max")

    def choose(
        self, levels: Levels, busy: frozenset[int], now_us: int, oldest_snapshot: int | None = None
    ) -> CompactionPlan | None:
        """The most pressing compaction, or None if every tier has room and is free of garbage."""
        levels = padded(levels, self.levels_max)
        garbage = GarbageRules.of(self, now_us, oldest_snapshot)
        runs = RunPlans(levels, garbage, ratio=self.level_ratio, table_bytes_max=self.table_bytes_max)
        plans = chain(self._size_plans(runs), runs.tombstone_plans(), runs.joining_plans())
        return next(filter(BusyRanges(levels, busy).leave_free, plans), None)

    def tiers(self, levels: Levels) -> list[Tier]:
        """The runs by size, newest first."""
        return tiers(levels, used_levels(levels), self.level_ratio, self.run_bytes_min)

    def _size_plans(self, runs: RunPlans) -> Iterator[CompactionPlan]:
        """L0 and tiers that are full, the fullest first."""
        full = [tier for tier in self.tiers(runs.levels) if len(tier.levels) >= self.level_ratio]
        l0_score = len(runs.levels[0]) / self.l0_tables_max
        scores = [(l0_score, None), *((len(tier.levels) / self.level_ratio, tier) for tier in full)]
        for score, tier in sorted(scores, key=lambda pair: -pair[0]):
            if tier is not None:
                yield self._merged_tier(runs, tier, score)
            elif score >= 1:
                yield from runs.emptying_l0(reason=self._l0_reason(runs.levels), score=score)

    def _merged_tier(self, runs: RunPlans, tier: Tier, score: float) -> CompactionPlan:
        first, last = tier.levels[0], tier.levels[-1]
        reason = f"L{first} to L{last} are {len(tier.levels)} runs of similar size"
        return runs.merged(tier.levels, reason=reason, score=score)

    def _l0_reason(self, levels: Levels) -> str:
        return f"L0 has {len(levels[0])} tables of {self.l0_tables_max}"
