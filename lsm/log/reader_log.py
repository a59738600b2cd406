"""The log as a process reads it that does not write it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

import wal
from lsm.errors import ForeignLog, typed_errors
from lsm.filenames import LOCK, segment_name
from lsm.fs_types import Cause
from lsm.log.board import DurableEnd, decode_end
from lsm.log.place import Place, end_of_records, read_header
from lsm.log.source import SEQ_MAX, Shown

if TYPE_CHECKING:
    from lsm.clock import Clock
    from lsm.fs_types import FileSystem, ReadFile, Watch
    from lsm.reader import LiveReader
    from lsm.version import SegmentMeta, Version

_APART_SECONDS = 0.01
"""Readers in other processes wake so far apart, the first at once: the writer needs the processors, too."""
_PEEK_BYTES = wal.HEADER_BYTES


class Opened(Protocol):
    """A store that was opened to be read, with its tables or without."""

    @property
    def fs(self) -> FileSystem: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def version(self) -> Version: ...
    def check_open(self) -> None: ...


class ReaderLog:
    """The log of a store that this process only reads, beside a writer or without one."""

    def __init__(self, state: Opened, reader: LiveReader) -> None:
        self.fs = state.fs
        self.clock = state.clock
        self._state = state
        self._reader = reader
        self._version = state.version
        self._synced: dict[int, Place] = {}  # by segment: what this reader has synced by itself
        self._stamp: tuple[int, int] | None = None
        self._woken = 0.0
        self._watch: Watch | None = None
        self._lock = threading.Lock()

    @property
    def version(self) -> Version:
        """The store's files when this source last looked."""
        return self._version

    def refresh(self) -> None:
        """Look again which files there are, if anything was written about them since."""
        stamp = self._reader.stamp()
        if stamp is not None and stamp == self._stamp:
            return
        version = self._reader.read_version()
        if version.store_id != self._version.store_id:
            raise ForeignLog(f"{self.fs.name} is not the store that was opened here; open it again")
        self._version, self._stamp = version, stamp

    def _published(self, meta: SegmentMeta) -> DurableEnd | None:
        end = decode_end(self.fs.published(LOCK))
        return end if end is not None and end.number == meta.number else None

    def shown(self, meta: SegmentMeta) -> Shown:
        """Return how much of an unfinished segment is durable."""
        end = self._published(meta)
        known = 0 if end is None else end.position
        synced = self._synced[meta.number].position if meta.number in self._synced else 0
        return Shown(max(known, synced), SEQ_MAX, known >= synced)

    def sample(self, meta: SegmentMeta) -> tuple[int, int] | None:
        """Return a sequence number near the end of an unfinished segment, and the byte it begins at."""
        end = self._published(meta)
        return None if end is None or not end.sample_position else (end.sample_seq, end.sample_position)

    def is_newest(self, meta: SegmentMeta) -> bool:
        """Tell whether an unfinished segment is the one that the writer last spoke of."""
        return self._published(meta) is not None

    def index(self, meta: SegmentMeta) -> wal.SparseIndex | None:
        """Return where things are in an unfinished segment, as far as this handle has read it."""
        return self._reader.samples.index(meta)

    def note(self, meta: SegmentMeta, records: wal.Records, start: int) -> None:
        """Remember where records are that were read from byte `start` of an unfinished segment on."""
        self._reader.samples.note(meta, records, start)

    def settle(self) -> int:
        """Make everything that was written so far durable; what that is, is known once it is read."""
        self.refresh()
        for meta in self._version.segments:
            if meta.last_seq is None:
                self._sync(meta)
        return SEQ_MAX

    def _sync(self, meta: SegmentMeta) -> None:
        path = f"{self.fs.name}/{segment_name(meta.number)}"
        with typed_errors(path, "reading the log"):
            try:
                file = self.fs.open(segment_name(meta.number), Cause.LOG)
            except FileNotFoundError:
                return  # the writer has moved on, and the next refresh will show it
            self._sync_file(file, meta, path)

    def _sync_file(self, file: ReadFile, meta: SegmentMeta, path: str) -> None:
        try:
            known = self.shown(meta).position
            if known and not file.read_upto(known, _PEEK_BYTES).strip(b"\0"):
                return  # nothing was written behind what is durable
            header = read_header(file, meta, self._version.store_id, path)
            # Before the sync, which does not cover what is written meanwhile.  The length of the file says
            # nothing: space is reserved ahead of the records.
            end = end_of_records(file, header, self._start(meta))
            file.sync()
        finally:
            file.close()
        self._synced = {meta.number: end}

    def _start(self, meta: SegmentMeta) -> Place:
        """Return a record's place not far before the end of an unfinished segment."""
        front = Place(meta.first_seq, wal.SEGMENT_HEADER_BYTES)
        sample = self.sample(meta)
        return max(front, self._synced.get(meta.number, front), front if sample is None else Place(*sample))

    def wait(self, seconds: float) -> None:
        """Return when there may be more to show, or after so long."""
        with self._lock:
            if self._watch is None:
                self._watch = self.fs.watch(LOCK)
                return  # what was published before the watch began would be waited for
        started = self.clock.monotonic()
        self._watch.wait(seconds)
        now = self.clock.monotonic()
        pause = self._woken + _APART_SECONDS - now
        if pause > 0:
            self.clock.sleep(min(pause, max(0.0, seconds - (now - started))))
        self._woken = self.clock.monotonic()

    def check_open(self) -> None:
        """Raise if the handle was closed."""
        self._state.check_open()

    def close(self) -> None:
        """Give the watch back."""
        with self._lock:
            if self._watch is not None:
                self._watch.close()
            self._watch = None
