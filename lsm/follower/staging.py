"""A copy made from a stream: tables are written and checked one by one, and come into force together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compaction import check_levels
from lsm.filenames import table_name
from lsm.follower.bootstrap import begin, finish
from lsm.fs_types import Cause
from lsm.version import BadEdit, VersionEdit
from sstable import CorruptTable, Table, UnsupportedTable

if TYPE_CHECKING:
    from lsm.clock import Clock
    from lsm.fs_types import AppendFile, FileSystem
    from lsm.version import TableChange, Version


class Staging:
    """Takes the tables of a snapshot.  Everything that is wrong with them is a ValueError."""

    def __init__(self, target: FileSystem, clock: Clock, version: Version, snapshot: VersionEdit) -> None:
        """Empty the target; `version` has identity and keyspaces."""
        self._target = target
        self._clock = clock
        self._version = version.after(snapshot)
        self._table: TableChange | None = None
        self._file: AppendFile | None = None
        begin(target)

    def start_table(self, change: TableChange) -> None:
        """Begin a table; its bytes follow."""
        self._end_table()
        meta = change.table
        last_seq = meta.seq_base + meta.max_seq
        if last_seq > self._version.flushed_seq or meta.number >= self._version.next_number:
            raise ValueError(f"table {meta.number} is not of this snapshot")
        try:
            self._version = self._version.after(VersionEdit(tables_added=(change,)))
        except BadEdit as error:
            raise ValueError(str(error)) from error
        self._table = change
        self._file = self._target.create(table_name(meta.number), Cause.CHECKPOINT)

    def add_data(self, data: bytes) -> None:
        """Write the next bytes of the table."""
        if self._file is None or self._table is None:
            raise ValueError("bytes of a table without its facts")
        if self._file.size + len(data) > self._table.table.size_bytes:
            raise ValueError(f"table {self._table.table.number} is longer than it ought to be")
        self._file.append(data)

    def finish(self) -> None:
        """Put the copy in force."""
        self._end_table()
        for meta in self._version.keyspaces.values():
            check_levels(meta.levels or ((),))
        finish(self._target, self._clock, self._version)

    def close(self) -> None:
        """Let go of a table that is not whole."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _end_table(self) -> None:
        change, file = self._table, self._file
        if change is None or file is None:
            return
        file.sync()
        self.close()
        self._table = None
        reader = self._target.open(table_name(change.table.number), Cause.CHECKPOINT)
        try:
            table = Table(reader, change.table, name=table_name(change.table.number))
            if table.store_id != self._version.store_id:
                raise ValueError(f"table {change.table.number} belongs to another store")
            table.verify()
        except (CorruptTable, UnsupportedTable) as error:
            raise ValueError(f"table {change.table.number}: {error}") from error
        finally:
            reader.close()
