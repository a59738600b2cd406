"""Sparse index of a segment: where a sequence number or a time is to be looked for.  See FORMAT.md."""

import struct
from bisect import bisect_right
from dataclasses import dataclass

# On disk: changing a line below needs a new format version.
_COUNT = struct.Struct("<I")
_SAMPLE_BYTES = 8 + 8 + 4
SAMPLE_EVERY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class SparseIndex:
    """Samples of a segment in order: parallel tuples of sequence numbers, times and positions."""

    seqs: tuple[int, ...]
    times: tuple[int, ...]
    positions: tuple[int, ...]

    def sample_of_seq(self, seq: int) -> tuple[int, int] | None:
        """Return the last sample at or before `seq` as (sequence number, position); None: start in front."""
        at = bisect_right(self.seqs, seq) - 1
        return (self.seqs[at], self.positions[at]) if at >= 0 else None

    def sample_of_time(self, time_us: int) -> tuple[int, int] | None:
        """Return the last sample from before that time as (sequence number, position)."""
        # Strictly earlier: several samples may carry the same time.
        at = bisect_right(self.times, time_us - 1) - 1
        return (self.seqs[at], self.positions[at]) if at >= 0 else None

    def encode(self) -> bytes:
        """Return the index as the close marker's payload."""
        n = len(self.seqs)
        return b"".join(
            (
                _COUNT.pack(n),
                struct.pack(f"<{n}Q", *self.seqs),
                struct.pack(f"<{n}Q", *self.times),
                struct.pack(f"<{n}I", *self.positions),
            )
        )


def decode_index(payload: bytes | memoryview) -> SparseIndex | None:
    """Return the index, or None if the bytes are no index (it can be rebuilt)."""
    if len(payload) < _COUNT.size:
        return None
    (n,) = _COUNT.unpack_from(payload)
    if len(payload) != _COUNT.size + n * _SAMPLE_BYTES:
        return None
    start = _COUNT.size
    seqs = struct.unpack_from(f"<{n}Q", payload, start)
    times = struct.unpack_from(f"<{n}Q", payload, start + 8 * n)
    positions = struct.unpack_from(f"<{n}I", payload, start + 16 * n)
    return SparseIndex(seqs, times, positions)


class IndexBuilder:
    """Collects samples while records are appended or read."""

    def __init__(self) -> None:
        self._seqs: list[int] = []
        self._times: list[int] = []
        self._positions: list[int] = []
        self.next_position = 0
        self.last: tuple[int, int] | None = None
        """The last sample as (sequence number, position)."""

    def sample(self, seq: int, time_us: int, position: int) -> None:
        """Take a sample; callers do so when `position` has passed `next_position`."""
        # The wall clock may go back; the index may not, or bisecting it would be wrong.
        latest = self.latest_us
        self._seqs.append(seq)
        self._times.append(max(time_us, latest))
        self._positions.append(position)
        self.next_position = position + SAMPLE_EVERY_BYTES
        self.last = seq, position

    @property
    def latest_us(self) -> int:
        """The time of the last sample, 0 before the first."""
        return self._times[-1] if self._times else 0

    def finish(self) -> SparseIndex:
        """Return the index of what was sampled so far."""
        n = len(self._positions)  # appended last: another thread may be in the middle of a sample
        return SparseIndex(tuple(self._seqs[:n]), tuple(self._times[:n]), tuple(self._positions[:n]))
