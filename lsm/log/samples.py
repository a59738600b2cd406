"""Where things are in a segment that is not finished, so has no index yet: what a reader has seen of it."""

from __future__ import annotations

import threading
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

import wal

if TYPE_CHECKING:
    from lsm.version import SegmentMeta

_STRETCH_BYTES = wal.SAMPLE_EVERY_BYTES


class SeenSamples:
    """One sample for every stretch of the newest segment that was read through some handle; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._samples: dict[int, tuple[int, int, int]] = {}  # by stretch: seq, time, position

    def note(self, meta: SegmentMeta, records: wal.Records, start: int) -> None:
        """Remember where records are that were read from byte `start` of a segment on."""
        if not len(records):
            return
        first, last = start // _STRETCH_BYTES, (start + int(records.positions[-1])) // _STRETCH_BYTES
        if meta.number == self._number and first == last and first in self._samples:
            return  # the usual case of a reader that waits for more
        stretches = (records.positions + start) // _STRETCH_BYTES
        _, firsts = np.unique(stretches, return_index=True)
        columns = stretches, records.first_seqs, records.times, records.positions + start
        found = zip(*(column[firsts].tolist() for column in columns), strict=True)
        with self._lock:
            if meta.number > self._number:
                self._number, self._samples = meta.number, {}
            if meta.number == self._number:
                for stretch, *sample in found:
                    self._samples.setdefault(stretch, tuple(sample))

    def index(self, meta: SegmentMeta) -> wal.SparseIndex | None:
        """Return what is known of a segment; None if nothing is."""
        with self._lock:
            if meta.number != self._number or not self._samples:
                return None
            seqs, times, positions = zip(*sorted(self._samples.values()), strict=True)
        # The wall clock may go back; an index may not, or bisecting it would be wrong.
        return wal.SparseIndex(seqs, tuple(accumulate(times, max)), positions)
