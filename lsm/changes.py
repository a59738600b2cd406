"""The log as a stream of changes, in commit order, each exactly once."""

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Literal, NamedTuple

import wal
from lsm.errors import LogCorrupt, OffsetOutOfRange, typed_errors
from lsm.filenames import segment_name
from lsm.fs_types import Cause, ReadFile
from lsm.payload import decode
from lsm.state import State
from lsm.version import SegmentMeta

_READ_BYTES = 1024 * 1024
_POLL_SECONDS = 0.01


class Change(NamedTuple):
    """One write.  A deletion has no value; `time` is of the commit, in microseconds since 1970."""

    seq: int
    time: int
    kind: Literal["put", "delete"]
    key: bytes
    value: bytes | None
    keyspace: str
    batch_first_seq: int
    batch_count: int


def read_changes(state: State, since: int, *, follow: bool) -> Iterator[Change]:
    """Yield every change after `since` that reads can see; with `follow`, wait for more when they end.

    Raises OffsetOutOfRange where the log no longer has what comes next: nothing is skipped silently.
    """
    while True:
        state.check_open()
        if state.visible_seq > since:
            since = yield from _segment_changes(state, since)
        elif not follow:
            return
        else:
            state.clock.sleep(_POLL_SECONDS)


def check_offset(state: State, since: int) -> None:
    """Raise unless the log has everything after `since`."""
    segments = state.version.segments
    earliest = segments[0].first_seq if segments else state.visible_seq + 1
    if not earliest - 1 <= since <= state.visible_seq:
        raise OffsetOutOfRange(since, earliest, state.visible_seq)


def _segment_changes(state: State, since: int) -> Generator[Change, None, int]:
    """Yield the changes after `since` of the segment that has the next; return the last it has."""
    check_offset(state, since)
    meta = [meta for meta in state.version.segments if meta.first_seq <= since + 1][-1]
    try:
        file = _open(state, meta)
    except FileNotFoundError:
        check_offset(state, since)  # flushed and removed since the version was read
        return since
    try:
        return (yield from _file_changes(state, meta, file, since))
    finally:
        with suppress(OSError):  # nothing can be lost by closing what was only read
            file.close()


def _open(state: State, meta: SegmentMeta) -> ReadFile:
    name = segment_name(meta.number)
    try:
        return state.fs.open(name, Cause.LOG)
    except FileNotFoundError:
        raise
    except OSError as error:
        with typed_errors(f"{state.fs.name}/{name}", "reading changes"):
            raise error from None


def _file_changes(
    state: State, meta: SegmentMeta, file: ReadFile, since: int
) -> Generator[Change, None, int]:
    path = f"{state.fs.name}/{segment_name(meta.number)}"
    header = _header(file, path)
    position, next_seq, visible_seq = wal.SEGMENT_HEADER_BYTES, header.first_seq, state.visible_seq
    wanted_bytes = _READ_BYTES
    names = {space.id: space.name for space in state.spaces.values()}
    while next_seq <= visible_seq:
        with typed_errors(path, "reading changes"):
            data = file.read_upto(position, wanted_bytes)
        records, taken = wal.read_tail(data, header, next_seq)
        if not taken:
            if len(data) < wanted_bytes:
                break  # the end of this segment
            wanted_bytes *= 2  # one record larger than what was read
            continue
        for record in records:
            if record.first_seq > visible_seq:
                return max(since, next_seq - 1)
            next_seq = record.first_seq + record.entries
            if next_seq - 1 > since:
                yield from _record_changes(data, record, names, since, path)
        position += taken
        wanted_bytes = _READ_BYTES
    # Everything that is visible is in the log: a segment must reach to the next one, or to what is visible.
    following = [later.first_seq for later in state.version.segments if later.first_seq > meta.first_seq]
    if next_seq < min([*following, visible_seq + 1]):
        raise LogCorrupt(path, f"no whole record of {next_seq}, which was committed", offset=position)
    return max(since, next_seq - 1)


def _header(file: ReadFile, path: str) -> wal.SegmentHeader:
    try:
        with typed_errors(path, "reading changes"):
            header = wal.decode_header(file.read_upto(0, wal.SEGMENT_HEADER_BYTES))
    except wal.LogError as error:
        raise LogCorrupt(path, str(error), offset=0) from error
    if header is None:
        raise LogCorrupt(path, "segment has no header", offset=0)
    return header


def _record_changes(
    data: bytes, record: wal.Record, names: dict[int, str], since: int, path: str
) -> Iterator[Change]:
    seq = record.first_seq
    payload = data[record.payload_start : record.end]
    for keyspace, keys, values in decode(payload, record.entries, path=path, offset=record.position):
        for key, value in zip(keys, values, strict=True):
            if seq > since and keyspace in names:
                kind: Literal["put", "delete"] = "put" if isinstance(value, bytes) else "delete"
                stored = value if isinstance(value, bytes) else None
                yield Change(
                    seq, record.time_us, kind, key, stored, names[keyspace], record.first_seq, record.entries
                )
            seq += 1
