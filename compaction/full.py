"""Manual compaction: everything in a range of keys, down to the lowest level that is in use."""

from itertools import dropwhile, takewhile

from compaction.levels import Levels, key_range, overlaps, reclaimable
from compaction.plan import CompactionPlan, MoveRules, plan_down, plan_merge
from sstable import TableMeta


def plan_full(
    levels: Levels,
    start: bytes | None = None,
    stop: bytes | None = None,
    *,
    oldest_snapshot: int | None = None,
) -> CompactionPlan | None:
    """The next plan of a manual compaction of start <= key < stop, or None when nothing is to be gained.

    Called with the levels after each plan until it answers None: first all that lies above the
    lowest level comes down, then what is there is rewritten where it holds tombstones or shadowed
    entries that no snapshot protects.  To leave out what arrives meanwhile, hand in levels without
    the newest tables of L0.
    """
    lowest = max((level for level, run in enumerate(levels) if run and level > 0), default=len(levels) - 1)
    above = _with_overlapping(levels[:lowest], _inside(levels[:lowest], start, stop))
    if above:
        # The lowest level has no grandparents that a moved table could lie over.
        rules = MoveRules(oldest_snapshot=oldest_snapshot, grandparent_bytes_max=0)
        return plan_down(levels, above, lowest, rules, reason="asked for")

    def is_garbage(table: TableMeta) -> bool:
        return reclaimable(table, oldest_snapshot) > 0

    # Neighbours only: a table made of two that are apart would lie over those between them.
    rest = dropwhile(lambda table: not is_garbage(table), _inside(levels[lowest:], start, stop))
    garbage = list(takewhile(is_garbage, rest))
    return plan_merge(levels, garbage, lowest, reason="asked for") if garbage else None


def _inside(levels: Levels, start: bytes | None, stop: bytes | None) -> list[TableMeta]:
    return [
        table
        for tables in levels
        for table in tables
        if (start is None or start <= table.largest) and (stop is None or table.smallest < stop)
    ]


def _with_overlapping(levels: Levels, tables: list[TableMeta]) -> list[TableMeta]:
    """`tables` and all that overlap them, and so on: no entry may sink below an older one of its key."""
    while tables:
        smallest, largest = key_range(tables)
        grown = [table for run in levels for table in run if overlaps(table, smallest, largest)]
        if len(grown) == len(tables):
            break
        tables = grown
    return tables
