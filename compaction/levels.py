"""The tree as a policy sees it: facts of tables, level by level."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from sstable import TableMeta

Run: TypeAlias = tuple[TableMeta, ...]
"""Tables of disjoint key ranges, in key order, that act as one."""

Levels: TypeAlias = tuple[Run, ...]
"""L0 newest first, its tables may overlap; every deeper level is a run."""

KeyRange: TypeAlias = tuple[bytes, bytes]
"""Smallest and largest key, both included."""


def level_bytes(tables: Iterable[TableMeta]) -> int:
    """Bytes on disk of all `tables`."""
    return sum(table.size_bytes for table in tables)


def key_range(tables: Iterable[TableMeta]) -> KeyRange:
    """The range from the smallest to the largest key of at least one table."""
    smallests, largests = zip(*((table.smallest, table.largest) for table in tables), strict=True)
    return min(smallests), max(largests)


def overlapping(run: Run, smallest: bytes, largest: bytes) -> Run:
    """The tables of a run that may hold a key from `smallest` to `largest`."""
    start = bisect_left(run, smallest, key=lambda table: table.largest)
    stop = bisect_right(run, largest, key=lambda table: table.smallest)
    return run[start:stop]


def overlaps(table: TableMeta, smallest: bytes, largest: bytes) -> bool:
    """Whether `table` may hold a key from `smallest` to `largest`."""
    return table.smallest <= largest and smallest <= table.largest


def is_run(tables: Sequence[TableMeta]) -> bool:
    """Whether `tables` are in key order and share no key."""
    return all(left.largest < right.smallest for left, right in pairwise(tables))


def as_run(tables: Iterable[TableMeta]) -> Run:
    """`tables` in key order."""
    return tuple(sorted(tables, key=lambda table: table.smallest))


def newest_seq(table: TableMeta) -> int:
    """The largest sequence number that readers of `table` see."""
    return table.max_seq + table.seq_base


def reclaimable(table: TableMeta, oldest_snapshot: int | None) -> int:
    """How many entries a rewrite is sure to drop where no deeper table holds the keys.

    That is none while a snapshot is older than something in the table: the table's facts do not
    say which entries the snapshot needs.
    """
    if oldest_snapshot is not None and newest_seq(table) > oldest_snapshot:
        return 0
    # A tombstone may also be shadowed, so the two counts must not be added.
    return max(table.tombstones, table.entries - table.distinct_keys)


def united(ranges: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """The same keys as disjoint ranges in key order."""
    result: list[KeyRange] = []
    for smallest, largest in sorted(ranges):
        if result and smallest <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], largest))
        else:
            result.append((smallest, largest))
    return tuple(result)


def replaced(levels: Levels, removed: frozenset[int], level: int, added: Iterable[TableMeta]) -> Levels:
    """`levels` without the tables numbered in `removed` and with `added` in `level`, which is not L0."""
    assert 0 < level < len(levels)
    kept = [tuple(table for table in tables if table.number not in removed) for tables in levels]
    kept[level] = as_run((*kept[level], *added))
    return tuple(kept)


def check_levels(levels: Levels) -> None:
    """Raise ValueError, with the place, if `levels` cannot be the state of a tree."""
    numbers = [table.number for tables in levels for table in tables]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"a table stands in the levels twice: numbers {sorted(numbers)}")
    for l0 in levels[:1]:
        for newer, older in pairwise(l0):
            if newest_seq(newer) < newest_seq(older):
                raise ValueError(f"L0 is not newest first: table {newer.number} stands above {older.number}")
    for level, run in enumerate(levels[1:], start=1):
        for left, right in pairwise(run):
            if left.largest >= right.smallest:
                raise ValueError(f"L{level} is not a run: table {left.number} stands before {right.number}")
