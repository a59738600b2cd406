"""Going on after the log took half a record: the disk was full, or the writer was interrupted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsm.errors import DiskFull, LogCorrupt, ReadOnlyError, WriteInterrupted
from lsm.filenames import segment_name
from lsm.segments import copy_records, create_segment, read_segment
from lsm.version import SegmentMeta

if TYPE_CHECKING:
    import wal
    from lsm.commit import Committer
    from lsm.state import State


def resume(state: State, committer: Committer) -> None:
    """Take writes again.

    Only a full disk and an interrupt are forgiven.  After a failed sync nobody knows what the disk holds;
    reopening finds out.
    """
    if state.failure is None:
        return
    if not isinstance(state.failure, DiskFull | WriteInterrupted):
        raise ReadOnlyError(f"{state.fs.name} must be closed and opened again, because: {state.failure}")
    with committer.exclusive():
        committer.replace_segment()


def continue_in_new_files(state: State, old: wal.SegmentWriter) -> wal.SegmentWriter:
    """Copy what is whole of the log into a new segment, and put it in force with a new manifest.

    The caller has the writers' turn.  The old files may end in half a record, so nothing is appended to
    them again.
    """
    number = old.header.number
    with state.edit_lock:
        old.file.close()
        meta = next(meta for meta in state.version.segments if meta.number == number)
        contents = read_segment(state.fs, state.version, replace(meta, last_seq=None, size_bytes=None))
        segment = create_segment(state.fs, state.clock, state.version, state.new_number(), meta.first_seq)
        # What a full disk refused is not there; what was interrupted may be whole, and a reader of the log
        # may have seen it by now.
        is_refused = isinstance(state.failure, DiskFull)
        copy_records(contents, segment, last_seq=state.visible_seq if is_refused else None)
        if segment.next_seq - 1 < state.visible_seq:
            segment.file.close()
            raise LogCorrupt(
                contents.path,
                f"the log holds writes up to {segment.next_seq - 1}, but {state.visible_seq} was visible",
                advice="close the store and open it again",
            )
        kept = tuple(other for other in state.version.segments if other.number != number)
        added = SegmentMeta(number=segment.header.number, first_seq=meta.first_seq)
        state.replace_manifest(replace(state.version, segments=(*kept, added)))
        for record in contents.records:
            if state.visible_seq < record.first_seq < segment.next_seq:
                state.apply(contents.writes(record), record.first_seq + record.entries - 1)
        with state.lock:
            state.failure = None
    state.remove_file(segment_name(number))
    return segment
