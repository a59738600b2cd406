"""Where adopted tables go: as deep as nothing older lies above or beside them."""

from compaction import Levels
from sstable import TableMeta


def level_for(levels: Levels, table: TableMeta, levels_max: int) -> int:
    """Return the deepest level at which a table, newer than all others, is found before older entries."""
    used = [level for level, tables in enumerate(levels) if tables and level > 0]
    deepest = max(used, default=levels_max - 1)
    for level in range(deepest + 1):
        tables = levels[level] if level < len(levels) else ()
        if any(other.smallest <= table.largest and table.smallest <= other.largest for other in tables):
            return max(0, level - 1)
    return deepest
