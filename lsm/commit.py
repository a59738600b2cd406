"""The write path: log first, then memory, then visible.

Writers take turns (wal.CommitQueue).  A thread that finds the turn free writes its own record at once;
threads that find it taken queue up and are written together, with one write and one sync.  Nothing is
applied to memory, and so nothing is visible, before it is in the log and, if asked for, synced.
"""

import errno
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from zlib import crc32

import wal
from lsm.errors import ClosedError, CommitUncertain, DiskFull, Error, WriteInterrupted
from lsm.log.board import DurableEnd
from lsm.payload import HEAD_PUT, ONE, Value, Writes, encode_one
from lsm.resume import continue_in_new_files
from lsm.segments import closed_segment, create_segment
from lsm.state import Generation, Space, State
from lsm.user_bytes import UserBytes
from lsm.version import SegmentMeta, VersionEdit
from wal import PendingWrite

_PACK_CRC = wal.CRC.pack
_PACK_PUT = struct.Struct(f"<{wal.BODY_FORMAT}III").pack
"""The header of a record with a single put, and the head of its payload, at once."""

GROUP_BYTES_MAX = 1024 * 1024
TRICKLE_BYTES = 1024 * 1024
"""Unsynced log beyond this is synced in the background, so that closing a segment has little left to sync."""


class Committer:
    """Owns the log segment that is being written."""

    def __init__(
        self, state: State, segment: wal.SegmentWriter, wait_for_room: Callable[[int], None]
    ) -> None:
        self._state = state
        self.publish: Callable[[bytes], None] | None = None
        """Where readers in other processes learn how far the log is durable."""
        self.segment = self._announced(segment)
        self._wait_for_room = wait_for_room
        self._queue = wal.CommitQueue(self._commit_group, group_bytes_max=GROUP_BYTES_MAX)
        self._turn = self._queue.turn
        self._waiting = self._queue.waiting
        self._sync_lock = threading.Lock()
        self._sync_always = state.options.sync == "always"
        self._time_ns = state.clock.time_ns
        self._last_us = max((meta.last_time_us or 0 for meta in state.version.segments), default=0)
        self.pause_at = 0  # log size from which a write looks whether it must wait or seal
        self.wants_sync = threading.Event()
        self._tally = UserBytes(segment)

    def put(self, space: Space, key: bytes, value: bytes, sync: bool | None) -> None:
        """Commit one put."""
        if self._queue.crowd > 1 or not self._turn.acquire(False):
            self._commit_one(space, key, value, sync)
            return
        # What follows is the most travelled path of the product: it spells out what _commit_group does, for
        # one write (bench: fillrandom).
        try:
            state, segment = self._state, self.segment
            if segment.file.size >= self.pause_at:
                self._before_write()
                segment = self.segment
            seq = segment.next_seq
            key_bytes, value_bytes = len(key), len(value)
            time_us = self._time_ns() // 1000
            if time_us < self._last_us:
                time_us = self._last_us
            self._last_us = time_us
            body = _PACK_PUT(
                ONE.size + key_bytes + value_bytes,  # from here the header of a record, as in wal/record.py
                wal.DATA,
                seq,
                time_us,
                segment.synced_upto,
                1,
                space.id << 8 | HEAD_PUT,  # from here the head of its payload, as in payload.ONE
                key_bytes,
                value_bytes,
            )
            body = body + key + value
            segment.file.append(_PACK_CRC(crc32(body, segment.seed)) + body)
            segment.next_seq = seq + 1
            if self._sync_always if sync is None else sync:
                segment.sync()
            with state.lock:
                space.memtable.top.entries[key] = value
                state.visible_seq = seq
                if state.tailers:
                    state.changed.notify_all()
        except OSError as error:
            raise self._failed(error) from error
        except BaseException as error:
            self._interrupted(error)
            raise
        finally:
            if self._waiting:
                self._queue.pass_turn()
            else:
                self._turn.release()
                if self._waiting and self._turn.acquire(False):
                    self._queue.pass_turn()

    def delete(self, space: Space, key: bytes, tombstone: Value, sync: bool | None) -> None:
        """Commit one deletion."""
        self._commit_one(space, key, tombstone, sync)

    def write(self, payload: bytes, count: int, writes: Sequence[Writes], sync: bool | None) -> int:
        """Commit one batch, all or nothing; return its first sequence number."""
        wanted = self._sync_always if sync is None else sync
        write = PendingWrite(
            payload, count, wanted, lambda first: self._state.apply(writes, first + count - 1)
        )
        try:
            self._queue.commit(write)
        except wal.WriteAbandoned as error:
            raise WriteInterrupted(errno.EINTR, str(error) or "the writing thread was interrupted") from error
        return write.first_seq

    def _commit_one(self, space: Space, key: bytes, value: Value, sync: bool | None) -> None:
        self.write(encode_one(space.id, key, value), 1, [Writes(space.id, [key], [value])], sync)

    def _commit_group(self, group: Sequence[PendingWrite]) -> None:
        """Write, sync if anybody asked for it, then apply all in order.  The caller has the turn."""
        try:
            if self.segment.file.size >= self.pause_at:
                self._before_write()
            segment = self.segment
            time_us = self._now_us()
            ahead, records = 0, []
            for write in group:
                write.first_seq = segment.next_seq
                records.append(segment.encode(write.payload, write.count, time_us, ahead_bytes=ahead))
                ahead += len(records[-1])
            segment.append(records[0] if len(records) == 1 else b"".join(records))
            if any(write.sync for write in group):
                segment.sync()
        except OSError as error:
            raise self._failed(error) from error
        except BaseException as error:
            self._interrupted(error)
            raise
        for write in group:
            self._tally.batch(write.payload, write.count)
            write.apply(write.first_seq)

    def _before_write(self) -> None:
        """Refuse, wait, or seal, as needed; then say when to look again.  The caller has the turn."""
        if isinstance(self._state.failure, WriteInterrupted):
            with self._sync_lock:
                self.replace_segment()
        self._state.check_writable()
        self.segment.sample(self._now_us())
        size = self.segment.file.size
        if size - self.segment.synced_upto >= TRICKLE_BYTES:
            self.wants_sync.set()
        self._wait_for_room(size)
        if size >= self._state.options.seal_bytes:
            self._rotate()

    def _now_us(self) -> int:
        """Return the time of what is written now; a clock may be set back, but no log goes back in time."""
        self._last_us = max(self._last_us, self._time_ns() // 1000)
        return self._last_us

    def look(self) -> None:
        """Let the next write look whether it may go on."""
        self.pause_at = 0

    def look_again(self, pause_at: int) -> None:
        """Let the next write from this log size on look whether it must wait or seal."""
        trickle_at = self.segment.file.size + TRICKLE_BYTES
        self.pause_at = min(pause_at, self._state.options.seal_bytes, trickle_at, self.segment.sample_at)

    def _failed(self, error: OSError) -> Error:
        """Decide what a failed write means for the store, and return what its caller gets."""
        if isinstance(error, Error):
            return error
        # A log that failed once is never appended to again: what it holds behind its last good record is
        # unknown.
        self.pause_at = 0
        path = self._state.fs.name
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            failure: Error = DiskFull(path, f"writing the log ({error})")
        else:
            failure = CommitUncertain(
                error.errno or errno.EIO,
                f"{path}: the log could not be written ({error}); reopening tells if this write survived",
            )
        self._state.fail(failure)
        return failure

    def _interrupted(self, error: BaseException) -> None:
        """Note that the log may end in half a record, unless nothing was being written."""
        if not isinstance(error, Error):
            self.pause_at = 0
            self._state.fail(
                WriteInterrupted(errno.EINTR, f"a write was interrupted by {type(error).__name__}")
            )

    def replace_segment(self) -> None:
        """Go on in a new segment with what is committed.  The caller has the turn and the sync lock."""
        # The new segment holds the same records at the same places, so the tally goes on as it is.
        self.segment = self._announced(continue_in_new_files(self._state, self.segment))
        self.pause_at = 0

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep writers out, for work that replaces the segment."""
        with self._having_turn(), self._sync_lock:
            yield

    @contextmanager
    def _having_turn(self) -> Iterator[None]:
        self._turn.acquire()
        try:
            yield
        finally:
            self._queue.pass_turn()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Decide what an error means for the store."""
        try:
            yield
        except OSError as error:
            raise self._failed(error) from error
        except BaseException as error:
            self._interrupted(error)
            raise

    def seal(self) -> None:
        """Close the segment and set the memtables aside, if they hold anything."""
        with self._having_turn():
            self._state.check_writable()
            with self._failing():
                self._rotate()

    def _rotate(self, also: VersionEdit | None = None) -> None:
        state, old = self._state, self.segment
        is_empty = old.next_seq == old.header.first_seq
        if is_empty and also is None:
            return
        # The old segment is whole before the new one exists: only the newest may ever end in a torn record.
        old_bytes = old.file.size
        with self._sync_lock:
            old.close(self._now_us())
        new: wal.SegmentWriter | None = None
        try:
            with state.edit_lock:
                version = state.version if also is None else state.version.after(also)
                new = create_segment(state.fs, state.clock, version, state.new_number(), old.next_seq)
                edit = replace(
                    also or VersionEdit(),
                    next_number=state.next_number,
                    segments_closed=() if is_empty else (closed_segment(old),),
                    segments_removed=(old.header.number,) if is_empty else (),
                    segments_added=(SegmentMeta(number=new.header.number, first_seq=new.header.first_seq),),
                )
                state.append_edit(edit)
        finally:
            # Also after an interrupt: once the edit is in force, memory must follow.
            if new is not None and any(meta.number == new.header.number for meta in state.version.segments):
                self._go_on_with(new, old, old_bytes)
            elif new is not None:
                new.file.close()

    def _go_on_with(self, new: wal.SegmentWriter, old: wal.SegmentWriter, old_bytes: int) -> None:
        """Write to the new segment from now on, and set aside what the old one holds."""
        with self._state.lock:
            if old.next_seq > old.header.first_seq:
                self._state.seal(generation_of(old))
            self.segment = self._announced(new)
            self.pause_at = 0
        self._tally.rotated(old, old_bytes, new)

    def sync(self) -> None:
        """Make everything written so far durable."""
        with self._sync_lock:
            segment = self.segment
            if segment.synced_upto >= segment.file.size:
                return
            try:
                segment.sync()
            except OSError as error:
                raise self._failed(error) from error

    def open_log_bytes(self) -> int:
        """Return how much log the segment has that is being written."""
        return self.segment.file.size

    def _announced(self, segment: wal.SegmentWriter) -> wal.SegmentWriter:
        """Return the segment, whose syncs are published from now on."""
        segment.on_synced = self._announce
        return segment

    def _announce(self, segment: wal.SegmentWriter) -> None:
        if self.publish is not None:
            sample_seq, sample_position = segment.durable_sample or (0, 0)
            self.publish(
                DurableEnd(segment.header.number, segment.synced_upto, sample_seq, sample_position).encode()
            )

    @property
    def user_bytes(self) -> int:
        """Bytes of keys and values that were written since the store was opened."""
        return self._tally.total(self.segment)

    def close(self) -> SegmentMeta:
        """Finish the segment; return its facts for the manifest."""
        with self._having_turn(), self._sync_lock:
            self.segment.close(self._now_us())
            self._state.fail(ClosedError(f"{self._state.fs.name} was closed"))
            self.pause_at = 0  # whoever comes now is told
            return closed_segment(self.segment)

    def abandon(self) -> None:
        """Let go of the segment as it is."""
        with self._having_turn(), self._sync_lock:
            self.segment.file.close()


def generation_of(segment: wal.SegmentWriter) -> Generation:
    """Return the generation that a finished segment makes up."""
    return Generation(
        segment=segment.header.number,
        first_seq=segment.header.first_seq,
        last_seq=segment.next_seq - 1,
        log_bytes=segment.file.size,
    )
