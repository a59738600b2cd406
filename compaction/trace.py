"""A stream of writes kept in memory to be simulated many times: of long ones, one key in `sample`.

What is left out is not forgotten: each write that is kept knows how many writes, and how many bytes, the
whole stream has up to it, so memtables are full where they would be.  The keys are chosen by a hash of
theirs; a sample twice as thin is part of the one before, so a stream whose length nobody knows is thinned
while it is read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from compaction.streams import Writes
from sstable.columns import BoolArray, IndexArray

KEPT_MAX = 1 << 20
"""How many writes a trace keeps unless told otherwise: 25 MiB."""
_KEPT_MIN = 64
KEYS_MIN = 2048
"""A sample of fewer keys says little."""
SEGMENT_BYTES = 64
"""Header of a log segment."""
_SPAN_BYTES = 4 * 1024
"""Well below any memtable: of writes of a key within it, only the last one comes to a table."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_SHIFT = np.uint64(33)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trace:
    """A stream, or one key in `sample` of it."""

    writes: Writes
    counts: IndexArray
    """How many writes the stream has up to each of these and with it."""
    ends: IndexArray
    """And how many bytes of keys and values."""
    count: int
    """How many writes the stream has."""
    user_bytes: int
    sample: int = 1
    loaded: Writes | None = None
    """What the store holds before the first write: one write a key, the same sample."""
    warm_bytes: int = 0
    """So much is written before anything counts: until the store is in a steady state."""

    def __len__(self) -> int:
        return self.count

    def memtables(
        self, full_bytes: int, log_bytes_per_write: float, batch: int = 1
    ) -> Iterator[tuple[int, int, Writes]]:
        """Cut it where the log of a memtable is full: number of writes, their bytes, and what is kept."""
        log_ends = self.ends + self.counts * log_bytes_per_write
        cuts = [0]
        while cuts[-1] < len(log_ends):
            last = cuts[-1] - 1
            start, count = (float(log_ends[last]), int(self.counts[last])) if cuts[-1] else (0.0, 0)
            full = int(np.searchsorted(log_ends, start + full_bytes - SEGMENT_BYTES, "left"))
            if full >= len(log_ends):
                cuts.append(len(log_ends))
                break
            # The write that fills the log still belongs to it, with all of its batch.
            count += -(-(int(self.counts[full]) - count) // batch) * batch
            cuts.append(max(cuts[-1] + 1, int(np.searchsorted(self.counts, count, "right"))))
        counts = np.append(0, self.counts)
        ends = np.append(0, self.ends)
        # What follows the last write that is kept goes with it.
        counts[-1], ends[-1] = self.count, self.user_bytes
        for start, stop in pairwise(cuts):
            part = self.writes.take(slice(start, stop))
            yield int(counts[stop] - counts[start]), int(ends[stop] - ends[start]), part


def is_in_sample(hashes: IndexArray, sample: int) -> BoolArray:
    """Which keys with these hashes (or numbers) a sample of one in `sample` has."""
    # One more, as 0 would be in every sample.
    mixed = (hashes.astype(np.uint64) + np.uint64(1)) * _MIX
    mixed ^= mixed >> _MIX_SHIFT
    chosen: BoolArray = mixed % np.uint64(sample) == 0
    return chosen


def thinned(stream: Iterable[Writes], *, kept_max: int = KEPT_MAX, sample: int = 1) -> Trace:
    """Keep a stream: all of it if it is short, else one key in 2, 4, 8 ... times `sample`."""
    thinning = Thinning(kept_max=kept_max, sample=sample)
    parts: list[Writes] = []
    for writes in stream:
        parts.append(writes.take(thinning.keeping(writes.keys, writes.sizes)))
        while thinning.is_full:
            parts = [part.take(keeping) for part, keeping in zip(parts, thinning.thin(), strict=True)]
    return thinning.trace(joined(parts))


class Thinning:
    """Decides which writes of a stream are kept while it passes by, in chunks."""

    def __init__(self, *, kept_max: int, sample: int = 1) -> None:
        self.sample = sample
        self._kept_max = max(_KEPT_MIN, kept_max)
        self._kept = 0
        self._count = self._user_bytes = 0
        self._span_bytes = _SPAN_BYTES
        self._hashes: list[IndexArray] = []
        self._counts: list[IndexArray] = []
        self._ends: list[IndexArray] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to `thin`."""
        return self._kept > self._kept_max

    def keeping(self, hashes: IndexArray, sizes: IndexArray) -> BoolArray:
        """Take the next chunk of the stream, and return which of its writes are kept."""
        keeping = is_in_sample(hashes, self.sample)
        ends = np.cumsum(sizes) + self._user_bytes
        counts = np.arange(1, len(sizes) + 1) + self._count
        self._count += len(sizes)
        self._user_bytes += int(np.sum(sizes))
        self._hashes.append(hashes[keeping])
        self._counts.append(counts[keeping])
        self._ends.append(ends[keeping])
        self._kept += len(self._hashes[-1])
        return keeping

    def thin(self) -> list[BoolArray]:
        """Keep about half of what was kept so far; return what stays, by chunk.

        Half of the keys, unless there are so few that one more or less would show: then a key that is
        written again soon loses all but the last of these writes, as it would in a memtable.
        """
        hashes = np.concatenate(self._hashes)
        if len(np.unique(hashes)) >= min(KEYS_MIN, self._kept_max // 4):
            return self.thin_keys()
        keeping = _is_last(hashes, np.concatenate(self._ends) // self._span_bytes)
        if 2 * np.count_nonzero(keeping) > self._kept_max:
            self._span_bytes *= 2  # the next time
        return self._keep(keeping)

    def thin_keys(self) -> list[BoolArray]:
        """Keep half of the keys."""
        self.sample *= 2
        none = [np.empty(0, np.int64)]
        return self._keep(is_in_sample(np.concatenate(self._hashes or none), self.sample))

    def _keep(self, keeping: BoolArray) -> list[BoolArray]:
        chunks = np.split(keeping, np.cumsum(list(map(len, self._hashes)))[:-1]) if self._hashes else []
        for columns in (self._hashes, self._counts, self._ends):
            columns[:] = [column[chunk] for column, chunk in zip(columns, chunks, strict=True)]
        self._kept = int(np.count_nonzero(keeping))
        return chunks

    def trace(self, writes: Writes, loaded: Writes | None = None) -> Trace:
        """What came of it, with the `writes` that were kept."""
        none = [np.empty(0, np.int64)]
        return Trace(
            writes=writes,
            counts=np.concatenate(self._counts or none),
            ends=np.concatenate(self._ends or none),
            count=self._count,
            user_bytes=self._user_bytes,
            sample=self.sample,
            loaded=loaded,
        )


def joined(parts: list[Writes]) -> Writes:
    """All of them, one after the other."""
    if not parts:
        return Writes(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    return Writes(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.deletes for part in parts]),
    )


def _is_last(hashes: IndexArray, spans: IndexArray) -> BoolArray:
    """Which writes are the last of their key within their span."""
    order = np.lexsort((np.arange(len(hashes)), hashes, spans))
    keys, parts = hashes[order], spans[order]
    last = np.ones(len(hashes), np.bool_)
    last[order[:-1]] = (keys[1:] != keys[:-1]) | (parts[1:] != parts[:-1])
    return last
