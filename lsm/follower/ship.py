"""The side that gives: a store's log as a stream of frames, after a snapshot of its tables where need be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lsm.errors import OffsetOutOfRange
from lsm.follower import frames
from lsm.follower.messages import (
    Position,
    books_of,
    encode_books,
    encode_hello,
    encode_position,
    encode_records,
    encode_snapshot,
    encode_table,
)
from lsm.log.cursor import LogCursor
from lsm.log.offsets import check_seq, earliest, latest
from lsm.log.source import SETTLE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lsm.follower.source import SourceLog
    from lsm.fs_types import ReadFile
    from lsm.shipped import ShippedRecord
    from lsm.version import TableChange, Version

FRAME_BYTES = 1024 * 1024
_BEAT_SECONDS = 1.0
"""A stream that has nothing to say says so this often: a broken one is noticed."""


class Writable(Protocol):
    """All that is asked of a stream that is written."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""

    def flush(self) -> None:
        """Send what was written."""


class Shipper:
    """Writes one stream."""

    def __init__(self, source: SourceLog, out: Writable, progress: Callable[[int, int], None] | None) -> None:
        self._source = source
        self._out = out
        self._progress = progress
        self._encoder = frames.FrameEncoder()
        self._said: Version | None = None  # as of this version, the other side knows epochs and keyspaces
        self.seq = 0

    def begin(self, since: int | None) -> int:
        """Greet, and send a snapshot if that is what it takes; return where the log goes on."""
        source = self._source
        latest_seq = latest(source)
        first = earliest(source.version)
        if since is None:
            if first > 1:
                return self._send_snapshot()
            since = 0
        check_seq(since, "since")
        if not first - 1 <= since <= latest_seq:
            raise OffsetOutOfRange(since, first, latest_seq)
        self._say(source.version)
        self.seq = since
        # The record that ends there goes along, so that the other side can tell whether its log is this one.
        return since - 1 if since >= first else since

    def send_log(self, since: int, *, follow: bool, timeout: float | None) -> None:
        """Send the log after `since`: what is durable at the call, or for ever."""
        clock, cursor = self._source.clock, LogCursor(self._source, since)
        goal = latest(self._source)
        self._send_position(goal)
        try:
            last_news = last_beat = clock.monotonic()
            while follow or cursor.next_seq <= goal:
                piece = cursor.next_piece()
                # After the log: this manifest knows every keyspace that the records write to.
                self._source.refresh()
                self._say(self._source.version)
                now = clock.monotonic()
                if piece is not None:
                    for records in self._source.shipped(piece):
                        self._send_records(records)
                    goal = max(goal, self.seq)
                    last_news = now
                elif not follow or (timeout is not None and now - last_news >= timeout):
                    return
                else:
                    self._source.wait(SETTLE_SECONDS)
                    if now - last_news >= SETTLE_SECONDS:
                        goal = max(goal, latest(self._source))
                    if now - last_beat < _BEAT_SECONDS:
                        continue
                last_beat = now
                self._send_position(goal)
        finally:
            cursor.close()

    def _say(self, version: Version) -> None:
        """Tell the other side what it does not know yet of epochs and keyspaces."""
        said = self._said
        if said is None or said.epochs != version.epochs:
            self._send(frames.HELLO, encode_hello(version))
            said = None
        if said is None or not books_of(said).says_the_same(books_of(version)):
            self._send(frames.KEYSPACES, encode_books(books_of(version)))
        self._said = version

    def _send_records(self, records: Sequence[ShippedRecord]) -> None:
        for group in _frames_of(records):
            self._send(frames.RECORDS, encode_records(group))
        self.seq = records[-1].last_seq

    def _send_position(self, goal: int) -> None:
        self._send(frames.POSITION, encode_position(Position(self.seq, goal)))
        self._out.flush()
        if self._progress is not None:
            self._progress(self.seq, goal)

    def _send_snapshot(self) -> int:
        version, files, closing = self._source.snapshot()
        with closing:
            self._say(version)
            self._send(frames.SNAPSHOT, encode_snapshot(version))
            for change in version.as_edit().tables_added:
                self._send_table(change, files[change.table.number])
            self._send(frames.SNAPSHOT_END, b"")
        self.seq = version.flushed_seq
        return version.flushed_seq

    def _send_table(self, change: TableChange, file: ReadFile) -> None:
        self._send(frames.TABLE, encode_table(change))
        for start in range(0, change.table.size_bytes, frames.DATA_BYTES_MAX):
            size = min(frames.DATA_BYTES_MAX, change.table.size_bytes - start)
            self._send(frames.DATA, file.pread(start, size))

    def _send(self, kind: bytes, payload: bytes) -> None:
        self._out.write(self._encoder.encode(kind, payload))


def _frames_of(records: Sequence[ShippedRecord]) -> Iterator[list[ShippedRecord]]:
    """Yield the records in groups that make frames of a bounded size, as far as single records let them."""
    group: list[ShippedRecord] = []
    size_bytes = 0
    for record in records:
        if group and size_bytes + len(record.payload) > FRAME_BYTES:
            yield group
            group, size_bytes = [], 0
        group.append(record)
        size_bytes += len(record.payload) + 16
    yield group
