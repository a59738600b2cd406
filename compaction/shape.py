"""Which policy, with settings that follow from those of a store; the store and the simulator share this."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from compaction.lazy import LazyPolicy
from compaction.leveled import LeveledPolicy
from compaction.policy import Policy
from compaction.tiered import TieredPolicy

PolicyName: TypeAlias = Literal["leveled", "tiered", "lazy"]

MIB = 1024 * 1024
LEVELS_MAX = 64
"""What a manifest takes: with tiers, every run has a level of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Settings of a store that decide over its tree."""

    policy: PolicyName = "leveled"
    level_ratio: int = 10
    levels_max: int = 7
    l0_tables_max: int = 4
    memtable_bytes: int = 16 * MIB
    """Log bytes after which a memtable is flushed."""
    table_bytes_max: int = 32 * MIB
    tombstone_age_seconds: float = 24 * 3600.0

    def make_policy(self) -> Policy:
        """The policy with these settings."""
        if self.policy == "leveled":
            return LeveledPolicy(
                level_ratio=self.level_ratio,
                l0_tables_max=self.l0_tables_max,
                # A base level of four times L0 keeps both of their write amplifications low.
                base_bytes=max(self.table_bytes_max, 4 * self.l0_tables_max * self.memtable_bytes),
                table_bytes_max=self.table_bytes_max,
                levels_max=self.levels_max,
                tombstone_age_seconds=self.tombstone_age_seconds,
            )
        return (LazyPolicy if self.policy == "lazy" else TieredPolicy)(
            level_ratio=self.level_ratio,
            l0_tables_max=self.l0_tables_max,
            run_bytes_min=self.memtable_bytes,
            table_bytes_max=self.table_bytes_max,
            levels_max=min(LEVELS_MAX, self.levels_max * self.level_ratio),
            tombstone_age_seconds=self.tombstone_age_seconds,
        )
