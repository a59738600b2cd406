"""The log as the process reads it that writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wal
from lsm.log.source import Shown

if TYPE_CHECKING:
    from lsm.commit import Committer
    from lsm.state import State
    from lsm.version import SegmentMeta, Version

_PAUSE_SECONDS = 0.002
"""A reader that was woken waits a moment more: what comes meanwhile is read at once; writers are spared."""


class WriterLog:
    """The log of a store that is open for writing in this process."""

    def __init__(self, state: State, committer: Committer) -> None:
        self.fs = state.fs
        self.clock = state.clock
        self._state = state
        self._committer = committer
        self._last_seq = state.visible_seq

    @property
    def version(self) -> Version:
        """The store's files."""
        return self._state.version

    def refresh(self) -> None:
        """Nothing to do: the version is always the present one."""

    def shown(self, meta: SegmentMeta) -> Shown:
        """Return how much of an unfinished segment is durable and visible."""
        # The order matters: what is visible now is in the log already.
        seq, segment = self._state.visible_seq, self._committer.segment
        is_current = segment.header.number == meta.number
        return Shown(segment.synced_upto if is_current else wal.SEGMENT_BYTES_MAX, seq, is_current)

    def sample(self, meta: SegmentMeta) -> tuple[int, int] | None:
        """Return a sequence number near the end of an unfinished segment, and the byte it begins at."""
        segment = self._committer.segment
        return segment.durable_sample if segment.header.number == meta.number else None

    def is_newest(self, meta: SegmentMeta) -> bool:
        """Tell whether an unfinished segment is the one being written."""
        return self._committer.segment.header.number == meta.number

    def index(self, meta: SegmentMeta) -> wal.SparseIndex | None:
        """Return where things are in an unfinished segment."""
        segment = self._committer.segment
        return segment.index() if segment.header.number == meta.number else None

    def note(self, meta: SegmentMeta, records: wal.Records, start: int) -> None:
        """Nothing to learn: the writer has the index of what it writes."""

    def settle(self) -> int:
        """Make everything that is visible durable; return its last sequence number."""
        seq = self._state.visible_seq
        self._committer.sync()
        return seq

    def wait(self, seconds: float) -> None:
        """Return when there may be more to show, or after so long."""
        state = self._state
        with state.lock:
            state.tailers += 1
            try:
                if state.visible_seq == self._last_seq:
                    state.changed.wait(seconds)
                woken, self._last_seq = state.visible_seq != self._last_seq, state.visible_seq
            finally:
                state.tailers -= 1
        if woken:
            self.clock.sleep(min(seconds, _PAUSE_SECONDS))

    def check_open(self) -> None:
        """Raise if the store was closed."""
        self._state.check_open()

    def close(self) -> None:
        """Nothing is held."""
