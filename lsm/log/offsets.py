"""Where to begin: a sequence number, a word or a moment, turned into a place that the log has."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from lsm.errors import (
    ForeignLog,
    InvalidArgument,
    InvalidType,
    LogCorrupt,
    OffsetOutOfRange,
    typed_errors,
)
from lsm.filenames import segment_name
from lsm.fs_types import Cause
from lsm.log.cursor import LogCursor
from lsm.log.place import locate_time, read_header
from lsm.log.source import SEQ_MAX

if TYPE_CHECKING:
    from lsm.log.source import LogSource
    from lsm.version import SegmentMeta, Version

Since: TypeAlias = int | Literal["earliest", "latest"] | datetime
"""A sequence number to go on behind, one end of the log, or a moment with a time zone."""

_MICROSECONDS = 1_000_000


def earliest(version: Version) -> int:
    """Return the first sequence number that the log still has."""
    return version.segments[0].first_seq if version.segments else version.flushed_seq + 1


def latest(source: LogSource) -> int:
    """Return the last sequence number that is durable now."""
    seq = source.settle()
    if seq != SEQ_MAX:
        return seq  # the writer knows
    segments = source.version.segments
    if not segments:
        return source.version.flushed_seq
    newest = segments[-1]
    if newest.last_seq is not None:
        return newest.last_seq
    sample = source.sample(newest)
    cursor = LogCursor(source, (newest.first_seq if sample is None else sample[0]) - 1)
    try:
        while cursor.next_piece() is not None:
            pass
    finally:
        cursor.close()
    return cursor.next_seq - 1


def resolve(source: LogSource, since: Since) -> int:
    """Return the sequence number behind which to begin; raise if the log does not have what comes next."""
    if isinstance(since, datetime):
        return before_time(source, _as_microseconds(since))
    if since == "latest":
        return latest(source)
    if since == "earliest":
        source.refresh()
        return earliest(source.version) - 1
    check_is_seq(since, "since")
    if since < earliest(source.version) - 1 or since > _known_seq(source.version):
        last = latest(source)
        if not earliest(source.version) - 1 <= since <= last:
            raise OffsetOutOfRange(since, earliest(source.version), last)
    return since


def check_is_seq(seq: object, name: str) -> None:
    """Raise unless this is a number."""
    if isinstance(seq, bool) or not isinstance(seq, int):
        raise InvalidType(
            f'{name} is a sequence number, "earliest", "latest" or a datetime; not {seq!r:.60}'
        )


def check_seq(seq: int, name: str) -> None:
    """Raise unless this can be a sequence number."""
    check_is_seq(seq, name)
    if seq < 0:
        raise InvalidArgument(f"{name} is a sequence number, 0 or more; not {seq}")


def check_log_id(version: Version, log_id: str | None) -> None:
    """Raise if a position was taken from another log than this one."""
    if log_id is not None and log_id != log_id_of(version):
        raise ForeignLog(f"the position belongs to log {log_id!r:.60}; this one is {log_id_of(version)!r}")


def log_id_of(version: Version) -> str:
    """Return what tells this log from any other: the store's id and its epoch."""
    return f"{version.store_id.hex()}-{version.epoch}"


def _known_seq(version: Version) -> int:
    """Return a sequence number that is surely durable, without looking at the log."""
    known = (meta.last_seq or meta.first_seq - 1 for meta in version.segments)
    return max(known, default=version.flushed_seq)


def _as_microseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise InvalidArgument(f"a moment needs a time zone, as in datetime.now(UTC); {moment} has none")
    return round(moment.timestamp() * _MICROSECONDS)


def before_time(source: LogSource, time_us: int) -> int:
    """Return the number behind which the first change of that time or a later one comes.

    The segment is found by when it was finished, the place in it by its sparse index; little is read.
    """
    last = latest(source)
    for meta in source.version.segments:
        if meta.last_time_us is not None and meta.last_time_us < time_us:
            continue
        if meta.tables:
            return meta.first_seq - 1
        found = _before_time_in(source, meta, time_us)
        if found is not None:
            return found
    return last


def _before_time_in(source: LogSource, meta: SegmentMeta, time_us: int) -> int | None:
    path = f"{source.fs.name}/{segment_name(meta.number)}"
    with typed_errors(path, "looking for a time"):
        try:
            file = source.fs.open(segment_name(meta.number), Cause.LOG)
        except FileNotFoundError as error:
            source.refresh()
            if meta in source.version.segments:
                raise LogCorrupt(path, "log segment is missing") from error
            return None  # trimmed since the version was read: what is left is later
        try:
            header = read_header(file, meta, source.version.store_id, path)
            begin = locate_time(file, header, meta, time_us, source).seq - 1
        finally:
            file.close()
    cursor = LogCursor(source, begin)
    try:
        while (piece := cursor.next_piece()) is not None:
            if piece.meta.number != meta.number:
                return None
            late = (piece.records.times >= time_us).nonzero()[0]
            if len(late):
                return max(begin, piece.records[int(late[0])].first_seq - 1)
    finally:
        cursor.close()
    return None
