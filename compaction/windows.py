"""Runs are read side by side, a window of keys at a time: memory is bounded however large the tables are."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from compaction.result import CompactionError
from sstable import Columns, TableMeta

_ENTRY_BYTES = 24
"""Sequence number, kind and two offsets of an entry in memory, about."""


class InputTable(Protocol):
    """All that a merge asks of a table."""

    @property
    def meta(self) -> TableMeta: ...

    def columns(self) -> Iterator[Columns]:
        """All entries, in order and in batches; entries of one key are in one batch."""


def windows(runs: Sequence[Sequence[InputTable]], window_bytes: int) -> Iterator[list[Columns]]:
    """Yield all entries of `runs`, window after window; in each, batches come run after run.

    A window ends at the smallest of the runs' last keys that are loaded: up to there, and no
    further, nothing of any run is missing.
    """
    cursors = [_Cursor(run) for run in runs]
    while True:
        for cursor in cursors:
            cursor.load(window_bytes)
        cursors = [cursor for cursor in cursors if cursor.loaded]
        if not cursors:
            return
        last = min(cursor.last_key for cursor in cursors)
        window = [batch for cursor in cursors for batch in cursor.take(last)]
        # A run in order can always give what is loaded up to its own last key.
        if not window:
            raise CompactionError(f"the keys of a run do not rise towards {last!r:.60}")
        yield window


class _Cursor:
    """One run, some batches of it loaded ahead."""

    def __init__(self, run: Sequence[InputTable]) -> None:
        self.loaded: deque[Columns] = deque()
        self._loaded_bytes = 0
        self._batches = (batch for table in run for batch in table.columns() if len(batch))

    @property
    def last_key(self) -> bytes:
        """The last key that is loaded."""
        return _last_key(self.loaded[-1])

    def load(self, window_bytes: int) -> None:
        """Load batches until there are `window_bytes` of them, or no more."""
        while self._loaded_bytes < window_bytes and (batch := next(self._batches, None)) is not None:
            self.loaded.append(batch)
            self._loaded_bytes += _size(batch)

    def take(self, last: bytes) -> list[Columns]:
        """Give away what is loaded of keys up to `last`."""
        taken = []
        while self.loaded and self.loaded[0].key(0) <= last:
            batch = self.loaded.popleft()
            count = len(batch)
            if _last_key(batch) > last:
                count = bisect_right(range(count), last, key=batch.key)
                self.loaded.appendleft(batch.slice(count, len(batch)))
            taken.append(batch.slice(0, count))
        self._loaded_bytes -= sum(map(_size, taken))
        return taken


def _last_key(batch: Columns) -> bytes:
    return batch.key(len(batch) - 1)


def _size(batch: Columns) -> int:
    return batch.key_bytes + batch.value_bytes + _ENTRY_BYTES * len(batch)
