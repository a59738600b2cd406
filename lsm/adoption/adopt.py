"""Taking staged tables over: one edit, one range of sequence numbers, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from compaction import merge, windows
from lsm.adoption.levels import level_for
from lsm.adoption.staging import StagedTables, stage_columns, take_in
from lsm.errors import InvalidArgument
from lsm.filenames import table_name
from lsm.history import JobRecord
from lsm.version import SegmentMeta, TableChange, Version, VersionEdit
from lsm.work import Work
from sstable import Columns, Kind, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lsm.background import Background
    from lsm.commit_whole import StoreCommitter
    from lsm.fs_types import FileSystem
    from lsm.state import State
    from sstable import TableMeta

_WINDOW_BYTES = 1024 * 1024
TRANSACTION_NAME_BYTES_MAX = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is to be loaded: staged tables, by name in their directory.

    With `replaces` every key that is there already and does not come again is deleted.  A `transaction` is a
    name and a number: a load whose number is not above the last one of that name was there before.
    """

    source: FileSystem
    names: tuple[str, ...]
    keyspace: int
    replaces: bool = False
    transaction: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What became of a load: the sequence numbers that its rows have, none if it was there before."""

    first_seq: int
    last_seq: int
    tables: int
    is_new: bool


def adopt(state: State, committer: StoreCommitter, background: Background, load: Load) -> Adopted:
    """Take staged tables over; they are part of the store, durably, when this returns."""
    name = "-" if load.transaction is None else load.transaction[0]
    if not 0 < len(name.encode()) <= TRANSACTION_NAME_BYTES_MAX:
        raise InvalidArgument(f"a transaction's name has 1 to {TRANSACTION_NAME_BYTES_MAX} bytes")
    state.check_leads()
    if _was_there(state.version, load):
        return Adopted(first_seq=0, last_seq=0, tables=0, is_new=False)
    first_number = state.new_number(len(load.names))
    numbers = range(first_number, first_number + len(load.names))
    staged = take_in(load.source, load.names, state.fs, numbers, state.version.store_id)
    adoption = _Adoption(state, load, staged)
    started = state.clock.monotonic()
    try:
        if len(staged.metas) > state.options.l0_tables_max and not load.replaces:
            _make_room(state, background, load.keyspace, staged)
        committer.adopt(background.wait_for_flush, adoption.edit_at)
    finally:
        adoption.remove_unused()
    adopted = adoption.adopted()
    if adopted.is_new:
        background.jobs.history.add(adoption.record(started))
    return adopted


def _was_there(version: Version, load: Load) -> bool:
    if load.transaction is None:
        return False
    name, number = load.transaction
    return version.transactions.get(name, -1) >= number


def _make_room(state: State, background: Background, keyspace: int, staged: StagedTables) -> None:
    """Bring what lies under a large load into one level, so that the load need not go to L0."""
    levels = state.levels(keyspace)
    if any(level_for(levels, meta, state.options.levels_max) == 0 for meta in staged.metas):
        stop = staged.metas[-1].largest + b"\0"
        background.compact_range(keyspace, staged.metas[0].smallest, stop)


class _Adoption:
    """One load while it is being taken over."""

    def __init__(self, state: State, load: Load, staged: StagedTables) -> None:
        self._state = state
        self._load = load
        self._staged = staged
        self._made = [meta.number for meta in staged.metas]
        self._segment: SegmentMeta | None = None
        self._level = 0  # the deepest that a table went to

    def edit_at(self, first_seq: int) -> VersionEdit | None:
        """Return the edit that puts the load in force with the numbers from `first_seq` on; None for no rows.

        Nothing is in memory and nobody writes while this runs.
        """
        state, load = self._state, self._load
        if load.keyspace not in state.version.keyspaces:
            raise InvalidArgument("the keyspace was dropped while a load for it was under way")
        if _was_there(state.version, load):
            return None
        staged = self._staged.numbered_from(first_seq)
        deleted = self._deletions(staged, first_seq + staged.entries) if load.replaces else ()
        tables = (*staged.metas, *deleted)
        transactions = {} if load.transaction is None else dict([load.transaction])
        if not tables:
            return VersionEdit(transactions=transactions) if transactions else None
        self._segment = SegmentMeta(
            number=state.new_number(),
            first_seq=first_seq,
            last_seq=first_seq + sum(meta.entries for meta in tables) - 1,
            size_bytes=sum(meta.size_bytes for meta in tables),
            last_time_us=state.clock.now_us(),
            keyspace=load.keyspace,
            tables=tables,
        )
        return VersionEdit(
            flushed_seq=self._segment.last_seq,
            segments_added=(self._segment,),
            tables_added=(*self._placed(staged.metas), *_at_level(load.keyspace, 0, deleted)),
            transactions=transactions,
            work=Work(
                user_bytes=sum(meta.key_bytes + meta.value_bytes for meta in tables),
                loads=1,
                load_bytes=self._segment.size_bytes or 0,
            ),
        )

    def _placed(self, metas: Sequence[TableMeta]) -> Iterator[TableChange]:
        levels, levels_max = self._state.levels(self._load.keyspace), self._state.options.levels_max
        for meta in metas:
            level = level_for(levels, meta, levels_max)
            self._level = max(self._level, level)
            yield from _at_level(self._load.keyspace, level, [meta])

    def _deletions(self, staged: StagedTables, first_seq: int) -> tuple[TableMeta, ...]:
        """Write tombstones for all keys that are there and do not come again."""
        state = self._state
        number = state.new_number()
        self._made.append(number)
        meta = stage_columns(
            state.fs,
            table_name(number),
            self._leaving(staged, first_seq - staged.entries),
            state.options.table_options(),
            store_id=state.version.store_id,
            time_us=state.clock.now_us(),
        )
        if meta is None:
            return ()
        return StagedTables((replace(meta, number=number),)).numbered_from(first_seq).metas

    def _leaving(self, staged: StagedTables, first_seq: int) -> Iterator[Columns]:
        """Yield the keys that are there and do not come again, as tombstones."""
        state = self._state
        files = [state.fs.open(table_name(meta.number)) for meta in staged.metas]
        try:
            new = [Table(file, meta) for file, meta in zip(files, staged.metas, strict=True)]
            tree = state.spaces[self._load.keyspace].view.tree
            runs = [new, *([handle.table() for handle in run] for run in tree.runs())]
            for window in windows(runs, _WINDOW_BYTES):
                ordered = merge(window)
                newest = ordered.positions[ordered.key_starts]
                columns = ordered.columns
                is_leaving = (columns.seqs[newest] < first_seq) & (columns.kinds[newest] == Kind.PUT)
                if is_leaving.any():
                    yield _as_tombstones(columns.take(newest[is_leaving]))
        finally:
            for file in files:
                file.close()

    def adopted(self) -> Adopted:
        """Return what became of the load."""
        segment = self._segment
        if segment is None or segment.last_seq is None:
            return Adopted(first_seq=0, last_seq=0, tables=0, is_new=False)
        return Adopted(
            first_seq=segment.first_seq, last_seq=segment.last_seq, tables=len(segment.tables), is_new=True
        )

    def record(self, started: float) -> JobRecord:
        """Return what the history of jobs says about the load, which has become part of the store."""
        assert self._segment is not None
        tables = self._segment.tables
        entries = sum(meta.entries for meta in tables)
        return JobRecord(
            kind="load",
            started=started,
            seconds=self._state.clock.monotonic() - started,
            keyspace=self._load.keyspace,
            from_level=None,
            to_level=self._level,
            read_bytes=0,
            written_bytes=sum(meta.size_bytes for meta in tables),
            entries_in=entries,
            entries_out=entries,
        )

    def remove_unused(self) -> None:
        """Remove the files that did not become part of the store."""
        used = self._state.version.all_tables()
        for number in self._made:
            if number not in used and self._state.fs.exists(table_name(number)):
                self._state.remove_file(table_name(number))


def _as_tombstones(columns: Columns) -> Columns:
    count = len(columns)
    return Columns(
        columns.key_offsets,
        columns.key_data,
        columns.seqs,
        np.full(count, Kind.DELETE, np.uint8),
        np.zeros(count + 1, np.int64),
        np.empty(0, np.uint8),
    )


def _at_level(keyspace: int, level: int, metas: Sequence[TableMeta]) -> Iterator[TableChange]:
    for meta in metas:
        yield TableChange(keyspace=keyspace, level=level, table=meta)
