"""Changes of a store as its users ask for them: from the log, with previous values, or compacted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from lsm.errors import InvalidArgument, InvalidType
from lsm.log.compacted import compacted_changes
from lsm.log.entries import Change, ChangeColumns
from lsm.log.offsets import Since, check_log_id, check_seq, earliest, latest, resolve
from lsm.log.previous import changes_with_previous
from lsm.log.source import SEQ_MAX
from lsm.log.stream import ChangeStream, Span, check_keyspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lsm.log.source import LogSource
    from lsm.state import State

__all__ = ["Asked", "Change", "ChangeColumns", "How", "Since", "read_changes", "read_columns"]


class How(TypedDict, total=False):
    """How changes are to be given; see `DB.changes`."""

    follow: bool
    timeout: float | None
    keyspace: str | None
    before: bool
    compacted: bool
    tombstone_seconds: float | None
    log_id: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asks of a log."""

    since: Since = 0
    until: int | None = None
    follow: bool = False
    timeout: float | None = None
    keyspace: str | None = None
    before: bool = False
    compacted: bool = False
    tombstone_seconds: float | None = None
    log_id: str | None = None

    def check(self) -> None:
        """Raise if this makes no sense."""
        _check_seconds(self.timeout, "timeout")
        _check_seconds(self.tombstone_seconds, "tombstone_seconds")
        if self.timeout is not None and not self.follow:
            raise InvalidArgument("timeout says how long to wait for more, so it needs follow=True")
        if self.until is not None:
            check_seq(self.until, "until")
        if self.before and self.compacted:
            raise InvalidArgument("a compacted log has no previous values: choose before or compacted")
        if self.tombstone_seconds is not None and not self.compacted:
            raise InvalidArgument("tombstone_seconds leaves old deletions out; it needs compacted=True")

    def span(self, source: LogSource) -> Span:
        """Return the span of the log that this means now; raise if the log does not have it."""
        source.check_open()
        self.check()
        source.refresh()
        check_log_id(source.version, self.log_id)
        since = self._behind(source)
        check_keyspace(source, self.keyspace)
        if self.follow or (self.compacted and self.until is None):
            end = SEQ_MAX
        elif self.until is not None and self.until <= since:
            end = since
        else:
            end = latest(source)
        return Span(
            since=since,
            until=end if self.until is None else min(end, self.until),
            follow=self.follow,
            timeout=self.timeout,
            keyspace=self.keyspace,
        )

    def _behind(self, source: LogSource) -> int:
        if self.compacted and isinstance(self.since, int):
            check_seq(self.since, "since")
            if self.since < earliest(source.version):
                return self.since  # what has left the log is still in the tables
        return resolve(source, self.since)


def _check_seconds(seconds: object, name: str) -> None:
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidType(f"{name} is a number of seconds, not {seconds!r:.60}")
    if not 0 <= seconds < math.inf:
        raise InvalidArgument(f"{name} is a number of seconds, 0 or more; not {seconds}")


def read_columns(state: State, source: LogSource, asked: Asked) -> Iterator[ChangeColumns]:
    """Yield the changes that are asked for, many at a time."""
    return ChangeStream(source, state.tables, asked.span(source)).columns()


def read_changes(
    state: State, source: LogSource, asked: Asked, refresh: Callable[[], int]
) -> Iterator[Change]:
    """Yield the changes that are asked for, one by one.

    `refresh` brings the store's tables and memory up to what is durable now, and says up to which number.
    """
    span = asked.span(source)
    if asked.compacted:
        oldest_us = 0
        if asked.tombstone_seconds is not None:
            oldest_us = source.clock.now_us() - round(asked.tombstone_seconds * 1_000_000)
        goes_on = asked.follow or asked.until is not None
        return compacted_changes(state, source, span, refresh, oldest_us, goes_on=goes_on)
    if asked.before:
        return changes_with_previous(state, source, span, refresh)
    return _rows(ChangeStream(source, state.tables, span))


def _rows(stream: ChangeStream) -> Iterator[Change]:
    for columns in stream.columns():
        yield from columns.rows()
