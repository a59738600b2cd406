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

    @property
    def base_bytes(self) -> int:
        """How large the base level of a leveled tree may be.

        Three times L0 keeps the write amplifications of both low.
        """
        return max(self.table_bytes_max, 3 * self.l0_tables_max * self.memtable_bytes)

    @property
    def upper_bytes_min(self) -> int:
        """How large a level of a leveled tree is at least, but for the last two: half as much again as L0.

        A smaller one is filled and emptied by every merge of L0 and saves nothing; and a small part of
        the data is so little that its space does not matter.
        """
        return 3 * self.l0_tables_max * self.memtable_bytes // 2

    @property
    def flush_table_bytes_max(self) -> int:
        """Where tables of L0 are cut: hardly ever, since L0 is emptied by their number."""
        return max(self.table_bytes_max, 2 * self.memtable_bytes)

    def make_policy(self) -> Policy:
        """The policy with these settings."""
        if self.policy == "leveled":
            return LeveledPolicy(
                level_ratio=self.level_ratio,
                l0_tables_max=self.l0_tables_max,
                base_bytes=self.base_bytes,
                upper_bytes_min=min(self.upper_bytes_min, self.base_bytes),
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
