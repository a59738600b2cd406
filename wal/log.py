"""A durable, replayable log in a directory: one writer, any number of readers, each at its own pace."""

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self

from wal.directory import Directory, OsDirectory
from wal.entry import Entry, encode_entries
from wal.errors import LogDamaged, LogNotFound, LogReadOnly, OffsetOutOfRange
from wal.log_reader import check_offset, read_entries, seek_time
from wal.log_retention import SEGMENT_BYTES, LogSettings
from wal.log_segment import first_offsets, open_segment
from wal.log_view import OutsideView, earliest_offset
from wal.log_writer import LogWriter

if TYPE_CHECKING:
    import os

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Log:
    """An open log.  Offsets count entries from 1 and are never used twice; every method is thread safe.

    `Log.open` is the way to make one; the constructor takes any `wal.Directory`.
    """

    def __init__(
        self,
        directory: Directory,
        settings: LogSettings | None = None,
        *,
        time_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Open for writing with `settings`, or only to be read without."""
        self.path = directory.path
        self._writer: LogWriter | None = None
        if settings is None:
            self._outside = OutsideView(directory, _find_id(directory))
            return
        lock = directory.lock()
        try:
            self._writer = LogWriter(directory, lock, settings, time_ns)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls,
        path: "str | os.PathLike[str]",
        *,
        segment_bytes: int = SEGMENT_BYTES,
        retention_bytes: int | None = None,
        retention_seconds: float | None = None,
        sync: bool = True,
        read_only: bool = False,
    ) -> Self:
        """Open the log in the directory `path`; it is made if there is none, unless it is to be read only.

        A segment is finished when it has `segment_bytes`, and removed when the log is larger than
        `retention_bytes` or its entries are older than `retention_seconds`.  With `sync`, an append returns
        when it is durable.
        """
        settings = LogSettings(
            segment_bytes=segment_bytes,
            retention_bytes=retention_bytes,
            retention_seconds=retention_seconds,
            sync=sync,
        )
        if not read_only:
            return cls(OsDirectory(path, create=True), settings)
        try:
            return cls(OsDirectory(path))
        except FileNotFoundError as error:
            raise LogNotFound(f"no log at {error.filename}") from error

    def append(self, payload: bytes, *, sync: bool | None = None) -> int:
        """Append one entry and return its offset.

        With sync=False it is not durable yet: a crash may lose it, and no reader sees it before a later sync.
        """
        return self._writing().append(encode_entries([_as_bytes(payload)]), 1, sync)

    def append_many(self, payloads: Iterable[bytes], *, sync: bool | None = None) -> int:
        """Append entries together, all or nothing, and return the offset of the first."""
        entries = [_as_bytes(payload) for payload in payloads]
        if not entries:
            raise ValueError("nothing to append")
        return self._writing().append(encode_entries(entries), len(entries), sync)

    def sync(self) -> None:
        """Make durable, and visible to readers, everything appended before the call."""
        self._writing().sync()

    def trim(self, before_offset: int) -> None:
        """Give up entries with lower offsets: segments that hold nothing else are removed."""
        writer = self._writing()
        if before_offset > writer.next_offset:
            raise OffsetOutOfRange(before_offset, self.earliest, self.latest)
        writer.trim(before_offset)

    @property
    def id(self) -> str:
        """What tells this log from every other: an offset means nothing in a log with another id."""
        return self._view.log_id.hex()

    @property
    def earliest(self) -> int:
        """The first offset that can be read; of an empty log, the one to come next."""
        return earliest_offset(self._opened())

    @property
    def latest(self) -> int:
        """The last offset that can be read, because it is durable; `earliest - 1` if there is none."""
        extent = self._opened().extent()
        if extent.damage is not None:
            raise extent.damage
        return extent.latest

    def read(
        self, offset: int, until: int | None = None, *, follow: bool = False, timeout: float | None = None
    ) -> Iterator[Entry]:
        """Yield the entries from `offset` to `until`, both inclusive, or to the last one durable by now.

        With `follow`, go on with entries as they become durable, until none has come for `timeout` seconds.
        Raises OffsetGone, also in the midst of it, where the next entry has been trimmed: nothing is skipped.
        """
        view = self._opened()
        extent = view.extent()
        next_offset = self._writer.next_offset if self._writer is not None else extent.latest + 1
        check_offset(view, offset, next_offset)
        return read_entries(view, extent, offset, until, follow=follow, timeout=timeout)

    def seek_time(self, time: datetime | int) -> int:
        """Return the offset of the first entry appended at `time` or later, or the offset to come next.

        `time` is a datetime with a time zone, or microseconds since 1970.
        """
        return seek_time(self._opened(), _as_us(time))

    def close(self) -> None:
        """Make everything durable, finish, and let another writer in; the second call does nothing."""
        if self._writer is not None:
            self._writer.close()
        else:
            self._outside.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _view(self) -> LogWriter | OutsideView:
        return self._outside if self._writer is None else self._writer

    def _opened(self) -> LogWriter | OutsideView:
        view = self._view
        view.check_open()
        return view

    def _writing(self) -> LogWriter:
        self._opened()
        if self._writer is None:
            raise LogReadOnly(f"{self.path} was opened with read_only=True")
        return self._writer


def _find_id(directory: Directory) -> bytes:
    """Return the id of the log, which every segment carries; the newest that can be read is asked."""
    damage: LogDamaged | None = None
    for first in reversed(first_offsets(directory)):
        try:
            return open_segment(directory, first).header.store_id
        except FileNotFoundError:
            continue  # trimmed meanwhile
        except LogDamaged as error:
            damage = damage or error
    raise damage or LogNotFound(f"no log at {directory.path}")


def _as_bytes(payload: bytes) -> bytes:
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise TypeError(f"a payload is bytes, not {type(payload).__name__}")
    return bytes(payload)


def _as_us(time: datetime | int) -> int:
    if isinstance(time, int):
        return time
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone")
    return (time - _EPOCH) // timedelta(microseconds=1)
