"""The one writer of a log: appends in groups, segments one after the other, and what readers may see."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from wal.directory import Directory, WriterLock
from wal.errors import LogClosed, LogDamaged, LogFailed
from wal.group import CommitQueue, PendingWrite
from wal.index import SparseIndex
from wal.log_recovery import new_header, recover
from wal.log_retention import LogSettings, expired, trimmed
from wal.log_segment import create_segment, first_offsets, open_segment, segment_name
from wal.log_view import Extent
from wal.publication import Publication, WriterState, decode_publication
from wal.record import HEADER_BYTES

_GROUP_BYTES_MAX = 1024 * 1024


class LogWriter:
    """Owns the segment that is being written; threads take turns through a CommitQueue."""

    def __init__(
        self, directory: Directory, lock: WriterLock, settings: LogSettings, time_ns: Callable[[], int]
    ) -> None:
        """Recover the log.  The caller has taken the lock, and releases it if this fails."""
        self.directory = directory
        self._lock = lock
        self._settings = settings
        self._time_ns = time_ns
        self._last_us = time_ns() // 1000
        self._queue = CommitQueue(self._commit_group, group_bytes_max=_GROUP_BYTES_MAX)
        self._changed = threading.Condition()
        self._trimming, self._closing = threading.Lock(), threading.Lock()
        self._durable = 0
        self._error: BaseException | None = None
        self._is_closed = False
        told = decode_publication(directory.look_at_lock()[1])
        if told is not None and told.state is WriterState.WRITING:
            # Readers may have gone beyond it while there was no writer: they must not be held back now.
            lock.tell(replace(told, state=WriterState.OPENING).encode())
        self._retain()  # before anything else: on a full disk it makes room
        self._segment, self._last_us = recover(directory, told, self._last_us)
        self.log_id = self._segment.header.store_id
        try:
            self._publish()
        except BaseException:
            self._segment.file.close()
            raise

    # Writing.

    def append(self, payload: bytes, count: int, sync: bool | None) -> int:
        """Commit one record; return its first offset."""
        return self._commit(payload, count, self._settings.sync if sync is None else sync).first_seq

    def sync(self) -> None:
        """Make everything appended so far durable."""
        self._commit(b"", 0, sync=True)

    def trim(self, before: int) -> None:
        """Remove segments that hold only offsets before `before`; the newest is finished first if it must."""
        if self._segment.header.first_seq < before == self.next_offset:
            self._commit(b"", 0, sync=True, work=self._roll_if_used)
        self._remove(lambda firsts: trimmed(firsts, before))

    def close(self) -> None:
        """Finish the segment and let another writer in; the second call does nothing."""
        if not self._lock.is_held:
            self._segment.file.close()  # after a close nothing, in a forked child its own handle
            return
        with self._closing:
            if self._is_closed:
                return
            try:
                if self._error is None:
                    self._commit(b"", 0, sync=True, work=self._finish)
            finally:
                self._is_closed = True
                self._segment.file.close()
                self._lock.release()
                with self._changed:
                    self._changed.notify_all()

    def _commit(
        self, payload: bytes, count: int, sync: bool, work: Callable[[], None] | None = None
    ) -> PendingWrite:
        """Let the turn come to this write, or to other work that needs it."""
        self.check_open()
        write = PendingWrite(payload, count, sync, lambda _: work() if work is not None else None)
        self._queue.commit(write)
        return write

    def _commit_group(self, group: Sequence[PendingWrite]) -> None:
        """Write, sync if anybody asked for it, then do what else needs the turn."""
        self._check_writable()
        try:
            self._write(group)
            if any(write.sync for write in group):
                self._sync()
            for write in group:
                write.apply(write.first_seq)
        except BaseException as error:
            self._fail(error)
            if isinstance(error, OSError):
                raise LogFailed(self.directory.path, error) from error
            raise

    def _write(self, group: Sequence[PendingWrite]) -> None:
        records_bytes = sum(HEADER_BYTES + len(write.payload) for write in group)
        if self._segment.file.size + records_bytes > self._settings.segment_bytes:
            self._roll_if_used()
        segment, time_us = self._segment, self._now_us()
        ahead, records = 0, []
        for write in group:
            write.first_seq = segment.next_seq
            if write.count:
                records.append(segment.encode(write.payload, write.count, time_us, ahead_bytes=ahead))
                ahead += len(records[-1])
        if records:
            segment.append(b"".join(records))

    def _sync(self) -> None:
        if self._segment.synced_upto < self._segment.file.size:
            self._segment.sync()
            self._publish()

    def _roll_if_used(self) -> None:
        """Finish the segment, if it holds anything, and begin the next one."""
        old = self._segment
        if old.next_seq == old.header.first_seq:
            return
        old.close(self._now_us())
        self._publish()
        self._segment = create_segment(self.directory, new_header(self.log_id, old.next_seq, self._last_us))
        self._retain()

    def _finish(self) -> None:
        self._segment.close(self._now_us())
        self._is_closed = True

    def _now_us(self) -> int:
        # The clock may be set back.  The times of a log may not, or no search by time would be right.
        self._last_us = max(self._last_us, self._time_ns() // 1000)
        return self._last_us

    def _publish(self) -> None:
        """Tell readers, here and elsewhere, that all of the segment is durable."""
        durable = self._segment.next_seq - 1
        self._lock.tell(Publication(self.log_id, durable, WriterState.WRITING).encode())
        with self._changed:
            self._durable = durable
            self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        """Refuse all further writes: nobody knows what is on disk."""
        self._error = error
        with suppress(OSError):  # the first error is the one to report
            self._lock.tell(Publication(self.log_id, self._durable, WriterState.FAILED).encode())

    # Trimming.

    def _retain(self) -> None:
        def choose(firsts: Sequence[int]) -> Sequence[int]:
            return expired(
                firsts,
                self._settings,
                self._now_us(),
                size_of=lambda first: self.directory.size(segment_name(first)),
                begun_us=self._begun_us,
            )

        self._remove(choose)

    def _begun_us(self, first: int) -> int:
        try:
            return open_segment(self.directory, first).header.time_us
        except LogDamaged:
            return self._last_us  # kept, for whoever reads it to hear

    def _remove(self, choose: Callable[[Sequence[int]], Sequence[int]]) -> None:
        with self._trimming:
            for first in choose(first_offsets(self.directory)):
                self.directory.remove(segment_name(first))
                # One by one, oldest first: a crash must not leave a hole.
                self.directory.sync()

    # What readers in this process see.

    @property
    def next_offset(self) -> int:
        """The offset that the next entry will have, durable or not."""
        return self._segment.next_seq

    def check_open(self) -> None:
        """Raise LogClosed after a close, and in a forked child."""
        if self._is_closed:
            raise LogClosed(f"{self.directory.path}: the log was closed")
        if not self._lock.is_held:
            raise LogClosed(f"{self.directory.path}: the log belongs to the parent process; open it again")

    def _check_writable(self) -> None:
        self.check_open()
        if self._error is not None:
            raise LogFailed(self.directory.path, self._error) from self._error

    def extent(self) -> Extent:
        """Return what would survive a crash."""
        return Extent(self._durable)

    def wait_past(self, offset: int, seconds: float | None, /) -> Extent:
        """Wait until more than `offset` is durable, or for so long, or until the log is closed."""
        self.check_open()
        with self._changed:
            self._changed.wait_for(lambda: self._durable > offset or self._is_closed, seconds)
        self.check_open()
        return self.extent()

    def live_index(self, first: int, /) -> SparseIndex | None:
        """Return the sparse index of the segment that is being written."""
        segment = self._segment
        return segment.index() if segment.header.first_seq == first else None
