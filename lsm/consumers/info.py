"""What there is to know about a consumer, for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lsm.errors import Error
from lsm.log.stream import ChangeStream, Span
from lsm.retention import lag_bytes

if TYPE_CHECKING:
    from lsm.caches import TableCache
    from lsm.consumers.registry import Found
    from lsm.log.source import LogSource

_COUNT_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerInfo:
    """A consumer and how far behind it is."""

    name: str
    position: int
    """The last sequence number that it has committed."""
    lag: int
    """How many changes come after that; from a thousand on, the store's own writes are counted with them."""
    lag_bytes: int
    """How much log there is from the segment that holds the next one on."""
    is_pinned: bool
    max_lag_bytes: int | None
    is_dropped: bool
    committed_time: int
    """When it last committed, in microseconds since 1970."""
    where: Literal["store", "file"]
    """Whether the position was committed by the writer or beside it."""
    problem: str = ""
    """What is wrong with its files; the position is then the last one that the store itself has."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """A log as consumers are measured against it."""

    source: LogSource
    tables: TableCache
    latest: int

    def lag(self, position: int) -> int:
        """Return how many changes come after `position`, or, far from the end, how many sequence numbers."""
        seqs = max(0, self.latest - position)
        if not 0 < seqs < _COUNT_MAX:
            return seqs
        stream = ChangeStream(self.source, self.tables, Span(since=position, until=self.latest))
        try:
            return sum(len(columns) for columns in stream.columns())
        except Error:
            return seqs  # the log does not have them any more, or not whole

    def lag_bytes(self, position: int) -> int:
        """Return how much log there is from the segment that holds what comes after `position` on."""
        segments = self.source.version.segments
        open_bytes = sum(self.source.shown(meta).position for meta in segments if meta.last_seq is None)
        return lag_bytes(segments, position, open_bytes)


def info_of(name: str, found: Found, end: LogEnd) -> ConsumerInfo:
    """Return what is known of a consumer."""
    record = found.record
    position = 0 if record is None else record.position
    lag = end.lag(position)
    return ConsumerInfo(
        name=name,
        position=position,
        lag=lag,
        lag_bytes=end.lag_bytes(position) if lag else 0,
        is_pinned=record is None or (record.is_pinned and not record.is_dropped),
        max_lag_bytes=None if record is None else record.max_lag_bytes,
        is_dropped=record is not None and record.is_dropped,
        committed_time=0 if record is None else record.time_us,
        where="file" if record is not None and record is found.filed else "store",
        problem="" if found.problem is None else str(found.problem),
    )
