"""A store that is followed, seen from beside: its manifest, its log, its tables."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from lsm.errors import ForeignLog, OffsetOutOfRange, TableCorrupt
from lsm.filenames import manifest_name, table_name
from lsm.fs_types import Cause
from lsm.log.cursor import LogCursor
from lsm.log.offsets import earliest
from lsm.log.reader_log import ReaderLog
from lsm.log.source import LogSource
from lsm.payload import Value, encode_one
from lsm.reader import LiveReader
from lsm.recovery import holds_store, missing
from lsm.shipped import ShippedRecord
from sstable import DELETED, Columns, Kind, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.clock import Clock
    from lsm.fs_types import FileSystem, ReadFile
    from lsm.log.cursor import LogPiece
    from lsm.version import SegmentMeta, Version

_TRIES = 100


class SourceLog(ReaderLog):
    """The log of a store that somebody else may be writing.

    Unlike a handle for reading it opens no table and keeps nothing in memory, and it believes a manifest
    only once that is durable: a keyspace that was shipped must not be undone by a crash of the source.
    """

    def __init__(self, fs: FileSystem, clock: Clock) -> None:
        if not holds_store(fs):
            raise missing(fs.name)
        self.fs = fs
        self.clock = clock
        self._reader = LiveReader(fs, clock, {})
        self._synced = {}
        self._watch = None
        self._lock = threading.Lock()
        self._stamp = None
        self._woken = 0.0
        self._version = self._durable_version()

    def refresh(self) -> None:
        """Look again which files there are, if anything was written about them since."""
        stamp = self._reader.stamp()
        if stamp is not None and stamp == self._stamp:
            return
        version = self._durable_version()
        if version.store_id != self._version.store_id:
            raise ForeignLog(
                f"{self.fs.name} was store {self._version.store_id.hex()} and now is {version.store_id.hex()}"
            )
        self._version, self._stamp = version, stamp

    def _durable_version(self) -> Version:
        for _ in range(_TRIES):
            stamp = self._reader.stamp()
            version = self._reader.read_version()
            if stamp is not None and self._sync_manifest(stamp[0]):
                return version
            self.clock.sleep(0.001)  # the writer has just put another manifest in force
        return self._reader.read_version()

    def _sync_manifest(self, number: int) -> bool:
        try:
            file = self.fs.open(manifest_name(number), Cause.MANIFEST)
        except FileNotFoundError:
            return False
        with closing(file):
            file.sync()
        return True

    def check_open(self) -> None:
        """Nothing was opened that could be closed."""

    def snapshot(self) -> tuple[Version, dict[int, ReadFile], ExitStack]:
        """Return a version, its tables by number, and what closes them.

        All of them are open, so they stay readable when the writer removes them.
        """
        for _ in range(_TRIES):
            self.refresh()
            version = self.version
            with ExitStack() as stack:
                try:
                    files = {
                        number: stack.enter_context(closing(self.fs.open(table_name(number))))
                        for number in version.tables()
                    }
                except FileNotFoundError:
                    self.refuse_if_unchanged(version)
                    continue
                return version, files, stack.pop_all()
        raise TableCorrupt(self.fs.name, "tables are removed faster than they can be opened")

    def shipped(self, piece: LogPiece) -> Iterator[list[ShippedRecord]]:
        """Yield the records of a piece of this log, ready to be sent."""
        if not piece.meta.tables:
            yield records_of(piece)
        for meta in piece.meta.tables:
            with closing(self.fs.open(table_name(meta.number))) as file:
                table = Table(file, meta, name=f"{self.fs.name}/{table_name(meta.number)}")
                for columns in table.columns():
                    yield rows_as_records(columns, piece.meta)

    def refuse_if_unchanged(self, version: Version) -> None:
        """Raise unless the store has moved on since `version`: then a missing file is no damage."""
        self.refresh()
        if self.version == version:
            raise TableCorrupt(self.fs.name, "a file that the manifest names is missing")


def records_of(piece: LogPiece) -> list[ShippedRecord]:
    """Return the records of a piece of a log, ready to be sent."""
    data, records = piece.data, piece.records
    return list(
        map(
            ShippedRecord,
            records.first_seqs.tolist(),
            records.counts.tolist(),
            records.times.tolist(),
            [
                data[start:end]
                for start, end in zip(records.payload_starts.tolist(), records.ends.tolist(), strict=True)
            ],
        )
    )


def rows_as_records(columns: Columns, meta: SegmentMeta) -> list[ShippedRecord]:
    """Return rows of a table that is a part of the log as the records they might have been."""
    seqs, keys = columns.seqs.tolist(), columns.keys()
    values: list[Value] = list(columns.values())
    for deleted in (columns.kinds == Kind.DELETE).nonzero()[0].tolist():
        values[deleted] = DELETED
    # They were one batch, too large for one record: the copy has them one by one, at the same time.
    time_us = meta.last_time_us or 0
    return [
        ShippedRecord(seq, 1, time_us, encode_one(meta.keyspace, key, value))
        for seq, key, value in zip(seqs, keys, values, strict=True)
    ]


def records_from(log: LogSource, seq: int) -> Iterator[ShippedRecord]:
    """Yield the records of a log from the one that holds `seq` on, as far as it has them."""
    cursor = LogCursor(log, seq - 1)
    try:
        while (piece := cursor.next_piece()) is not None:
            for record in records_of(piece):
                if record.last_seq >= seq:
                    yield record
    finally:
        cursor.close()


def record_at(log: LogSource, seq: int) -> ShippedRecord | None:
    """Return the record that holds `seq`, None if the log does not have it any more."""
    try:
        record = next(records_from(log, seq), None)
    except OffsetOutOfRange:
        return None
    return record if record is not None and record.first_seq <= seq else None


def first_difference(ours: LogSource, theirs: LogSource) -> int | None:
    """Return the first sequence number at which two logs differ, of those that both still have."""
    start = max(earliest(ours.version), earliest(theirs.version))
    for our, their in zip(records_from(ours, start), records_from(theirs, start), strict=False):
        if our != their:
            return max(start, min(our.first_seq, their.first_seq))
    return None
