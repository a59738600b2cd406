"""Small neighbours of a run become one table, or short sessions would leave one table each for ever."""

from collections.abc import Iterator

from compaction.levels import Levels
from compaction.plan import CompactionPlan, plan_merge
from sstable import TableMeta

SMALL_TABLES = 8
"""So many neighbours that fit one table together are joined."""
_ENTRY_BYTES_MAX = 20
"""What sequence number, offsets, filter and hash index may add to an entry."""


def joining_plans(levels: Levels, level: int, table_bytes_max: int) -> Iterator[CompactionPlan]:
    """Plans to join small neighbours of one level in place."""
    run = levels[level]
    for start in range(len(run) - SMALL_TABLES + 1):
        tables = run[start : start + SMALL_TABLES]
        sizes = [bytes_while_written(table) for table in tables]
        # With none above half, what an entry is rewritten into at least doubles each time.
        if sum(sizes) <= table_bytes_max and 2 * max(sizes) <= sum(sizes):
            yield plan_merge(levels, tables, level, reason="small tables side by side")


def bytes_while_written(table: TableMeta) -> int:
    """What a table may count for while it is written, when part of it is not compressed yet.

    Outputs are cut by that: tables that are small only on disk would come out as many as they went in.
    """
    return max(table.size_bytes, table.key_bytes + table.value_bytes + _ENTRY_BYTES_MAX * table.entries)
