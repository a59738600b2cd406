"""What survives: entries that a reader, now or at a snapshot, can still see."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from compaction.keys import changes
from compaction.levels import KeyRange, united
from compaction.order import Ordered
from sstable import Kind
from sstable.columns import BoolArray, U8Array, U64Array


@dataclass(frozen=True, slots=True, eq=False)
class Survivors:
    """Which entries are kept, and why the others are not."""

    kept: BoolArray
    shadowed: int
    """Dropped because a newer entry of the key is seen by the same readers."""
    tombstones: int
    """Dropped because there is nothing left that they would hide."""


def retain(
    key_starts: BoolArray, seqs: U64Array, kinds: U8Array, snapshots: U64Array, *, bottom: BoolArray | bool
) -> Survivors:
    """Of each key keep the newest entry of every stripe, and where `bottom` no tombstone that hides nothing.

    Entries come by key, newest first, with `key_starts` where a key has its first.  Two entries of
    one key in the same stripe are seen by the same snapshots, so the older one is seen by nobody.
    `bottom` says for each entry, or for all, that no table below can hold its key.
    """
    newest = _newest_of_stripes(key_starts, seqs, snapshots)
    needless = newest & (kinds == Kind.DELETE) & bottom
    if needless.any():
        needless &= ~_hides_a_value(key_starts, newest & (kinds != Kind.DELETE))
    tombstones = int(np.count_nonzero(needless))
    return Survivors(newest & ~needless, len(seqs) - int(np.count_nonzero(newest)), tombstones)


def _newest_of_stripes(key_starts: BoolArray, seqs: U64Array, snapshots: U64Array) -> BoolArray:
    if len(snapshots) == 0:
        return key_starts
    # A snapshot sees seqs up to its own, so that one still belongs to the stripe below it.
    stripes = np.searchsorted(snapshots, seqs, side="left")
    return key_starts | changes(stripes)


def _hides_a_value(key_starts: BoolArray, values: BoolArray) -> BoolArray:
    """Which entries have a surviving value of the same key after them, that is, older.

    A tombstone without one is not needed by any snapshot either: those that are too old to see it
    find nothing, just as those that see it.
    """
    count = len(values)
    ranks = np.arange(count)
    next_value = np.minimum.accumulate(np.where(values, ranks, count)[::-1])[::-1]
    next_key = np.append(np.flatnonzero(key_starts), count)[np.cumsum(key_starts)]
    return next_value < next_key


class Retention:
    """Who may still need an old entry: the snapshots held, and readers of what lies below.

    `deeper` are the ranges of all older tables; None if not known, and then no tombstone may go.
    """

    __slots__ = ("_deeper", "_snapshots")

    def __init__(self, snapshots: Iterable[int], deeper: Iterable[KeyRange] | None) -> None:
        self._snapshots: U64Array = np.array(sorted(set(snapshots)), np.uint64)
        self._deeper = None if deeper is None else united(deeper)

    def survivors(self, ordered: Ordered) -> Survivors:
        """Decide over all entries of some keys."""
        kinds = ordered.kinds
        bottom = bool((kinds == Kind.DELETE).any()) and self._bottom(ordered)
        return retain(ordered.key_starts, ordered.seqs, kinds, self._snapshots, bottom=bottom)

    def _bottom(self, ordered: Ordered) -> BoolArray | bool:
        """Which entries have a key that no table below can hold."""
        if not self._deeper:
            return self._deeper is not None
        bottom = np.ones(len(ordered), np.bool_)
        ranks = range(len(ordered))
        for smallest, largest in self._deeper_between(ordered.key(0), ordered.key(-1)):
            start = bisect_left(ranks, smallest, key=ordered.key)
            stop = bisect_right(ranks, largest, key=ordered.key)
            bottom[start:stop] = False
        return bottom

    def _deeper_between(self, smallest: bytes, largest: bytes) -> Sequence[KeyRange]:
        assert self._deeper is not None
        start = bisect_left(self._deeper, smallest, key=lambda keys: keys[1])
        stop = bisect_right(self._deeper, largest, key=lambda keys: keys[0])
        return self._deeper[start:stop]
