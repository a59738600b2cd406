"""Changes with the values they replaced.

The value before a change is the last one of that key earlier in the same segment, or else what the key had at
the start of the segment.  Tables keep the latter for every retained segment while the option `log_history` is
set.  Without it, previous values are known only where the log still begins with the first write of all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsm.errors import InvalidArgument, OffsetOutOfRange
from lsm.log.offsets import earliest, latest
from lsm.log.stream import ChangeStream, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lsm.log.entries import Change
    from lsm.log.source import LogSource
    from lsm.state import State
    from lsm.version import Version

Held = dict[tuple[str, bytes], bytes | None]


def changes_with_previous(
    state: State, source: LogSource, span: Span, refresh: Callable[[], int]
) -> Iterator[Change]:
    """Yield the changes of a span, each with what it replaced."""
    begin = _begin(source.version, span.since)
    stream = ChangeStream(source, state.tables, replace(span, since=begin))
    return _with_previous(stream, _Past(state, source, refresh), span.since)


def _begin(version: Version, since: int) -> int:
    """Return where reading must begin so that the value before everything after `since` is known."""
    boundaries = [meta.first_seq - 1 for meta in version.segments if meta.first_seq <= since + 1]
    boundary = max(boundaries, default=0)
    if _keeps_past(version, boundary):
        return boundary
    if earliest(version) == 1:
        return 0
    raise InvalidArgument(
        f"previous values are not known: the log begins at {earliest(version)}, and the store keeps the past "
        f"from {'nowhere' if version.history_seq is None else version.history_seq} on; "
        "open it with log_history=True, and what comes from then on will have them"
    )


def _keeps_past(version: Version, boundary: int) -> bool:
    return version.history_seq is not None and version.history_seq <= boundary


def _with_previous(stream: ChangeStream, past: _Past, since: int) -> Iterator[Change]:
    held: Held = {}
    for columns in stream.columns():  # each of one segment
        held = past.enter(int(columns.columns.seqs[0]), held)
        ready: list[Change] = []
        for change in columns.rows():
            where = change.keyspace, change.key
            before = held[where] if where in held else past.value(*where)
            held[where] = change.value
            if change.seq > since:
                ready.append(change._replace(before=before))
        past.check()  # before anything is shown: its past goes with a segment
        yield from ready


class _Past:
    """What keys had at the start of a segment."""

    def __init__(self, state: State, source: LogSource, refresh: Callable[[], int]) -> None:
        self._state = state
        self._source = source
        self._refresh = refresh
        self._boundary = 0

    def enter(self, seq: int, held: Held) -> Held:
        """Go to the segment that has `seq`; return what is known of keys since its start."""
        version = self._source.version
        first_seqs = [meta.first_seq for meta in version.segments if meta.first_seq <= seq]
        boundary = max(first_seqs, default=0) - 1
        if boundary == self._boundary:
            return held
        if boundary < 0:
            raise self._gone(seq - 1)
        if not _keeps_past(version, boundary):
            return held  # all of the log was read: what is not held was never written
        if boundary > self._state.visible_seq and self._refresh() < boundary:
            raise self._gone(boundary)
        self._boundary = boundary
        return {}

    def check(self) -> None:
        """Raise if the segment went: its past went with it."""
        # The store's own version, not the source's: it is the one whose tables were asked.
        version, boundary = self._state.version, self._boundary
        if boundary and not (_keeps_past(version, boundary) and boundary >= earliest(version) - 1):
            raise self._gone(boundary)

    def _gone(self, seq: int) -> OffsetOutOfRange:
        return OffsetOutOfRange(seq, earliest(self._state.version), latest(self._source))

    def value(self, keyspace: str, key: bytes) -> bytes | None:
        """Return what a key had at the start of the segment."""
        if self._boundary == 0:
            return None
        space = next((space for space in list(self._state.spaces.values()) if space.name == keyspace), None)
        if space is None:
            return None
        view = space.view
        for layer in view.at(self._boundary):
            value = layer.entries.get(key)
            if value is not None:
                return value if isinstance(value, bytes) else None
        with self._state.reading():
            found = view.tree.get(key, self._boundary)
        return found if isinstance(found, bytes) else None
