"""How much of a log can be seen: by its writer's own process, or from outside."""

import time
from dataclasses import dataclass
from typing import Protocol

from wal.directory import Directory
from wal.errors import LogClosed, LogDamaged
from wal.index import SparseIndex
from wal.log_segment import LogSegment, damaged, first_offsets, naming, open_segment
from wal.publication import WriterState, decode_publication
from wal.reader import read_records

_LOOK_SECONDS_MIN, _LOOK_SECONDS_MAX = 0.001, 0.02


@dataclass(frozen=True, slots=True)
class Extent:
    """The last offset that is durable, and what is wrong behind it, if anything is."""

    latest: int
    damage: LogDamaged | None = None


class LogView(Protocol):
    """What reading asks of a log that is open.

    `extent` is what would survive a crash; `wait_past` waits until it goes beyond an offset, or for so long.
    `live_index` is the sparse index of the segment being written, which is not in its file yet.
    """

    @property
    def directory(self) -> Directory: ...
    @property
    def log_id(self) -> bytes: ...
    def check_open(self) -> None: ...
    def extent(self) -> Extent: ...
    def wait_past(self, offset: int, seconds: float | None, /) -> Extent: ...
    def live_index(self, first: int, /) -> SparseIndex | None: ...


def earliest_offset(view: LogView) -> int:
    """Return the first offset that is held, or the next one of a log that holds nothing."""
    firsts = first_offsets(view.directory)
    return firsts[0] if firsts else view.extent().latest + 1


class OutsideView:
    """A log that may have a writer elsewhere.

    While there is a writer, what it tells is believed.  Without one (it was closed, or killed, or another is
    yet opening the log) the end of the log is synced here before it is shown: the next writer will find it.
    """

    def __init__(self, directory: Directory, log_id: bytes) -> None:
        self.directory = directory
        self.log_id = log_id
        self._is_closed = False
        self._settled: tuple[object, Extent] | None = None

    def close(self) -> None:
        """End all reading."""
        self._is_closed = True

    def check_open(self) -> None:
        """Raise LogClosed after a close."""
        if self._is_closed:
            raise LogClosed(f"{self.directory.path}: the log was closed")

    def live_index(self, first: int, /) -> SparseIndex | None:
        """Return nothing: the writer keeps it."""
        return None

    def wait_past(self, offset: int, seconds: float | None, /) -> Extent:
        """Look again and again, less and less often."""
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _LOOK_SECONDS_MIN
        while True:
            self.check_open()
            extent = self.extent()
            left = pause if deadline is None else deadline - time.monotonic()
            if extent.latest > offset or extent.damage is not None or left <= 0:
                return extent
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LOOK_SECONDS_MAX)

    def extent(self) -> Extent:
        """Return what would survive a crash."""
        has_writer, told = self.directory.look_at_lock()
        publication = decode_publication(told)
        if publication is None or publication.log_id != self.log_id:
            return self._settle(told, acknowledged=0)
        is_current = has_writer and publication.state is WriterState.WRITING
        if is_current or publication.state is WriterState.FAILED:
            return Extent(publication.durable)
        return self._settle(told, publication.durable)

    def _settle(self, told: bytes, acknowledged: int) -> Extent:
        while firsts := first_offsets(self.directory):
            try:
                segment = open_segment(self.directory, firsts[-1], self.log_id)
                key = told, segment.header, self.directory.size(segment.name)
                if self._settled is None or self._settled[0] != key:
                    self._settled = key, Extent(durable_end(segment, acknowledged))
                return self._settled[1]
            except LogDamaged as error:
                return Extent(error.last_good, error)
            except FileNotFoundError:
                continue  # a writer came, and trimmed
        missing = damaged(self.directory, 1, "segment is missing, as are all others", byte=0, last_good=0)
        return Extent(0, missing)


def durable_end(segment: LogSegment, acknowledged: int) -> int:
    """Make the newest segment durable, and return the last offset in it."""
    closing = segment.closing()
    if closing is not None:
        position, latest = segment.directory.size(segment.name), closing.next_seq - 1
    else:
        data = segment.read_all()
        segment.directory.sync_file(segment.name)
        with naming(segment.directory, segment.first):
            end = read_records(data, segment.header)[1]
        position, latest = end.position, end.next_seq - 1
    refuse_loss(segment, position, latest, acknowledged)
    return latest


def refuse_loss(segment: LogSegment, byte: int, latest: int, acknowledged: int) -> None:
    """Raise if the writer told of more than what is there."""
    if latest < acknowledged:
        what = f"entries up to {acknowledged} were durable, but it ends with {latest}"
        raise damaged(segment.directory, segment.first, what, byte=byte, last_good=latest)
