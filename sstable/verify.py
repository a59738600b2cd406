"""Reads all of a table and holds every part against what the entries say it must be."""

import numpy as np

from sstable.align import aligned
from sstable.block import Block
from sstable.block_index import BlockIndex
from sstable.block_reader import read_block
from sstable.errors import CorruptTable
from sstable.extent import Extent
from sstable.footer import Footer
from sstable.meta import TableMeta
from sstable.order import key_heads
from sstable.sections import memory_of, read_block_index, read_footer, read_properties
from sstable.source import Source
from sstable.tally import Tally


def verify_table(source: Source, meta: TableMeta) -> None:
    """Raise CorruptTable unless checksums hold, keys rise, and counts, filter and hash index fit the entries.

    Nothing that was read before is trusted: everything comes from the file again.
    """
    footer = read_footer(source, meta)
    index = read_block_index(source, footer, meta)
    _check_bytes(source, footer, index)
    tally = _tally_blocks(source, index, meta)
    _check_properties(source, footer, tally, meta)
    if footer.bloom_filter.size:
        expected = tally.bloom_filter(footer.bloom_filter.size)
        _check_section(source, footer.bloom_filter, "bloom filter", expected)
    if footer.hash_index.size:
        _check_section(source, footer.hash_index, "hash index", tally.hash_index())


def verify_checksums(source: Source, meta: TableMeta) -> None:
    """Raise CorruptTable unless the bytes of the table are those that were written."""
    footer = read_footer(source, meta)
    _check_bytes(source, footer, read_block_index(source, footer, meta))


def _check_bytes(source: Source, footer: Footer, index: BlockIndex) -> None:
    for extent in (*map(index.extent, range(len(index))), *footer.sections):
        memory_of(source, extent, "block" if extent.offset < footer.data_bytes else "section")
        # Padding is under no checksum, but there is only one thing it can be.
        if any(source.read(extent.stop, aligned(extent.stop) - extent.stop)):
            raise CorruptTable("padding is not zero", offset=extent.stop)


def _tally_blocks(source: Source, index: BlockIndex, meta: TableMeta) -> Tally:
    tally = Tally()
    previous_key: bytes | None = None
    for number in range(len(index)):
        offset = int(index.offsets[number])
        block = read_block(source, index, number, meta)
        if previous_key is not None and block.first_key <= previous_key:
            raise CorruptTable("block starts with a key that the block before it holds", offset=offset)
        _add_block(tally, block, meta, offset)
        previous_key = block.last_key
    return tally


def _add_block(tally: Tally, block: Block, meta: TableMeta, offset: int) -> None:
    columns, keys = block.columns(), block.keys()
    try:
        heads = key_heads(keys, columns.seqs)
    except ValueError as error:
        raise CorruptTable(str(error), offset=offset) from error
    if len(heads) != block.distinct_keys:
        raise CorruptTable("block has another number of distinct keys than its handle", offset=offset)
    columns.seqs = columns.seqs - np.uint64(meta.seq_base)
    tally.add(columns, keys, heads, [0, block.count])


def _check_properties(source: Source, footer: Footer, tally: Tally, meta: TableMeta) -> None:
    properties = read_properties(source, footer)
    offset = footer.properties.offset
    if properties != tally.properties(properties.oldest_tombstone_time):
        raise CorruptTable("properties do not fit the entries", offset=offset)
    if not properties.agree_with(meta):
        raise CorruptTable("manifest and properties differ", offset=offset)


def _check_section(source: Source, extent: Extent, what: str, expected: bytes) -> None:
    """A section that follows from the entries must be exactly as they make it."""
    data, start = memory_of(source, extent, what)
    if data[start : start + extent.size] != expected:
        raise CorruptTable(f"{what} does not fit the keys", offset=extent.offset)
