"""Scanning: several sorted sources, newest first, merged into one.

Work is done window by window, not entry by entry.  A window is what can be decided with what every source
has loaded; inside it "the newest wins" is a dict that takes the sources from the oldest to the newest, and
one sort, both of which run in C (bench: scan).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from lsm.caches import naming
from lsm.memtable import Layer
from sstable import MAX_SEQ, Deleted, TableMeta

Keys = list[bytes]
Values = list["bytes | Deleted"]
Chunk = tuple[Keys, Values]

_FIRST_CHUNK = 32  # a scan that stops early should not have sorted or decoded much
_LAST_CHUNK = 4096


class Source(Protocol):
    """A sorted run of entries, one value a key."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield non-empty pieces in scan order; keys inside a piece always ascend."""


class ScannedBlock(Protocol):
    """What a scan needs of a block: a plain one, or one that keeps count."""

    @property
    def count(self) -> int: ...

    @property
    def distinct_keys(self) -> int: ...

    def lower_bound(self, key: bytes, /) -> int: ...
    def visible(self, seq_max: int, start: int, stop: int, /) -> Chunk: ...


class ScannedTable(Protocol):
    """What a scan needs of an open table."""

    @property
    def block_count(self) -> int: ...

    def seek(self, key: bytes, /) -> int: ...
    def block(self, number: int, /) -> ScannedBlock: ...


class ScannedHandle(Protocol):
    """What a scan needs of a table that may have to be opened."""

    @property
    def meta(self) -> TableMeta: ...

    @property
    def path(self) -> str: ...

    def table(self) -> ScannedTable: ...


class LayerSource:
    """Entries of one layer of a memtable in [start, stop)."""

    def __init__(self, layer: Layer, start: bytes | None, stop: bytes | None, *, reverse: bool) -> None:
        self._layer = layer
        self._start = start
        self._stop = stop
        self._reverse = reverse

    def chunks(self) -> Iterator[Chunk]:
        """Yield pieces that grow, each taken while the layer stands still."""
        after: bytes | None = None
        count = _FIRST_CHUNK
        while True:
            keys, values = self._layer.chunk(
                self._start, self._stop, reverse=self._reverse, count=count, after=after
            )
            if not keys:
                return
            after = keys[-1]
            if self._reverse:
                keys.reverse()
                values.reverse()
            yield keys, values
            count = min(count * 4, _LAST_CHUNK)


class RunSource:
    """Entries of one run of tables in [start, stop), as seen at `seq_max`."""

    def __init__(
        self,
        tables: Sequence[ScannedHandle],
        start: bytes | None,
        stop: bytes | None,
        *,
        reverse: bool,
        seq_max: int = MAX_SEQ,
    ) -> None:
        self._tables = tables
        self._start = start
        self._stop = stop
        self._reverse = reverse
        self._seq_max = seq_max
        self._chunk = _FIRST_CHUNK

    def chunks(self) -> Iterator[Chunk]:
        """Yield block after block."""
        for handle in reversed(self._tables) if self._reverse else self._tables:
            meta = handle.meta
            if self._start is not None and meta.largest < self._start:
                continue
            if self._stop is not None and meta.smallest >= self._stop:
                continue
            yield from self._table_chunks(handle)

    def _table_chunks(self, handle: ScannedHandle) -> Iterator[Chunk]:
        with naming(handle.path):
            table = handle.table()
            first = 0 if self._start is None else table.seek(self._start)
            last = table.block_count - 1
            if self._stop is not None:
                last = min(last, table.seek(self._stop))
            for number in range(last, first - 1, -1) if self._reverse else range(first, last + 1):
                block = table.block(number)
                low = 0 if self._start is None or number > first else block.lower_bound(self._start)
                high = block.count if self._stop is None or number < last else block.lower_bound(self._stop)
                for start, stop in self._pieces(block, low, high):
                    keys, values = block.visible(self._seq_max, start, stop)
                    if keys:
                        yield keys, values

    def _pieces(self, block: ScannedBlock, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Cut positions into pieces that grow as the scan goes on, never between versions of a key."""
        if block.distinct_keys < block.count and low < high:
            yield low, high
            return
        while low < high:
            size = min(self._chunk, high - low)
            self._chunk = min(self._chunk * 4, _LAST_CHUNK)
            if self._reverse:
                yield high - size, high
                high -= size
            else:
                yield low, low + size
                low += size


class _Cursor:
    """What one source has loaded and not yet given: keys[low:high] of lists that are not to be changed."""

    __slots__ = ("_chunks", "_reverse", "high", "keys", "low", "values")

    def __init__(self, source: Source, *, reverse: bool) -> None:
        self._chunks = source.chunks()
        self._reverse = reverse
        self.keys: Keys = []
        self.values: Values = []
        self.low = self.high = 0

    def load(self) -> bool:
        """Make sure that something is loaded; False at the end."""
        if self.low == self.high:
            self.keys, self.values = next(self._chunks, ([], []))
            self.low, self.high = 0, len(self.keys)
        return self.low < self.high

    def take_upto(self, boundary: bytes) -> Chunk:
        """Give everything up to the boundary in scan order, including it."""
        if self._reverse:
            cut = bisect_left(self.keys, boundary, self.low, self.high)
            low, high, self.high = cut, self.high, cut
        else:
            cut = bisect_right(self.keys, boundary, self.low, self.high)
            low, high, self.low = self.low, cut, cut
        if high - low == len(self.keys):
            return self.keys, self.values
        return self.keys[low:high], self.values[low:high]

    def furthest(self) -> bytes:
        """Return the last loaded key in scan order."""
        return self.keys[self.low] if self._reverse else self.keys[self.high - 1]


def merged(sources: Sequence[Source], *, reverse: bool) -> Iterator[Chunk]:
    """Yield the newest entry of every key, in pieces whose keys ascend; deletions are still there."""
    nearest = max if reverse else min
    cursors = [_Cursor(source, reverse=reverse) for source in sources]
    while cursors := [cursor for cursor in cursors if cursor.load()]:
        boundary = nearest(cursor.furthest() for cursor in cursors)
        parts = [part for cursor in cursors if (part := cursor.take_upto(boundary))[0]]
        yield parts[0] if len(parts) == 1 else _newest_wins(parts)


def _newest_wins(parts: Sequence[Chunk]) -> Chunk:
    newest: dict[bytes, bytes | Deleted] = {}
    for keys, values in reversed(parts):
        newest.update(zip(keys, values, strict=True))
    order = sorted(newest)
    return order, list(map(newest.__getitem__, order))


def live(chunks: Iterator[Chunk]) -> Iterator[tuple[Keys, list[bytes]]]:
    """Leave deletions out."""
    for keys, values in chunks:
        if Deleted in set(map(type, values)):
            pairs = [
                (key, value) for key, value in zip(keys, values, strict=True) if isinstance(value, bytes)
            ]
            yield [key for key, _ in pairs], [value for _, value in pairs]
        else:
            yield keys, cast("list[bytes]", values)
