"""Sources of a scan that count: the real ones, on tables and blocks that take notes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lsm.caches import TableHandle
from lsm.scan import Chunk, Source
from sstable import Block, Deleted, Table, TableMeta
from sstable.block_reader import Brought


@dataclass(slots=True)
class Tally:
    """What one source of a scan has done so far."""

    level: int | None
    """None in memory."""
    tables_of_run: int = 0
    tables: int = 0
    """Tables that were looked into."""
    blocks: dict[Brought, int] = field(default_factory=lambda: {"map": 0, "cache": 0, "file": 0})
    entries: int = 0
    """Entries looked at."""
    tombstones: int = 0
    last_chunk: Chunk = field(default_factory=lambda: ([], []))
    """What was loaded last: all that came before it has been used up."""

    def note_chunk(self, chunk: Chunk) -> None:
        """Note what is handed on to the merge."""
        self.last_chunk = chunk
        self.tombstones += count_tombstones(chunk)

    def ahead_of(self, last_key: bytes, *, reverse: bool) -> Chunk:
        """Return what was loaded and lies behind the last key that was wanted."""
        keys, values = self.last_chunk
        wanted = [(key < last_key) if reverse else (key > last_key) for key in keys]
        return (
            [key for key, is_ahead in zip(keys, wanted, strict=True) if is_ahead],
            [value for value, is_ahead in zip(values, wanted, strict=True) if is_ahead],
        )


def count_tombstones(chunk: Chunk) -> int:
    """Return how many entries are deletions."""
    return sum(isinstance(value, Deleted) for value in chunk[1])


class CountedSource:
    """A source whose pieces are noted as they are handed on."""

    def __init__(self, source: Source, tally: Tally) -> None:
        self._source = source
        self._tally = tally

    def chunks(self) -> Iterator[Chunk]:
        """Yield the pieces of the source."""
        for chunk in self._source.chunks():
            if self._tally.level is None:  # tables count entries as blocks are decoded
                self._tally.entries += len(chunk[0])
            self._tally.note_chunk(chunk)
            yield chunk


class CountedTable:
    """A table, both its handle and itself, that notes which blocks are taken from it."""

    def __init__(self, handle: TableHandle, tally: Tally) -> None:
        self._handle = handle
        self._tally = tally
        self._table: Table | None = None

    @property
    def meta(self) -> TableMeta:
        """The facts of the table."""
        return self._handle.meta

    @property
    def path(self) -> str:
        """Where the table is, for messages."""
        return self._handle.path

    def table(self) -> "CountedTable":
        """Open the table."""
        self._table = self._handle.table()
        self._tally.tables += 1
        return self

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return self._opened.block_count

    def seek(self, key: bytes) -> int:
        """Number of the first block whose last key is not below `key`."""
        return self._opened.seek(key)

    def block(self, number: int) -> "CountedBlock":
        """One block."""
        block, brought = self._opened.block_noting(number)
        self._tally.blocks[brought] += 1
        return CountedBlock(block, self._tally)

    @property
    def _opened(self) -> Table:
        assert self._table is not None
        return self._table


class CountedBlock:
    """A block that notes how many of its entries are looked at."""

    def __init__(self, block: Block, tally: Tally) -> None:
        self._block = block
        self._tally = tally
        self.count = block.count
        self.distinct_keys = block.distinct_keys

    def lower_bound(self, key: bytes) -> int:
        """Position of the first entry whose key is not below `key`."""
        return self._block.lower_bound(key)

    def visible(self, seq_max: int, start: int, stop: int) -> Chunk:
        """Keys and values of the newest visible entry of each key."""
        chunk = self._block.visible(seq_max, start, stop)
        self._tally.entries += stop - start
        return chunk
