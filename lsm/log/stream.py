"""The log as a stream of changes, in commit order, each exactly once, none before it is durable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsm.arguments import is_hidden
from lsm.errors import KeyspaceNotFound
from lsm.log.cursor import LogCursor
from lsm.log.entries import ChangeColumns, Wanted, adopted_columns, columns_of
from lsm.log.source import SETTLE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.caches import TableCache
    from lsm.log.cursor import LogPiece
    from lsm.log.source import LogSource

_WAIT_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What is asked for: everything after `since` up to `until`, of one keyspace or of all.

    With `follow` it goes on for ever, or until nothing has come for `timeout` seconds.
    """

    since: int
    until: int
    follow: bool = False
    timeout: float | None = None
    keyspace: str | None = None


class ChangeStream:
    """Reads one span of a log as columns."""

    def __init__(self, source: LogSource, tables: TableCache, span: Span) -> None:
        self._source = source
        self._tables = tables
        self._span = span
        self._cursor = LogCursor(source, span.since)
        self._quiet_since: float | None = None  # since when nothing was shown, while waiting

    @property
    def position(self) -> int:
        """The last sequence number that was read, shown or not."""
        return min(self._cursor.next_seq - 1, self._span.until)

    def columns(self) -> Iterator[ChangeColumns]:
        """Yield the changes of the span."""
        try:
            while True:
                self._source.check_open()
                if self._cursor.next_seq > self._span.until:
                    return
                first_seq = self._cursor.next_seq
                piece = self._next_piece()
                if piece is None:
                    return
                for columns in self._wanted_of(piece, first_seq):
                    if len(columns):
                        self._quiet_since = None
                        yield columns
        except (OSError, ValueError):
            self._source.check_open()  # what was closed meanwhile cannot be read
            raise
        finally:
            self._cursor.close()
            self._source.close()

    def _wanted_of(self, piece: LogPiece, first_seq: int) -> Iterator[ChangeColumns]:
        # Records are younger than the version: their keyspace may have been made meanwhile.
        self._source.refresh()
        wanted = Wanted(first_seq, self._span.until, self._names())
        if not piece.meta.tables:
            yield columns_of(piece, wanted)
        elif piece.meta.keyspace in wanted.names:
            for meta in piece.meta.tables:
                if meta.seq_base + meta.max_seq < first_seq or meta.seq_base + meta.min_seq > wanted.last_seq:
                    continue
                for columns in self._tables.handle(meta).table().columns():
                    yield adopted_columns(columns, piece, wanted)

    def _next_piece(self) -> LogPiece | None:
        """Return the next records, waiting for them if that is wanted; None at the end."""
        source, span = self._source, self._span
        now = source.clock.monotonic()
        settle_at = now + SETTLE_SECONDS
        if self._quiet_since is None:
            self._quiet_since = now
        end = self._quiet_since + (math.inf if span.timeout is None else span.timeout)
        is_settled = False
        while (piece := self._cursor.next_piece()) is None:
            if not span.follow or (now >= end and is_settled):
                return None
            # There may be writes that nobody has asked to be durable: they are waited for, too.
            is_settled = now >= min(settle_at, end)
            if is_settled:
                source.settle()
                settle_at = now + SETTLE_SECONDS + _WAIT_SECONDS
            else:
                source.wait(min(settle_at, end) - now)
            now = source.clock.monotonic()
        return piece

    def _names(self) -> dict[int, str]:
        """Return the keyspaces that are shown; those that were dropped are not."""
        return shown_keyspaces(self._source, self._span.keyspace)


def shown_keyspaces(source: LogSource, only: str | None) -> dict[int, str]:
    """Return the names of keyspaces by number: the one that was asked for, or all but the store's own."""
    return {
        meta.id: meta.name
        for meta in source.version.keyspaces.values()
        if not is_hidden(meta.name) and only in (None, meta.name)
    }


def check_keyspace(source: LogSource, keyspace: str | None) -> None:
    """Raise unless there is such a keyspace."""
    names = {meta.name for meta in source.version.keyspaces.values()}
    if keyspace is not None and (keyspace not in names or is_hidden(keyspace)):
        raise KeyspaceNotFound(f"no keyspace {keyspace!r} in {source.fs.name}")
