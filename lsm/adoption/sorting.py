"""Rows in any order become staged tables of disjoint ranges, in bounded memory.

Rows are gathered up to a limit, sorted on columns and written as a run of tables.  Where runs overlap in
the end, they are merged; sorted rows never need that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from compaction import Outputs, merge, sort_columns, windows
from lsm.adoption.staging import STAGED_NUMBER, numbered
from lsm.errors import InvalidArgument
from lsm.fs_types import Cause
from sstable import Columns, Table, TableMeta, TableOptions, TableWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from compaction import Ordered
    from lsm.fs_types import AppendFile, FileSystem

Duplicates = Literal["error", "last"]
_PIECE_BYTES: Final = 4 * 1024 * 1024
_MERGE_BYTES: Final = 64 * 1024 * 1024
_WINDOW_BYTES: Final = 1024 * 1024
_ENTRY_BYTES: Final = 24
"""Sequence number, kind and two offsets of a row in memory, about."""


class DuplicateKey(InvalidArgument):
    """A key that comes twice in one load."""

    def __init__(self, key: bytes) -> None:
        super().__init__(f"key {key!r:.80} comes twice in this load; drop one, or say duplicates=last")


class StagedTable(NamedTuple):
    """A table on its way into a store."""

    name: str
    meta: TableMeta


Run = tuple[StagedTable, ...]
"""Tables of disjoint ranges, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staging:
    """Where and how tables are written for a store.

    With `is_ordered` the sequence numbers of the rows that come say which is the last of a key; they are
    kept in the tables, which a merge has to number before anybody can adopt them.
    """

    directory: FileSystem
    new_name: Callable[[], str]
    store_id: bytes
    options: TableOptions
    table_bytes_max: int
    time_us: int
    duplicates: Duplicates = "error"
    is_ordered: bool = False

    def write(self, batches: Iterable[Columns], *, is_final: bool) -> Run:
        """Write sorted rows, one of every key, as tables, durable but for their names."""
        sinks: list[_Sink] = []

        def create() -> _Sink:
            sinks.append(_Sink(self, is_final=is_final))
            return sinks[-1]

        outputs = Outputs(create, self.table_bytes_max)
        try:
            for columns in batches:
                outputs.add(columns)
            metas = outputs.finish()
        finally:
            for sink in sinks:
                sink.close()
        return tuple(StagedTable(sink.name, meta) for sink, meta in zip(sinks, metas, strict=True))


class _Sink:
    """A staged table being written."""

    def __init__(self, staging: Staging, *, is_final: bool) -> None:
        self.name = staging.new_name()
        self._is_final = is_final
        self._next_seq = 1
        self._file: AppendFile = staging.directory.create(self.name, Cause.FLUSH)
        self._writer = TableWriter(
            self._file,
            staging.options,
            number=STAGED_NUMBER,
            store_id=staging.store_id,
            time_us=staging.time_us,
        )

    @property
    def size_estimate(self) -> int:
        """About how large it would be if it were finished now."""
        return self._writer.size_estimate

    def add(self, columns: Columns) -> None:
        """Add rows."""
        self._writer.add(numbered(columns, self._next_seq) if self._is_final else columns)
        self._next_seq += len(columns)

    def finish(self) -> TableMeta:
        """Complete the file, durably."""
        meta = self._writer.finish()
        self._file.sync()
        return meta

    def close(self) -> None:
        """Give the handle back."""
        self._file.close()


class Sorter:
    """Takes rows in any order, and leaves tables of disjoint ranges."""

    def __init__(self, staging: Staging, chunk_bytes: int) -> None:
        self._staging = staging
        self._chunk_bytes = chunk_bytes
        self._waiting: list[Columns] = []
        self._waiting_bytes = 0
        self._runs: list[Run] = []

    def add(self, columns: Columns) -> None:
        """Take some rows; of one key, those that come later are newer."""
        if len(columns) == 0:
            return
        self._waiting.append(columns)
        self._waiting_bytes += columns.key_bytes + columns.value_bytes + _ENTRY_BYTES * len(columns)
        if self._waiting_bytes >= self._chunk_bytes:
            self._write_run()

    def finish(self, *, is_final: bool = True) -> Run:
        """Write what waits; return all tables, by key.

        Without `is_final`, rows with an order of their own are not numbered yet: they are to be merged.
        """
        self._write_run()
        if is_final or len(self._runs) > 1:
            return merged(self._staging, self._runs, is_final=is_final)
        return self._runs[0] if self._runs else ()

    def _write_run(self) -> None:
        if self._waiting:
            columns = Columns.concat(self._waiting)
            self._waiting, self._waiting_bytes = [], 0
            batches = _sorted(columns, self._staging)
            self._runs.append(self._staging.write(batches, is_final=not self._staging.is_ordered))


def _sorted(columns: Columns, staging: Staging) -> Iterator[Columns]:
    """Yield rows by key, one of every key, a piece at a time."""
    arrived = np.arange(1, len(columns) + 1, dtype=np.uint64)
    ranks = arrived
    if staging.is_ordered:
        ranks = np.empty_like(arrived)
        ranks[np.argsort(columns.seqs, kind="stable")] = arrived
    ordered = sort_columns(replace(columns, seqs=ranks))
    positions = ordered.positions[_kept(ordered, staging)]
    size_bytes = columns.key_bytes + columns.value_bytes + _ENTRY_BYTES * len(columns)
    step = max(1, _PIECE_BYTES * len(columns) // size_bytes)
    for start in range(0, len(positions), step):
        yield columns.take(positions[start : start + step])


def _kept(ordered: Ordered, staging: Staging) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark the newest row of every key; raise if that is not the only one, and it has to be."""
    if staging.duplicates == "error" and not ordered.key_starts.all():
        raise DuplicateKey(ordered.key(int(np.flatnonzero(~ordered.key_starts)[0])))
    return ordered.key_starts


def merged(staging: Staging, runs: Sequence[Run], *, is_final: bool = True) -> Run:
    """Return the tables of all runs, oldest first, as one run; those that overlap are merged."""
    tables: list[StagedTable] = []
    for overlapping in _clusters(runs):
        together = [table for run in overlapping for table in run]
        if len(overlapping) == 1 and not (staging.is_ordered and is_final):
            tables += together
            continue
        tables += staging.write(_merging(staging, overlapping), is_final=is_final or not staging.is_ordered)
        for table in together:
            staging.directory.unlink(table.name)
    return tuple(tables)


def _clusters(runs: Sequence[Run]) -> Iterator[list[list[StagedTable]]]:
    """Yield what overlaps together, by key: of each run the tables that are part of it, oldest first."""
    everything = sorted(
        (table.meta.smallest, number, table) for number, run in enumerate(runs) for table in run
    )
    members: dict[int, list[StagedTable]] = {}
    largest = b""
    for smallest, number, table in everything:
        if members and smallest > largest:
            yield [members[run] for run in sorted(members)]
            members, largest = {}, b""
        members.setdefault(number, []).append(table)
        largest = max(largest, table.meta.largest)
    if members:
        yield [members[run] for run in sorted(members)]


def _merging(staging: Staging, runs: Sequence[Sequence[StagedTable]]) -> Iterator[Columns]:
    newest_first = [
        [_Input(staging, table, None if staging.is_ordered else rank) for table in run]
        for rank, run in reversed(list(enumerate(runs, start=1)))
    ]
    window_bytes = min(_WINDOW_BYTES, max(1, _MERGE_BYTES // len(runs)))
    for window in windows(newest_first, window_bytes):
        ordered = merge(window)
        yield ordered.take(_kept(ordered, staging))


class _Input:
    """A staged table as a merge reads it: opened when it is its turn."""

    def __init__(self, staging: Staging, table: StagedTable, rank: int | None) -> None:
        self.meta = table.meta
        self._directory = staging.directory
        self._name = table.name
        self._rank = rank

    def columns(self) -> Iterator[Columns]:
        """Yield all rows; those of a newer run have the greater number."""
        file = self._directory.open(self._name)
        try:
            table = Table(file, self.meta, name=f"{self._directory.name}/{self._name}")
            for columns in table.columns():
                if self._rank is None:
                    yield columns
                else:
                    yield replace(columns, seqs=np.full(len(columns), self._rank, np.uint64))
        finally:
            file.close()
