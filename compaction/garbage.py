"""When tombstones and shadowed entries are reason enough for a compaction, whatever the sizes of levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from compaction.levels import reclaimable
from sstable import TableMeta


class Limits(Protocol):
    """A policy, as far as garbage is concerned."""

    @property
    def tombstone_share(self) -> float: ...
    @property
    def tombstone_age_seconds(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageRules:
    """What counts as much and as old, at one moment."""

    share: float
    age_seconds: float
    now_us: int
    oldest_snapshot: int | None

    @classmethod
    def of(cls, limits: Limits, now_us: int, oldest_snapshot: int | None) -> "GarbageRules":
        """The rules of a policy at this moment."""
        return cls(
            share=limits.tombstone_share,
            age_seconds=limits.tombstone_age_seconds,
            now_us=now_us,
            oldest_snapshot=oldest_snapshot,
        )

    def ripeness(self, tables: Sequence[TableMeta]) -> str | None:
        """What about the tombstones of `tables` asks for bringing them down, if anything does."""
        # Where a snapshot still protects them, tombstones would be carried down for nothing.
        droppable = [table for table in tables if table.tombstones and self.reclaimable(table)]
        if not droppable:
            return None
        if any(map(self.is_old, droppable)):
            return f"has a tombstone older than {self.age_seconds:g} s"
        share = sum(table.tombstones for table in droppable) / sum(table.entries for table in tables)
        return f"is {share:.0%} tombstones" if share >= self.share else None

    def is_worth_rewriting(self, table: TableMeta) -> bool:
        """Whether a table that has nothing below it holds what only a snapshot, since released, had kept."""
        least = 1 if table.tombstones else self.share * table.entries
        return self.reclaimable(table) >= least

    def is_old(self, table: TableMeta) -> bool:
        """Whether a tombstone of `table` has waited for too long."""
        age_us = self.now_us - table.oldest_tombstone_time
        return table.oldest_tombstone_time > 0 and age_us >= self.age_seconds * 1_000_000

    def reclaimable(self, table: TableMeta) -> int:
        """How many entries a rewrite would drop, as far as is known."""
        return reclaimable(table, self.oldest_snapshot)
