"""The other end of the stream: frames in, a copy that follows out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsm.errors import Error, OffsetOutOfRange, StreamCorrupt
from lsm.follower import frames
from lsm.follower.bootstrap import begin, finish, holds_copy
from lsm.follower.copy import GROUP_BYTES_MAX, Copy
from lsm.follower.lineage import check_source
from lsm.follower.meeting import check_own, diverged
from lsm.follower.messages import (
    Books,
    decode_books,
    decode_hello,
    decode_position,
    decode_records,
    decode_snapshot,
    decode_table,
)
from lsm.follower.source import SourceLog, record_at
from lsm.follower.staging import Staging
from lsm.log.offsets import latest
from lsm.opening import open_locked
from lsm.version import KeyspaceMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lsm.clock import Clock
    from lsm.follower.frames import Frame, FrameReader
    from lsm.fs_types import FileSystem, Lock
    from lsm.options import OptionValue
    from lsm.shipped import ShippedRecord
    from lsm.version import Version

GROUP_BYTES = 1024 * 1024


class StreamIncomplete(Exception):
    """Something is missing of the stream that ought to have come before."""


class Applier:
    """Takes one stream into the copy in a directory, whose lock the caller has."""

    def __init__(
        self,
        target: FileSystem,
        lock: Lock,
        clock: Clock,
        *,
        bootstrap_again: bool,
        options: Mapping[str, OptionValue],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._target = target
        self._lock = lock
        self._clock = clock
        self._bootstrap_again = bootstrap_again
        self._options = options
        self._progress = progress
        self._name = "stream"
        self._source: Version | None = None  # as far as the stream has told
        self._books = Books(0, {}, {}, 0)
        self._copy: Copy | None = None
        self._staging: Staging | None = None
        self._skips_snapshot = False
        self._unproved: ShippedRecord | None = None  # the last of a store that may be no copy
        self._pending: list[ShippedRecord] = []
        self._pending_bytes = 0
        self._takers: dict[bytes, Callable[[bytes], None]] = {
            frames.HELLO: self._take_hello,
            frames.KEYSPACES: self._take_keyspaces,
            frames.SNAPSHOT: self._take_snapshot,
            frames.TABLE: self._take_table,
            frames.DATA: self._take_data,
            frames.SNAPSHOT_END: self._end_snapshot,
            frames.RECORDS: self._take_records,
            frames.POSITION: self._take_position,
        }

    @property
    def is_open(self) -> bool:
        """Tell whether the copy is open, and with it the lock is its own."""
        return self._copy is not None

    def run(self, reader: FrameReader) -> int:
        """Take everything; return where the copy stands.  What came before an error is taken, too."""
        self._name = reader.name
        try:
            while (frame := reader.next()) is not None:
                self._take(frame, reader.name)
        except StreamCorrupt:
            self._commit()
            raise
        try:
            self._commit()
            return self._opened().seq
        except StreamIncomplete as error:
            what = f"stream ends without {error}"
            raise StreamCorrupt(reader.name, what, offset=reader.offset) from error

    def close(self) -> None:
        """Close the copy, if there is one."""
        if self._staging is not None:
            self._staging.close()
        if self._copy is not None:
            self._copy.db.close()

    def _take(self, frame: Frame, name: str) -> None:
        try:
            self._takers[frame.kind](frame.payload)
        except (ValueError, StreamIncomplete) as error:
            if isinstance(error, Error):
                raise
            what = f"without {error}" if isinstance(error, StreamIncomplete) else f"is bad: {error}"
            kind = frame.kind.decode()
            raise StreamCorrupt(name, f"{kind} frame {what}", offset=frame.offset) from error

    # Who it is

    def _take_hello(self, payload: bytes) -> None:
        self._commit()
        source = decode_hello(payload)
        if self._copy is not None:
            self._copy.adopt(source, self._name)
        elif self._source is None and holds_copy(self._target):
            self._check_copy(source)
        keyspaces = {} if self._source is None else self._source.keyspaces
        self._source = replace(source, keyspaces=keyspaces)

    def _check_copy(self, source: Version) -> None:
        """Raise if the copy that is here cannot follow this source; records are checked as they come."""
        copy = SourceLog(self._target, self._clock)
        seq = latest(copy)
        check_source(copy.version, seq, source, names=(self._target.name, self._name))
        if not copy.version.follows:
            check_own(source, self._target.name, is_proved=True)
            self._unproved = record_at(copy, seq) if seq else None
            if seq and self._unproved is None:
                check_own(source, self._target.name, is_proved=False)

    def _take_keyspaces(self, payload: bytes) -> None:
        self._commit()
        source, books = self._greeted(), decode_books(payload)
        keyspaces = {id_: KeyspaceMeta(id=id_, name=name) for id_, name in books.names.items()}
        self._source = replace(source, next_keyspace=books.next_keyspace, keyspaces=keyspaces)
        self._books = books
        if self._copy is not None:
            self._copy.set_books(books)

    def _greeted(self) -> Version:
        if self._source is None:
            raise StreamIncomplete("the greeting")
        return self._source

    def _known(self) -> Version:
        source = self._greeted()
        if not source.keyspaces:
            raise StreamIncomplete("the keyspaces")
        return source

    # Snapshot

    def _take_snapshot(self, payload: bytes) -> None:
        self._commit()
        source, snapshot = self._known(), decode_snapshot(payload)
        if self._staging is not None:
            raise StreamIncomplete("the end of a snapshot")
        seq = snapshot.flushed_seq or 0
        if self._copy is not None or holds_copy(self._target):
            here = self._seq()
            self._skips_snapshot = here >= seq
            if here < seq and here and (self._copy is not None or not self._bootstrap_again):
                raise OffsetOutOfRange(here, seq + 1, seq)
        if not self._skips_snapshot:
            self._staging = Staging(self._target, self._clock, source, snapshot)

    def _seq(self) -> int:
        if self._copy is not None:
            return self._copy.seq
        return latest(SourceLog(self._target, self._clock))

    def _take_table(self, payload: bytes) -> None:
        change = decode_table(payload)
        if not self._skips_snapshot:
            self._staged().start_table(change)

    def _take_data(self, payload: bytes) -> None:
        if not self._skips_snapshot:
            self._staged().add_data(payload)

    def _end_snapshot(self, _: bytes) -> None:
        if not self._skips_snapshot:
            self._staged().finish()
        self._staging = None
        self._skips_snapshot = False

    def _staged(self) -> Staging:
        if self._staging is None:
            raise StreamIncomplete("the beginning of a snapshot")
        return self._staging

    # The log

    def _take_records(self, payload: bytes) -> None:
        records = decode_records(payload)
        if self._pending and self._pending[-1].last_seq + 1 != records[0].first_seq:
            self._commit()
        self._pending += records
        self._pending_bytes += len(payload)
        if self._pending_bytes >= GROUP_BYTES_MAX:
            self._commit()

    def _take_position(self, payload: bytes) -> None:
        position = decode_position(payload)
        self._commit()
        if self._unproved is not None:
            return  # until its last record has come, too
        copy = self._opened()
        if self._progress is not None:
            self._progress(copy.seq, max(copy.seq, position.latest))

    def _commit(self) -> None:
        """Make durable and visible what has come."""
        records, self._pending, self._pending_bytes = self._pending, [], 0
        if records:
            self._prove(records)
            self._opened().take(records, self._name)

    def _prove(self, records: Sequence[ShippedRecord]) -> None:
        """Raise unless the last record of a store that was a writer is among these."""
        last = self._unproved
        if last is not None and records[0].first_seq > last.first_seq:
            check_own(self._known(), self._target.name, is_proved=False)
        if last is not None and records[-1].last_seq >= last.last_seq:
            theirs = next(record for record in records if record.last_seq >= last.first_seq)
            if theirs != last:
                raise diverged(self._target.name, self._name, last.first_seq)
            self._unproved = None

    def _opened(self) -> Copy:
        """Return the copy, open; an empty one is made if there is none."""
        if self._copy is None:
            source = self._known()
            if self._staging is not None or self._skips_snapshot:
                raise StreamIncomplete("the end of a snapshot")
            if self._unproved is not None:
                check_own(source, self._target.name, is_proved=False)
            if not holds_copy(self._target):
                begin(self._target)
                finish(self._target, self._clock, source)
            self._copy = Copy(open_locked(self._target, self._lock, self._clock, self._options))
            self._copy.adopt(source, self._name)
            self._copy.set_books(self._books)
        return self._copy
