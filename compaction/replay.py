"""A store's own log as a trace for the simulator: keys become numbers in their order, values their lengths.

Memory is bounded however long the log is: while it is read, one key in 2, 4, 8 ... is kept, with all of its
writes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, islice
from zlib import crc32

import numpy as np

from compaction.streams import Writes
from compaction.trace import Thinning, Trace, is_in_sample, joined
from sstable import Columns, Kind
from sstable.columns import BoolArray, IndexArray

REPLAY_KEPT_MAX = 1 << 18
"""How many writes, and how many keys of the store before them, are kept unless told otherwise."""
_LOADED_CHUNK = 1 << 14


@dataclass(frozen=True, slots=True)
class _Part:
    """Some writes that are kept; `writes` has no key numbers yet."""

    keys: Sequence[bytes]
    writes: Writes

    def take(self, which: BoolArray) -> "_Part":
        return _Part(list(compress(self.keys, which.tolist())), self.writes.take(which))


def replayed(
    log: Iterable[Columns],
    held: Iterable[tuple[bytes, int]] = (),
    *,
    kept_max: int = REPLAY_KEPT_MAX,
) -> Trace:
    """The trace of a log, whose entries come in commit order.

    `held` are the keys of the store before the first of them, with the lengths of their values.
    """
    thinning = Thinning(kept_max=kept_max)
    parts: list[_Part] = []
    for columns in log:
        part = _part_of(columns)
        parts.append(part.take(thinning.keeping(_hashes(part.keys), part.writes.sizes)))
        while thinning.is_full:
            parts = [part.take(kept) for part, kept in zip(parts, thinning.thin(), strict=True)]
    loaded, sample = _loaded(held, thinning.sample, kept_max)
    while thinning.sample < sample:
        parts = [part.take(kept) for part, kept in zip(parts, thinning.thin_keys(), strict=True)]
    numbers = _numbers([*parts, *loaded])
    trace = thinning.trace(_numbered(parts, numbers))
    return replace(trace, loaded=_numbered(loaded, numbers)) if loaded else trace


def _part_of(columns: Columns) -> _Part:
    key_lengths = np.diff(columns.key_offsets).astype(np.int64)
    sizes = key_lengths + np.diff(columns.value_offsets)
    return _Part(list(columns.keys()), _unnumbered(sizes, columns.kinds == Kind.DELETE))


def _unnumbered(sizes: IndexArray, deletes: BoolArray) -> Writes:
    return Writes(np.zeros(len(sizes), np.int64), sizes, deletes)


def _loaded(held: Iterable[tuple[bytes, int]], sample: int, kept_max: int) -> tuple[list[_Part], int]:
    """The keys of a sample, made thinner when they become too many, and how thin it is in the end."""
    parts: list[_Part] = []
    kept = 0
    for chunk in _chunks(held):
        keys = [key for key, _ in chunk]
        sizes = np.array([len(key) + length for key, length in chunk], np.int64)
        part = _Part(keys, _unnumbered(sizes, np.zeros(len(keys), np.bool_)))
        parts.append(part.take(is_in_sample(_hashes(keys), sample)))
        kept += len(parts[-1].keys)
        while kept > kept_max:
            sample *= 2
            parts = [part.take(is_in_sample(_hashes(part.keys), sample)) for part in parts]
            kept = sum(len(part.keys) for part in parts)
    return parts, sample


def _chunks(pairs: Iterable[tuple[bytes, int]]) -> Iterator[list[tuple[bytes, int]]]:
    at = iter(pairs)
    while chunk := list(islice(at, _LOADED_CHUNK)):
        yield chunk


def _hashes(keys: Sequence[bytes]) -> IndexArray:
    return np.fromiter(map(crc32, keys), np.int64, len(keys))


def _numbers(parts: Iterable[_Part]) -> dict[bytes, int]:
    return {key: number for number, key in enumerate(sorted({key for part in parts for key in part.keys}))}


def _numbered(parts: Iterable[_Part], numbers: dict[bytes, int]) -> Writes:
    return joined(
        [
            Writes(
                np.fromiter(map(numbers.__getitem__, part.keys), np.int64, len(part.keys)),
                part.writes.sizes,
                part.writes.deletes,
            )
            for part in parts
        ]
    )
