"""What folding needs of the log: how far it reaches, stretches of it, and what stands for a lost one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from lsm.log.compacted import compacted_changes
from lsm.log.offsets import earliest as earliest_of
from lsm.log.source import SEQ_MAX
from lsm.log.stream import ChangeStream, Span
from lsm.retention import Pin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.changes import Change
    from lsm.db import DB


class Stretch(Protocol):
    """Changes to fold, in order; when they have ended, `position` is how far that led."""

    @property
    def position(self) -> int: ...

    def __iter__(self) -> Iterator[Change]: ...


class LogStretch:
    """The log after `since` up to `until`, which is durable: of one keyspace or of all."""

    def __init__(self, db: DB, since: int, until: int, keyspace: str | None) -> None:
        span = Span(since=since, until=until, keyspace=keyspace)
        self._stream = ChangeStream(db._log_source(), db._state.tables, span)

    @property
    def position(self) -> int:
        """The last sequence number that was read."""
        return self._stream.position

    def __iter__(self) -> Iterator[Change]:
        """Yield the changes, once."""
        for columns in self._stream.columns():
            yield from columns.rows()


class Seeds:
    """What the store holds, as changes: the last put of every key, in the order of the log.

    They end with all that was written until then, so the log goes on from `position` without a gap.
    """

    def __init__(self, db: DB, keyspace: str | None) -> None:
        self._db = db
        self._keyspace = keyspace
        self.position = settled(db)

    def __iter__(self) -> Iterator[Change]:
        """Yield the changes, once."""
        db, begun = self._db, self.position
        span = Span(since=0, until=SEQ_MAX, keyspace=self._keyspace)
        for change in compacted_changes(db._state, db._log_source(), span, db.refresh, oldest_us=0):
            self.position = max(self.position, change.seq)
            # Who starts from nothing has nothing to delete, but for what is deleted meanwhile.
            if change.kind == "put" or change.seq > begun:
                yield change


@contextmanager
def seeds(db: DB, keyspace: str | None) -> Iterator[Seeds]:
    """Offer what the store holds; until it is released, nothing of the log goes."""
    pin = Pin("a view that is being made", earliest(db) - 1)
    db._state.own_pins.add(pin)
    try:
        yield Seeds(db, keyspace)
    finally:
        db._state.own_pins.discard(pin)


def settled(db: DB) -> int:
    """Make what was written so far durable; return the last sequence number of it."""
    return db._log_source().settle()


def earliest(db: DB) -> int:
    """Return the first sequence number that the log still holds."""
    return earliest_of(db._state.version)


def finished_bytes(db: DB, since: int, until: int) -> int:
    """Return the size of the finished segments that end in this range."""
    return sum(
        meta.size_bytes or 0
        for meta in db._state.version.segments
        if meta.last_seq is not None and since < meta.last_seq <= until
    )
