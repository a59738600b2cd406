"""Workloads as streams of operations on key numbers: the same ones for the same seed, on any store.

Numbers are in the order of their keys, so the simulator can be fed with them as they are.  Keys have a second
order, in which they are inserted; with threads each inserts every so many-th of them, so that no two meet.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.workload.catalogue import Action, Order, Workload, find_workload
from bench.workload.distributions import Distribution, Request, parse_distribution
from bench.workload.scatter import Scatter
from compaction.simulate import Writes

IndexArray = NDArray[np.int64]

KINDS = ("put", "get", "miss", "delete", "scan", "modify")
"""What a store is asked to do; a chunk has their places in this tuple."""
PUT, GET, MISS, DELETE, SCAN, MODIFY = range(len(KINDS))
CHUNK = 1 << 14

_KIND_OF = {
    Action.INSERT: PUT,
    Action.UPDATE: PUT,
    Action.GET: GET,
    Action.MISS: MISS,
    Action.DELETE: DELETE,
    Action.TAKE: DELETE,
    Action.SCAN: SCAN,
    Action.MODIFY: MODIFY,
}
_PLACES_SALT, _DRAWS_SALT = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large a run is, and which part of it."""

    keys: int
    """How many are there when a workload begins that needs some; how many others make."""
    count: int
    """Operations of all threads."""
    distribution: Distribution | None = None
    """None takes that of the workload."""
    seed: int = 1
    thread: int = 0
    threads: int = 1

    @property
    def share(self) -> int:
        """Operations of this thread."""
        return self.count // self.threads + (self.thread < self.count % self.threads)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Operations one after the other."""

    kinds: NDArray[np.int8]
    keys: IndexArray
    """Key numbers; a miss is just behind that key."""
    counts: IndexArray
    """Pairs of a scan; 0 for all else."""
    added: int | None
    """Keys that this thread has added by its end, less those it has taken; None if nobody has counted."""

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, start: int, stop: int) -> "Chunk":
        """Return some of the operations; nobody counts the keys in the middle of a chunk."""
        part = slice(start, stop)
        return Chunk(self.kinds[part], self.keys[part], self.counts[part], None)


def capacity(workload: Workload, size: Size) -> int:
    """Return how many key numbers a run may use."""
    return size.keys + size.count if workload.inserts else size.keys


def load(workload: Workload, size: Size) -> Iterator[Chunk]:
    """Yield the puts that bring the keys in which a workload needs, if it does."""
    places = _Places(workload, size)
    for start in range(0, size.keys if workload.needs_load else 0, CHUNK):
        stop = min(start + CHUNK, size.keys)
        keys = places(np.arange(start, stop))
        yield Chunk(np.zeros(len(keys), np.int8), keys, np.zeros(len(keys), np.int64), stop)


def operations(workload: Workload, size: Size) -> Iterator[Chunk]:
    """Yield the operations of one thread."""
    return iter(_Stream(workload, size))


def writes(workload: Workload, size: Size, *, key_bytes: int, value_bytes: int) -> Iterator[Writes]:
    """Yield the writes of a stream, for the simulator; of the one beside it, if that is who writes."""
    writer = find_workload(workload.beside) if workload.beside else workload
    return as_writes(operations(writer, size), key_bytes=key_bytes, value_bytes=value_bytes)


def as_writes(chunks: Iterable[Chunk], *, key_bytes: int, value_bytes: int) -> Iterator[Writes]:
    """Yield what the simulator needs to know of operations."""
    for chunk in chunks:
        written = np.isin(chunk.kinds, (PUT, DELETE, MODIFY))
        if written.any():
            deletes = chunk.kinds[written] == DELETE
            yield Writes(chunk.keys[written], np.where(deletes, key_bytes, key_bytes + value_bytes), deletes)


class _Places:
    """Where in the key range the n-th inserted key lies."""

    def __init__(self, workload: Workload, size: Size) -> None:
        is_scattered = workload.order is Order.SCATTERED
        self._scatter = Scatter(capacity(workload, size), size.seed, _PLACES_SALT) if is_scattered else None

    def __call__(self, indices: IndexArray) -> IndexArray:
        return indices if self._scatter is None else self._scatter(indices)


class _Stream:
    """The operations of one thread, chunk by chunk."""

    def __init__(self, workload: Workload, size: Size) -> None:
        self._workload, self._size = workload, size
        self._distribution = size.distribution or parse_distribution(workload.distribution)
        self._random = np.random.default_rng([size.seed, _DRAWS_SALT, size.thread])
        # Keys that are never added to lie without gaps, and then a place among them is a key number.
        self._places = _Places(workload, size) if workload.inserts or not workload.needs_load else None
        self._actions = [action for action, _ in workload.mix]
        self._ends = np.cumsum([share for _, share in workload.mix])
        self._kinds = np.array([_KIND_OF[action] for action in self._actions], np.int8)
        # How many of the loaded keys are this thread's, counted in turns.
        self._own = len(range(size.thread, size.keys, size.threads)) if workload.needs_load else 0
        self._inserted = self._taken = 0

    def __iter__(self) -> Iterator[Chunk]:
        for start in range(0, self._size.share, CHUNK):
            yield self._chunk(np.arange(start, min(start + CHUNK, self._size.share)))

    def _chunk(self, positions: IndexArray) -> Chunk:
        chosen = self._chosen(positions)
        inserts, takes = self._are(chosen, Action.INSERT), self._are(chosen, Action.TAKE)
        inserted_before = self._inserted + np.cumsum(inserts) - inserts
        indices = self._drawn(positions, inserted_before)
        indices[inserts] = self._of_thread(self._own + inserted_before[inserts])
        indices[takes] = self._of_thread(self._taken + np.arange(np.count_nonzero(takes)))
        self._inserted += int(np.count_nonzero(inserts))
        self._taken += int(np.count_nonzero(takes))
        kinds = self._kinds[chosen]
        counts = self._scan_counts(kinds, inserted_before)
        keys = indices if self._places is None else self._places(indices)
        if self._workload.scan_pairs is None:
            keys[kinds == SCAN] = 0
        return Chunk(kinds, keys, counts, self._added())

    def _chosen(self, positions: IndexArray) -> IndexArray:
        """Which action of the mix each operation is."""
        if len(self._actions) == 1:
            return np.zeros(len(positions), np.int64)
        if self._workload.alternates:
            return positions % len(self._actions)
        drawn = np.searchsorted(self._ends, self._random.random(len(positions)), "right")
        return np.minimum(drawn, len(self._actions) - 1)

    def _are(self, chosen: IndexArray, action: Action) -> NDArray[np.bool_]:
        are: NDArray[np.bool_] = chosen == (self._actions.index(action) if action in self._actions else -1)
        return are

    def _drawn(self, positions: IndexArray, inserted_before: IndexArray) -> IndexArray:
        """A key of those that are there, for everybody: it costs less than to sort out who needs one."""
        size = self._size
        if not self._workload.draws:
            return np.zeros(len(positions), np.int64)
        there = size.keys + inserted_before if self._workload.inserts else size.keys
        request = Request(
            random=self._random,
            count=len(positions),
            there=there,
            first=size.keys,
            positions=positions * size.threads + size.thread,
            seed=size.seed,
        )
        drawn = self._distribution.draw(request)
        added = drawn >= size.keys
        drawn[added] = self._of_thread(self._own + drawn[added] - size.keys)
        return drawn

    def _of_thread(self, turns: IndexArray) -> IndexArray:
        """The keys, in the order of insertion, that are this thread's turns."""
        indices = turns * self._size.threads + self._size.thread
        return indices if self._workload.needs_load else indices % self._size.keys

    def _scan_counts(self, kinds: NDArray[np.int8], inserted_before: IndexArray) -> IndexArray:
        counts = np.zeros(len(kinds), np.int64)
        scans = kinds == SCAN
        if self._workload.scan_pairs is None:
            counts[scans] = self._size.keys + inserted_before[scans]
        else:
            low, high = self._workload.scan_pairs
            counts[scans] = self._random.integers(low, high + 1, np.count_nonzero(scans))
        return counts

    def _added(self) -> int | None:
        if Action.DELETE in self._actions:
            return None
        added = self._inserted - self._taken
        if self._workload.needs_load:
            return added
        return min(added, len(range(self._size.thread, self._size.keys, self._size.threads)))
