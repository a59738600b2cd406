"""Committing what comes whole from elsewhere: records that were shipped, a new epoch, adopted tables."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lsm.commit import Committer
from lsm.filenames import segment_name
from lsm.segments import create_segment
from lsm.shipped import ShippedRecord, group_for
from lsm.version import SegmentMeta, VersionEdit


class StoreCommitter(Committer):
    """Commits users' writes, and whatever else may go on the log of a store."""

    def append_shipped(self, records: Sequence[ShippedRecord]) -> None:
        """Commit records that another store has numbered and dated, as they are: one write, one sync.

        What does not go on where this log ends is refused, and so is what could not be read again.
        """
        with self._having_turn():
            with self._failing():
                if self._state.failure is not None or self.segment.file.size >= self.pause_at:
                    self.segment.sample(records[0].time_us)
                    self._before_write()
                group = group_for(self.segment, records, self._state.fs.name)
                writes = group.writes(self._state.version)
                group.append_to(self.segment)
                self.segment.sync()
                self._last_us = max(self._last_us, records[-1].time_us)
            for record in records:
                self._tally.batch(record.payload, record.entries)
            self._state.apply(writes, records[-1].last_seq)

    def start_epoch(self, edit_at: Callable[[int], VersionEdit]) -> None:
        """Go on in a new segment that comes into force together with an edit.

        `edit_at` gets the last sequence number before it.
        """
        with self._having_turn():
            self._state.check_writable()
            old = self.segment
            with self._failing():
                self._rotate(edit_at(old.next_seq - 1))
            if old.next_seq == old.header.first_seq:
                self._state.remove_file(segment_name(old.header.number))

    def adopt(self, flush: Callable[[], None], edit_at: Callable[[int], VersionEdit | None]) -> None:
        """Put an edit in force that takes sequence numbers, with nothing in memory and nobody writing.

        `edit_at` gets the first number it may take; its `flushed_seq` is the last it has taken.
        """
        self.seal()  # beside the other writers: what is left to flush with them waiting is little
        flush()
        with self._having_turn(), self._failing():
            self._state.check_writable()
            self._rotate()
            flush()
            edit = edit_at(self.segment.next_seq)
            if edit is not None:
                self._skip(edit)

    def _skip(self, edit: VersionEdit) -> None:
        """Go on in a new segment behind the numbers that an edit takes, in force together with it."""
        state, old = self._state, self.segment
        with state.edit_lock:
            next_seq = max(old.next_seq, (edit.flushed_seq or 0) + 1)
            # This syncs the directory: with the segment, the names of adopted tables become durable,
            # before the edit that uses them.
            new = create_segment(state.fs, state.clock, state.version, state.new_number(), next_seq)
            added = (*edit.segments_added, SegmentMeta(number=new.header.number, first_seq=next_seq))
            edit = replace(
                edit,
                next_number=state.next_number,
                segments_removed=(old.header.number,),
                segments_added=added,
            )
            try:
                state.install(edit)
            finally:
                if any(meta.number == new.header.number for meta in state.version.segments):
                    with state.lock:
                        self.segment = self._announced(new)
                        self.pause_at = 0
                        state.visible_seq = next_seq - 1
                        state.changed.notify_all()
                else:
                    new.file.close()
        self._tally.rotated(old, old.file.size, new)
        with self._sync_lock:
            old.file.close()
        state.remove_file(segment_name(old.header.number))
