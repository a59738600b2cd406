"""The tables of a store by level, for the map of the levels."""

from collections.abc import Sequence

import lsm


def level_rows(tables: Sequence[lsm.TableInfo]) -> list[dict[str, object]]:
    """Return tables for the result file, by level; keys as hexadecimal text."""
    return [
        {
            "level": level,
            "target_bytes": None,
            "tables": [_row(table) for table in tables if table.level == level],
        }
        for level in sorted({table.level for table in tables})
    ]


def _row(table: lsm.TableInfo) -> dict[str, object]:
    return {
        "number": table.number,
        "smallest": table.smallest.hex(),
        "largest": table.largest.hex(),
        "size_bytes": table.size_bytes,
        "entries": table.entries,
        "tombstones": table.tombstones,
    }
