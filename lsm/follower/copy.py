"""The side that takes: a store that follows, and what it does with what its source has written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsm.errors import ForeignLog, OffsetOutOfRange
from lsm.follower.lineage import check_source, parting, promoted
from lsm.follower.meeting import diverged
from lsm.follower.source import records_from
from lsm.jobs import remove_obsolete
from lsm.log.offsets import earliest
from lsm.log.writer_log import WriterLog
from lsm.state import NoWriter, refusal_of_copy
from lsm.version import KeyspaceMeta, VersionEdit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lsm.commit_whole import StoreCommitter
    from lsm.db import DB
    from lsm.follower.messages import Books
    from lsm.shipped import ShippedRecord
    from lsm.version import Epoch, Version

GROUP_BYTES_MAX = 4 * 1024 * 1024
"""Records that are committed together, with one sync; readers see them one group at a time."""


class Copy:
    """A store that follows, open for taking.  For one thread."""

    def __init__(self, db: DB) -> None:
        assert db._committer is not None
        self.db = db
        self._state = db._state
        self._committer: StoreCommitter = db._committer
        self._promised: Books | None = None  # whose rows are not all here yet

    @property
    def seq(self) -> int:
        """The last sequence number that is here, durably."""
        return self._committer.segment.next_seq - 1

    def adopt(self, source: Version, name: str) -> None:
        """Follow a source from now on: take its epochs over, and writes from nobody else."""
        version = self._state.version
        check_source(version, self.seq, source, names=(self.db.path, name))
        if version.follows and parting(version.epochs, source.epochs) is None:
            return
        edit = VersionEdit(epoch=source.epoch, epochs=source.epochs, follows=True)
        self._state.writer = NoWriter(refusal_of_copy(self.db.path))
        with self.db._typed("following"):
            self._committer.start_epoch(lambda _: edit)

    def set_books(self, books: Books) -> None:
        """Make and drop keyspaces as the source did, and note its loads once their rows are here.

        Numbers are never used again, so what there is and what there was can only grow: an older list
        changes nothing.
        """
        self._set_keyspaces(books.next_keyspace, books.names)
        self._promised = books
        self._note_loads()

    def _note_loads(self) -> None:
        """Keep which loads there were, so that a copy which is promoted refuses them like its source."""
        books, done = self._promised, self._state.version.transactions
        if books is None or self.seq < books.seq:
            return
        self._promised = None
        later = {name: number for name, number in books.transactions.items() if number > done.get(name, -1)}
        if later:
            self._install(VersionEdit(transactions=later))

    def _set_keyspaces(self, next_keyspace: int, names: Mapping[int, str]) -> None:
        version = self._state.version
        for id_, meta in version.keyspaces.items():
            if names.get(id_, meta.name) != meta.name:
                raise ForeignLog(
                    f"keyspace {id_} is {meta.name!r} in {self.db.path}, but {names[id_]!r} in its source"
                )
        edit = VersionEdit(
            next_keyspace=max(next_keyspace, version.next_keyspace),
            keyspaces_added=tuple(
                KeyspaceMeta(id=id_, name=name)
                for id_, name in sorted(names.items())
                if id_ >= version.next_keyspace
            ),
            keyspaces_dropped=tuple(
                id_ for id_ in sorted(version.keyspaces) if id_ < next_keyspace and id_ not in names
            ),
        )
        if edit.keyspaces_added or edit.keyspaces_dropped or edit.next_keyspace != version.next_keyspace:
            self._install(edit)

    def _install(self, edit: VersionEdit) -> None:
        with self.db._typed("taking keyspaces over"), self._committer.exclusive(), self._state.edit_lock:
            self._state.install(edit)
        remove_obsolete(self._state)

    def take(self, records: Sequence[ShippedRecord], name: str) -> None:
        """Commit the records that come next; those that are here already are compared."""
        seq = self.seq
        known = [record for record in records if record.last_seq <= seq]
        if known:
            self._compare(known, name)
        fresh = records[len(known) :]
        if not fresh:
            return
        if fresh[0].first_seq <= seq:
            raise diverged(self.db.path, name, fresh[0].first_seq)
        if fresh[0].first_seq > seq + 1:
            raise OffsetOutOfRange(seq, fresh[0].first_seq, fresh[-1].last_seq)
        for group in _groups(fresh, self._state.version.epochs):
            if any(epoch.first_seq == group[0].first_seq for epoch in self._state.version.epochs):
                self._committer.seal()  # a segment is of one epoch
            self._committer.append_shipped(group)
        self._note_loads()

    def _compare(self, known: Sequence[ShippedRecord], name: str) -> None:
        """Raise if records that are here already are others here, as far as the log still has them."""
        log = WriterLog(self._state, self._committer)
        start = max(known[0].first_seq, earliest(log.version))
        theirs = (record for record in known if record.first_seq >= start)
        for our, their in zip(records_from(log, start), theirs, strict=False):
            if our != their:
                raise diverged(self.db.path, name, min(our.first_seq, their.first_seq))

    def promote(self) -> None:
        """Make the store a writer with an epoch of its own; one edit, all or nothing."""
        state = self._state
        with self.db._typed("promoting"):
            self._committer.start_epoch(lambda seq: _promotion(state.version, seq, state.clock.now_us()))
        state.writer = self._committer


def _promotion(version: Version, seq: int, time_us: int) -> VersionEdit:
    epochs = promoted(version.epochs, seq, time_us)
    return VersionEdit(epoch=epochs[-1].number, epochs=epochs, follows=False)


def _groups(records: Sequence[ShippedRecord], epochs: Sequence[Epoch]) -> Iterator[list[ShippedRecord]]:
    """Yield the records in groups of a bounded size, none of them of two epochs."""
    firsts = {epoch.first_seq for epoch in epochs}
    group: list[ShippedRecord] = []
    size_bytes = 0
    for record in records:
        if group and (size_bytes + len(record.payload) > GROUP_BYTES_MAX or record.first_seq in firsts):
            yield group
            group, size_bytes = [], 0
        group.append(record)
        size_bytes += len(record.payload)
    yield group
