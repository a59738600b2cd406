"""Scanning on columns: several sorted runs, newest first, become rows of arrays, newest put of each key.

The same answer as `lsm.scan` gives, without an object for every entry.  Where one run alone has keys, its
blocks are handed on as they lie in the file; where runs overlap, windows of them are merged like in a
compaction.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from compaction import merge
from lsm.caches import TableHandle, naming
from lsm.fs_types import Cause, IoCounters
from lsm.memtable import Layer
from sstable import MAX_SEQ, Block, Columns, Deleted, Kind
from sstable.columns import BoolArray, IndexArray, OffsetArray, U8Array, U64Array
from sstable.string_column import StringColumn

_WINDOW_BYTES = 1024 * 1024
"""What is held of each run at a time; larger windows fall out of the processor's cache (bench: spark)."""
_LAYER_KEYS = 4096
_ENTRY_BYTES = 24


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns are made beside the keys: what nobody asked for is not touched."""

    values: bool = True
    seqs: bool = False


class Strings(NamedTuple):
    """Byte strings end to end: the bytes, and where they part."""

    data: U8Array
    width: int | None
    """Of every string, which then lie in `data` from its beginning; None if there are offsets."""
    offsets: OffsetArray | None

    @staticmethod
    def of(column: StringColumn, first: int, stop: int) -> "Strings":
        """Strings first <= i < stop of a block, not copied."""
        width = column.width
        if width is None:
            return Strings(column.content(), None, column.offsets()[first : stop + 1])
        content = column.content()
        return Strings(
            content if stop - first == column.count else content[first * width : stop * width], width, None
        )

    @property
    def size_bytes(self) -> int:
        """Length of all of them."""
        if self.offsets is None:
            return len(self.data)
        return int(self.offsets[-1]) - int(self.offsets[0])


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Keys in order, each once, with the columns that were wanted.  Offsets may start above zero."""

    count: int
    keys: Strings
    values: Strings | None
    seqs: U64Array | None


class Piece:
    """A part of one run: the entries between two positions of a block, as seen at `seq_max`."""

    __slots__ = ("_block", "_seq_max", "first", "stop")

    def __init__(self, block: Block, first: int, stop: int, seq_max: int = MAX_SEQ) -> None:
        self._block = block
        self._seq_max = seq_max
        self.first = first
        self.stop = stop

    @property
    def first_key(self) -> bytes:
        """Its smallest key."""
        return self._block.key_column[self.first]

    @property
    def last_key(self) -> bytes:
        """Its largest key."""
        return self._block.key_column[self.stop - 1]

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        block = self._block
        count = self.stop - self.first
        return count * _ENTRY_BYTES + (block.key_column.size + block.value_column.size) * count // block.count

    def split(self, key: bytes) -> "tuple[Piece, Piece]":
        """Return what is up to `key`, including it, and the rest."""
        keys = self._block.key_column
        cut = bisect_right(range(self.stop), key, lo=self.first, key=keys.__getitem__)
        return (
            Piece(self._block, self.first, cut, self._seq_max),
            Piece(self._block, cut, self.stop, self._seq_max),
        )

    def columns(self, wanted: Wanted) -> Columns:
        """All entries that are visible; values are left empty unless they are wanted."""
        block, first, stop = self._block, self.first, self.stop
        if wanted.values:
            values = block.value_column.offsets()[first : stop + 1], block.value_column.content()
        else:
            values = np.zeros(stop - first + 1, np.int32), np.empty(0, np.uint8)
        columns = Columns(
            block.key_column.offsets()[first : stop + 1],
            block.key_column.content(),
            block.seqs()[first:stop],
            block.kinds()[first:stop],
            *values,
        )
        if block.max_seq > self._seq_max:
            return columns.take(np.flatnonzero(columns.seqs <= np.uint64(self._seq_max)))
        return columns

    def rows(self, wanted: Wanted) -> Rows | None:
        """Its entries as they lie in the block, if every one of them is the newest put of its key."""
        block = self._block
        if block.distinct_keys != block.count or block.sole_kind != Kind.PUT or block.max_seq > self._seq_max:
            return None
        return Rows(
            self.stop - self.first,
            Strings.of(block.key_column, self.first, self.stop),
            Strings.of(block.value_column, self.first, self.stop) if wanted.values else None,
            block.seqs()[self.first : self.stop] if wanted.seqs else None,
        )


class MemoryPiece:
    """Some entries of a memtable's layer, newer than everything in tables."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @property
    def first_key(self) -> bytes:
        """Its smallest key."""
        return self._columns.key(0)

    @property
    def last_key(self) -> bytes:
        """Its largest key."""
        return self._columns.key(len(self._columns) - 1)

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        return self._columns.key_bytes + self._columns.value_bytes + _ENTRY_BYTES * len(self._columns)

    def split(self, key: bytes) -> "tuple[MemoryPiece, MemoryPiece]":
        """Return what is up to `key`, including it, and the rest."""
        columns = self._columns
        cut = bisect_right(range(len(columns)), key, key=columns.key)
        return MemoryPiece(columns.slice(0, cut)), MemoryPiece(columns.slice(cut, len(columns)))

    def columns(self, wanted: Wanted) -> Columns:
        """All entries, whatever is wanted: they are in memory anyway."""
        return self._columns

    def rows(self, wanted: Wanted) -> Rows | None:
        """Its entries, if all are puts."""
        columns = self._columns
        if (columns.kinds != Kind.PUT).any():
            return None
        return _rows(columns, wanted)


AnyPiece = Piece | MemoryPiece


def table_pieces(
    run: Iterable[TableHandle],
    start: bytes | None,
    stop: bytes | None,
    *,
    seq_max: int = MAX_SEQ,
    counters: IoCounters | None = None,
) -> Iterator[Piece]:
    """Yield the blocks of a run of tables that hold keys of start <= key < stop."""
    for handle in run:
        meta = handle.meta
        if (start is not None and meta.largest < start) or (stop is not None and meta.smallest >= stop):
            continue
        with naming(handle.path):
            table = handle.table()
            if counters is not None:
                counters.count_read(Cause.READ, table.span_bytes(start, stop))
            for block, first, end in table.spans(start, stop):
                yield Piece(block, first, end, seq_max)


def layer_pieces(
    layer: Layer, start: bytes | None, stop: bytes | None, *, rank: int
) -> Iterator[MemoryPiece]:
    """Yield the entries of a layer of a memtable; of two layers the one with the lower rank is newer."""
    after: bytes | None = None
    while True:
        keys, values = layer.chunk(start, stop, reverse=False, count=_LAYER_KEYS, after=after)
        if not keys:
            return
        after = keys[-1]
        kinds = [Kind.DELETE if isinstance(value, Deleted) else Kind.PUT for value in values]
        plain = [b"" if isinstance(value, Deleted) else value for value in values]
        # Layers know no sequence numbers: any above those of tables will do, in the right order.
        yield MemoryPiece(Columns.from_lists(keys, [MAX_SEQ - rank] * len(keys), kinds, plain))


def scan_rows(
    runs: Sequence[Iterator[AnyPiece]], wanted: Wanted, *, window_bytes: int = _WINDOW_BYTES
) -> Iterator[Rows]:
    """Yield the newest put of every key that has one, in key order."""
    cursors = [_Cursor(run) for run in runs]
    while True:
        if len(cursors) > 1:
            for cursor in cursors:
                cursor.load(window_bytes)
            cursors = [cursor for cursor in cursors if cursor.loaded]
        if len(cursors) <= 1:
            for cursor in cursors:
                yield from (_rows_of(piece, wanted) for piece in cursor.rest())
            return
        alone = list(_alone(cursors))
        yield from (_rows_of(piece, wanted) for piece in alone)
        if not alone:
            last = min(cursor.loaded[-1].last_key for cursor in cursors)
            yield _newest([p.columns(wanted) for cursor in cursors for p in cursor.take(last)], wanted)


def _alone(cursors: Sequence["_Cursor"]) -> Iterator[AnyPiece]:
    """Take the pieces at the front of one run that no other run has keys among."""
    firsts = [cursor.loaded[0].first_key for cursor in cursors]
    lead = firsts.index(min(firsts))
    others = min(first for number, first in enumerate(firsts) if number != lead)
    yield from cursors[lead].take_below(others)


class _Cursor:
    """One run, some pieces of it loaded ahead."""

    __slots__ = ("_loaded_bytes", "_pieces", "loaded")

    def __init__(self, pieces: Iterator[AnyPiece]) -> None:
        self._pieces = pieces
        self._loaded_bytes = 0
        self.loaded: deque[AnyPiece] = deque()

    def load(self, window_bytes: int) -> None:
        """Load pieces until there are `window_bytes` of them, or no more."""
        while self._loaded_bytes < window_bytes and (piece := next(self._pieces, None)) is not None:
            self.loaded.append(piece)
            self._loaded_bytes += piece.size_bytes

    def rest(self) -> Iterator[AnyPiece]:
        """Give away all that there is, without loading ahead."""
        return chain(self.loaded, self._pieces)

    def take_below(self, key: bytes) -> Iterator[AnyPiece]:
        """Give away the whole pieces whose keys are all below `key`."""
        while self.loaded and self.loaded[0].last_key < key:
            yield self._pop()

    def take(self, last: bytes) -> Iterator[AnyPiece]:
        """Give away what is loaded of keys up to `last`."""
        while self.loaded and self.loaded[0].first_key <= last:
            piece = self._pop()
            if piece.last_key > last:
                piece, rest = piece.split(last)
                self.loaded.appendleft(rest)
                self._loaded_bytes += rest.size_bytes
            yield piece

    def _pop(self) -> AnyPiece:
        piece = self.loaded.popleft()
        self._loaded_bytes -= piece.size_bytes
        return piece


def _rows_of(piece: AnyPiece, wanted: Wanted) -> Rows:
    rows = piece.rows(wanted)
    return _newest([piece.columns(wanted)], wanted) if rows is None else rows


def _newest(runs: Sequence[Columns], wanted: Wanted) -> Rows:
    """Merge what came up to one key, and leave out what is shadowed or deleted."""
    ordered = merge(runs)
    kept: BoolArray = ordered.key_starts & (ordered.kinds == Kind.PUT)
    positions: IndexArray = ordered.positions[kept]
    return _rows(ordered.columns.take(positions), wanted)


def _rows(columns: Columns, wanted: Wanted) -> Rows:
    return Rows(
        len(columns),
        Strings(columns.key_data, None, columns.key_offsets),
        Strings(columns.value_data, None, columns.value_offsets) if wanted.values else None,
        columns.seqs if wanted.seqs else None,
    )
