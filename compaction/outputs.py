"""Sorted entries become tables: where one ends and the next begins."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Protocol

import numpy as np

from compaction.levels import Run
from compaction.plan import GRANDPARENT_TABLES_MAX
from compaction.result import CompactionError
from sstable import Columns, TableMeta

# A table is full when less than this share of it is left: compressed data would fill it by ever
# smaller pieces.
FULL_SHARE = 16

BORDER_SHARE = 8
"""A table above the last level ends at the first border of the level below from this part of its size on.

Then it lies over whole tables, none of which its own merge rewrites for the sake of a neighbour's keys.
"""


class TableSink(Protocol):
    """A table being written.  Whoever makes sinks also removes what a failed job leaves of them."""

    @property
    def size_estimate(self) -> int: ...

    def add(self, columns: Columns) -> None: ...

    def finish(self) -> TableMeta:
        """Complete the file, durably, and close it."""


class Outputs:
    """The tables of one job, one after the other; all entries of a key stay in one table."""

    def __init__(self, create: Callable[[], TableSink], table_bytes_max: int, grandparents: Run = ()) -> None:
        self.entries = 0
        self._create = create
        self._table_bytes_max = table_bytes_max
        self._grandparents = grandparents
        self._tables: list[TableMeta] = []
        self._sink: TableSink | None = None
        self._stop: bytes | None = None
        self._is_at_border = False
        self._last_key: bytes | None = None
        self._written_key = b""

    def add(self, columns: Columns) -> None:
        """Write sorted entries, whose keys are all above those written before."""
        if len(columns) == 0:
            return
        if self._last_key is not None and columns.key(0) <= self._last_key:
            raise CompactionError(f"key {columns.key(0)!r:.60} comes after {self._last_key!r:.60}")
        self._last_key = columns.key(len(columns) - 1)
        self.entries += len(columns)
        while len(columns):
            sink = self._sink_for(columns.key(0))
            count = self._fitting(columns, self._room(sink))
            sink.add(columns.slice(0, count))
            self._written_key = columns.key(count - 1)
            columns = columns.slice(count, len(columns))

    def finish(self) -> tuple[TableMeta, ...]:
        """Complete the last table; return all, in key order."""
        self._finish_table()
        return tuple(self._tables)

    def _sink_for(self, key: bytes) -> TableSink:
        """The current table if it takes `key`, else a new one."""
        if self._sink is not None and not self._is_at_border and self._has_body(self._sink):
            self._stop = earlier(self._stop, next_border(self._grandparents, self._written_key))
            self._is_at_border = True
        is_past = self._stop is not None and key >= self._stop
        if self._sink is not None and (is_past or self._is_full(self._sink)):
            self._finish_table()
        if self._sink is None:
            self._sink = self._create()
            self._stop = grandparents_stop(self._grandparents, key, self._table_bytes_max)
            self._is_at_border = not self._grandparents
        return self._sink

    def _finish_table(self) -> None:
        if self._sink is not None:
            self._tables.append(self._sink.finish())
            self._sink = None

    def _room(self, sink: TableSink) -> int:
        """What to add before looking again where the table ends."""
        size = self._table_bytes_max if self._is_at_border else self._table_bytes_max // BORDER_SHARE
        return size - sink.size_estimate

    def _has_body(self, sink: TableSink) -> bool:
        """Whether the table is large enough to end at a border."""
        return sink.size_estimate >= body_bytes(self._table_bytes_max)

    def _is_full(self, sink: TableSink) -> bool:
        return self._table_bytes_max - sink.size_estimate <= self._table_bytes_max // FULL_SHARE

    def _fitting(self, columns: Columns, room: int) -> int:
        """How many entries to add to a table with `room` bytes left: whole keys, at least one."""
        count = len(columns)
        keys = range(count)
        if columns.key_bytes + columns.value_bytes > room:
            ends = (columns.key_offsets[1:] - columns.key_offsets[0]).astype(np.int64)
            ends += columns.value_offsets[1:] - columns.value_offsets[0]
            last = max(0, int(np.searchsorted(ends, room, side="right")) - 1)
            count = bisect_right(keys, columns.key(last), lo=last, key=columns.key)
        if self._stop is not None and columns.key(count - 1) >= self._stop:
            count = bisect_left(keys, self._stop, hi=count, key=columns.key)
        return count


def body_bytes(table_bytes_max: int) -> int:
    """How large a table must be to end at a border: nearly, as with `FULL_SHARE`, and for the same reason."""
    least = table_bytes_max // BORDER_SHARE
    return least - least // FULL_SHARE


def earlier(one: bytes | None, other: bytes | None) -> bytes | None:
    """The earlier of two stops, of which None is none."""
    return min((stop for stop in (one, other) if stop is not None), default=None)


def next_border(grandparents: Run, key: bytes) -> bytes | None:
    """Where the first table of the level below begins that is wholly behind `key`."""
    at = bisect_right(grandparents, key, key=lambda table: table.smallest)
    return grandparents[at].smallest if at < len(grandparents) else None


def grandparents_stop(grandparents: Run, key: bytes, table_bytes_max: int) -> bytes | None:
    """Where a table that begins at `key` must end not to lie over too much of the level below."""
    bytes_left = GRANDPARENT_TABLES_MAX * table_bytes_max
    first = bisect_left(grandparents, key, key=lambda table: table.largest)
    for table in grandparents[first:]:
        bytes_left -= table.size_bytes
        if bytes_left < 0 and table.smallest > key:
            return table.smallest
    return None
