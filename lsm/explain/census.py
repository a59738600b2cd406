"""Which entries of a tree are live: counted where it is small, by a sample of key ranges where it is not."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise

from lsm.caches import TableHandle, Tree, naming
from sstable import Block, Kind

ENTRIES_MAX = 200_000
"""Entries that are looked at, about: a fraction of a second."""
PROBE_KEYS_MAX = 20_000

Range = tuple[bytes | None, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Entries by what they are good for, and the bytes of their keys and values."""

    live: int = 0
    overwritten: int = 0
    tombstones: int = 0
    live_bytes: int = 0
    overwritten_bytes: int = 0
    tombstone_bytes: int = 0

    @property
    def entries(self) -> int:
        """All of them."""
        return self.live + self.overwritten + self.tombstones

    @property
    def user_bytes(self) -> int:
        """Bytes of all of them."""
        return self.live_bytes + self.overwritten_bytes + self.tombstone_bytes

    def scaled(self, user_bytes: int) -> "Counts":
        """Return the same shares of another number of bytes."""
        if not self.user_bytes:  # nothing of the level was in the sample: take it for live
            return Counts(live_bytes=user_bytes)
        factor = user_bytes / self.user_bytes
        return Counts(**{name: round(count * factor) for name, count in asdict(self).items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What the entries of a tree's tables are good for; a key that memory has overwritten still counts."""

    levels: dict[int, Counts]
    keys: tuple[bytes, ...]
    """Some of the live keys, from all over the tree."""
    is_sample: bool

    @property
    def whole(self) -> Counts:
        """All levels together."""
        return total(self.levels.values())


def total(counts: Iterable[Counts]) -> Counts:
    """Return several together."""
    several = [asdict(one) for one in counts]
    return Counts(**{field.name: sum(one[field.name] for one in several) for field in fields(Counts)})


def take_census(tree: Tree, *, entries_max: int = ENTRIES_MAX) -> Census:
    """Look at the tables of a tree, all of them or a sample of about `entries_max` entries."""
    entries = sum(handle.meta.entries for handle in tree.handles())
    is_sample = entries > entries_max
    ranges: list[Range] = [(None, None)]
    if is_sample:
        ranges = _ranges(tree)
        wanted = max(1, len(ranges) * entries_max // entries)
        # Evenly spaced, so that a store asked twice says the same twice.
        ranges = [ranges[(2 * number + 1) * len(ranges) // (2 * wanted)] for number in range(wanted)]
    counters: dict[int, _Counter] = {}
    keys: list[bytes] = []
    for start, stop in ranges:
        found = _count_range(tree, start, stop, counters)
        keys += found[:: 1 + len(found) * len(ranges) // PROBE_KEYS_MAX]
    levels = {level: counter.counts() for level, counter in counters.items()}
    if is_sample:
        levels = {
            level: levels.get(level, Counts()).scaled(_user_bytes(handles))
            for level, handles in enumerate((tree.l0, *tree.levels))
            if handles
        }
    return Census(levels=levels, keys=tuple(keys), is_sample=is_sample)


def _user_bytes(handles: Sequence[TableHandle]) -> int:
    return sum(handle.meta.key_bytes + handle.meta.value_bytes for handle in handles)


def _ranges(tree: Tree) -> list[Range]:
    """Cut all keys into ranges of at most about one block of each run."""
    borders: set[bytes] = set()
    for handle in tree.handles():
        with naming(handle.path):
            borders.update(handle.table().last_keys)
    # Behind the last key of a block: ranges do not contain their stop.
    cuts = [key + b"\0" for key in sorted(borders)][:-1]
    return list(pairwise((None, *cuts, None)))


class _Counter:
    """Counts of one level that grow."""

    def __init__(self) -> None:
        self.counted = [0, 0, 0]
        self.counted_bytes = [0, 0, 0]

    def add(self, what: int, size_bytes: int) -> None:
        self.counted[what] += 1
        self.counted_bytes[what] += size_bytes

    def counts(self) -> Counts:
        live, overwritten, tombstones = self.counted
        live_bytes, overwritten_bytes, tombstone_bytes = self.counted_bytes
        return Counts(
            live=live,
            overwritten=overwritten,
            tombstones=tombstones,
            live_bytes=live_bytes,
            overwritten_bytes=overwritten_bytes,
            tombstone_bytes=tombstone_bytes,
        )


_LIVE, _OVERWRITTEN, _TOMBSTONE = range(3)


def _count_range(
    tree: Tree, start: bytes | None, stop: bytes | None, counters: dict[int, _Counter]
) -> list[bytes]:
    """Count the entries of a range, newest run first; return its live keys."""
    seen: set[bytes] = set()
    live: list[bytes] = []
    for level, handles in enumerate((tree.l0, *tree.levels)):
        counter = counters.setdefault(level, _Counter()) if handles else _Counter()
        for handle in handles if level == 0 else _within(handles, start, stop):
            for key, kind, size_bytes in _entries(handle, start, stop):
                if key in seen:
                    counter.add(_OVERWRITTEN, size_bytes)
                    continue
                seen.add(key)
                if kind == Kind.DELETE:
                    counter.add(_TOMBSTONE, size_bytes)
                else:
                    counter.add(_LIVE, size_bytes)
                    live.append(key)
    return live


def _within(handles: Sequence[TableHandle], start: bytes | None, stop: bytes | None) -> Sequence[TableHandle]:
    """Return the tables of a run that may have keys of a range."""
    first = 0 if start is None else bisect_left(handles, start, key=lambda handle: handle.meta.largest)
    end = (
        len(handles) if stop is None else bisect_left(handles, stop, key=lambda handle: handle.meta.smallest)
    )
    return handles[first:end]


def _entries(
    handle: TableHandle, start: bytes | None, stop: bytes | None
) -> Iterator[tuple[bytes, int, int]]:
    """Yield key, kind and bytes of the entries of a table in a range: by key, newest first."""
    meta = handle.meta
    if (start is not None and meta.largest < start) or (stop is not None and meta.smallest >= stop):
        return
    with naming(handle.path):
        for block, first, end in handle.table().spans(start, stop):
            yield from _entries_of(block, first, end)


def _entries_of(block: Block, first: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    keys = block.key_column.to_list(first, end)
    kinds = block.kinds()[first:end].tolist()
    offsets = block.value_column.offsets()[first : end + 1]
    lengths = (offsets[1:] - offsets[:-1]).tolist()
    for key, kind, length in zip(keys, kinds, lengths, strict=True):
        yield key, kind, len(key) + length
