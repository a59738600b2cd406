"""Reads one table: by key, by range, by block."""

from collections.abc import Iterator

from sstable.arrays import BoolArray, U32Array
from sstable.block import Block
from sstable.block_reader import BlockCache, BlockReader, Brought
from sstable.columns import Columns
from sstable.errors import CorruptTable
from sstable.explain import Probe, Sections, probe
from sstable.hash_index import SlotShape
from sstable.kind import MAX_SEQ, Deleted
from sstable.lazy_filter import LazyFilter
from sstable.lookup import HashLookup, Lookup, SearchLookup
from sstable.meta import TableMeta
from sstable.sections import read_block_index, read_footer
from sstable.source import ReadFile, Source
from sstable.verify import verify_checksums, verify_table


class Table:
    """An open table.  Opening reads footer and block index; all else is read, and verified, on first use.

    With `verify=False` the checksums of blocks, filter and hash index are not computed.  Blocks that are
    compressed or not mapped go through `cache`.  Any number of threads may read at once.
    """

    get: Lookup
    """`get(key, h1, seq_max=MAX_SEQ)`: the newest visible value, DELETED, or None; h1 is `key_hash(key)`."""

    def __init__(
        self,
        file: ReadFile,
        meta: TableMeta,
        *,
        cache: BlockCache | None = None,
        verify: bool = True,
        use_map: bool = True,
        name: str = "",
    ) -> None:
        # Before mapping: to read a map beyond the end of its file kills the process.
        if file.size != meta.size_bytes:
            what = f"file has {file.size} bytes, not {meta.size_bytes}"
            raise CorruptTable(what, offset=min(file.size, meta.size_bytes))
        self.meta = meta
        self.name = name
        self._source = Source(file, use_map=use_map)
        self._footer = read_footer(self._source, meta)
        self._index = read_block_index(self._source, self._footer, meta)
        self._blocks = BlockReader(self._source, self._index, meta, cache=cache, verify=verify)
        self._filter = LazyFilter(
            self._source, self._footer.bloom_filter, keys=meta.distinct_keys, verify=verify
        )
        self._hash_lookup = self._open_hash_index(verify=verify)
        by_search = SearchLookup(self._filter, self._index, self._blocks)
        # An attribute, not a method that passes on: a call more would be a tenth of a point read.
        self.get = (self._hash_lookup or by_search).get

    def __repr__(self) -> str:
        return f"<Table {self.meta.number} {self.name}>"

    @property
    def store_id(self) -> bytes:
        """Identity of the store that the table was written for."""
        return self._footer.store_id

    @property
    def has_hash_index(self) -> bool:
        """Whether `get` goes through a hash index."""
        return self._footer.hash_index.size > 0

    @property
    def bloom_bits_per_key(self) -> float:
        """Size of the filter; 0 without one."""
        return 8 * self._footer.bloom_filter.size / max(1, self.meta.distinct_keys)

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return len(self._index)

    @property
    def last_keys(self) -> list[bytes]:
        """Last key of each block; not to be changed."""
        return self._index.last_keys

    def get_entry(self, key: bytes, seq_max: int = MAX_SEQ) -> tuple[int, int, bytes] | None:
        """(seq, kind, value) of the newest visible entry of `key`, by search."""
        number = self.seek(key)
        if number == self.block_count:
            return None
        block = self.block(number)
        position = block.find(block.lower_bound(key), key, seq_max)
        if position is None:
            return None
        return block.seq(position), block.kind(position), block.value(position)

    def explain(self, key: bytes, seq_max: int = MAX_SEQ) -> Probe:
        """What `get` does for this key: filter, hash index and blocks it looks at, and the entry it finds."""
        return probe(Sections(self._filter, self._hash_lookup, self._index, self._blocks), key, seq_max)

    def may_contain_many(self, h1: U32Array, h2: U32Array) -> BoolArray:
        """For each pair of hashes (see `key_hashes`), whether a key with them may be here."""
        return self._filter.may_contain_many(h1, h2)

    def seek(self, key: bytes) -> int:
        """Number of the first block whose last key is not below `key`; `block_count` if there is none."""
        return self._index.seek(key)

    def split_keys(self, parts: int) -> list[bytes]:
        """Up to `parts` - 1 keys that cut the table, between blocks, into ranges of about equal bytes."""
        return self._index.split_keys(parts)

    def span_bytes(self, start: bytes | None = None, stop: bytes | None = None) -> int:
        """Stored bytes of the blocks that hold keys of start <= key < stop."""
        first = 0 if start is None else self.seek(start)
        end = self.block_count if stop is None else min(self.seek(stop) + 1, self.block_count)
        return int(self._index.offsets[end] - self._index.offsets[first]) if first < end else 0

    def block(self, number: int) -> Block:
        """One block."""
        return self._blocks.block(number)

    def block_noting(self, number: int) -> tuple[Block, Brought]:
        """One block, and where it came from; for explaining."""
        return self._blocks.bring_noting(number)

    def blocks(self, start: bytes | None = None, stop: bytes | None = None) -> Iterator[Block]:
        """The blocks that hold keys of start <= key < stop, whole."""
        return (block for block, _, _ in self.spans(start, stop))

    def columns(self, start: bytes | None = None, stop: bytes | None = None) -> Iterator[Columns]:
        """All entries of start <= key < stop, block by block; not copied unless compressed."""
        for block, first, end in self.spans(start, stop):
            columns = block.columns()
            yield columns if end - first == block.count else columns.slice(first, end)

    def scan(
        self,
        start: bytes | None = None,
        stop: bytes | None = None,
        *,
        reverse: bool = False,
        seq_max: int = MAX_SEQ,
    ) -> Iterator[tuple[bytes, bytes | Deleted]]:
        """Newest visible entry of each key of start <= key < stop, by key, DELETED for tombstones."""
        for block, first, end in self.spans(start, stop, reverse=reverse):
            keys, values = block.visible(seq_max, first, end)
            if reverse:
                keys.reverse()
                values.reverse()
            yield from zip(keys, values, strict=True)

    def spans(
        self, start: bytes | None = None, stop: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Block, int, int]]:
        """Blocks that hold keys of start <= key < stop, each with the positions between which they are."""
        first = 0 if start is None else self.seek(start)
        last = self.block_count - 1 if stop is None else min(self.seek(stop), self.block_count - 1)
        numbers = range(first, last + 1)
        for number in reversed(numbers) if reverse else numbers:
            block = self.block(number)
            begin = block.lower_bound(start) if start is not None and number == first else 0
            end = block.lower_bound(stop) if stop is not None and number == last else block.count
            if begin < end:
                yield block, begin, end

    def verify(self) -> None:
        """Read everything, and raise CorruptTable unless all of it is sound and agrees."""
        verify_table(self._source, self.meta)

    def verify_checksums(self) -> None:
        """Read everything, and raise CorruptTable unless the bytes are those that were written."""
        verify_checksums(self._source, self.meta)

    def close(self) -> None:
        """Let go of the file.  Blocks and columns taken from a mapped table keep its memory until they go."""
        self.get = _closed
        self._source.close()

    def _open_hash_index(self, *, verify: bool) -> HashLookup | None:
        extent = self._footer.hash_index
        if not extent.size:
            return None
        shape = SlotShape.of(len(self._index), self._index.longest_block)
        return HashLookup(self._source, extent, shape, self._blocks, self.meta, verify=verify)


def _closed(key: bytes, h1: int, seq_max: int = MAX_SEQ) -> bytes | Deleted | None:
    raise ValueError("table is closed")
