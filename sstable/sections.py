"""Reads footer and sections of a table and holds them against its TableMeta."""

import operator
import zlib

from sstable.block_header import HEADER, PLAIN_BYTES_MAX
from sstable.block_index import BlockIndex, decode_block_index
from sstable.errors import CorruptTable
from sstable.extent import Extent
from sstable.footer import FOOTER_BYTES, Footer, decode_footer, footer_crc
from sstable.meta import TableMeta
from sstable.properties import Properties, decode_properties
from sstable.source import Data, ReadFile, Source

# The most that a block adds to its keys and values: for an entry two offsets, a seq and a kind;
# for itself the header, the last offsets and padding.
_ENTRY_OVERHEAD_MAX = 4 + 4 + 8 + 1
_BLOCK_OVERHEAD_MAX = HEADER.size + 2 * 4 + 6 * 7


def read_footer(source: Source, meta: TableMeta) -> Footer:
    """The footer, if it is the one that `meta` was taken from."""
    footer, crc = _last_bytes(source, meta.size_bytes)
    if crc != meta.crc:
        raise CorruptTable("sound footer of another table", offset=meta.size_bytes - FOOTER_BYTES)
    # A table written for adoption has number 0: it gets its number when the store takes it in.
    if footer.number not in (0, meta.number):
        raise CorruptTable(f"footer of table {footer.number}", offset=meta.size_bytes - FOOTER_BYTES)
    return footer


def read_meta(file: ReadFile) -> TableMeta:
    """The facts of a table from its own file: for adoption, and where the manifest is lost."""
    source = Source(file, use_map=False)
    footer, crc = _last_bytes(source, file.size)
    properties = read_properties(source, footer)
    try:
        return properties.meta(number=footer.number, size_bytes=file.size, crc=crc)
    except ValueError as error:
        raise CorruptTable(f"properties: {error}", offset=footer.properties.offset) from error


def read_properties(source: Source, footer: Footer) -> Properties:
    """The properties, checksum verified."""
    section = _read(source, footer.properties, "properties")
    return decode_properties(section, offset=footer.properties.offset)


def read_block_index(source: Source, footer: Footer, meta: TableMeta) -> BlockIndex:
    """The block index, checksum verified, for exactly the data that `meta` and `footer` know of."""
    extent = footer.block_index
    index = decode_block_index(_read(source, extent, "block index"), offset=extent.offset)
    if fault := _index_fault(index, footer, meta):
        raise CorruptTable(fault, offset=extent.offset)
    return index


def memory_of(source: Source, extent: Extent, what: str, *, verify: bool = True) -> tuple[Data, int]:
    """Memory that holds the bytes of `extent`, and where in it; checksum verified unless told not to."""
    data, start = source.memory(extent.offset, extent.size)
    # A memoryview spares the copy that a slice would make.
    if verify and zlib.crc32(memoryview(data)[start : start + extent.size]) != extent.crc:
        raise CorruptTable(f"{what} checksum does not match", offset=extent.offset)
    return data, start


def _last_bytes(source: Source, size: int) -> tuple[Footer, int]:
    offset = size - FOOTER_BYTES
    if offset < 0:
        raise CorruptTable("file is too short for a table", offset=0)
    encoded = source.read(offset, FOOTER_BYTES)
    return decode_footer(encoded, offset=offset), footer_crc(encoded)


def _read(source: Source, extent: Extent, what: str) -> bytes:
    data, start = memory_of(source, extent, what)
    return data[start : start + extent.size]


def _index_fault(index: BlockIndex, footer: Footer, meta: TableMeta) -> str | None:
    keys = index.last_keys
    if index.offsets[-1] != footer.data_bytes:
        return "blocks do not fill the data part"
    if index.total("entries") != meta.entries or index.total("distinct_keys") != meta.distinct_keys:
        return "blocks do not add up to the entries of the table"
    if keys[-1] != meta.largest or not all(map(operator.lt, keys, keys[1:])):
        return "last keys of blocks do not rise to the largest key"
    # Bounds what decompression may allocate by what the manifest says the table holds.
    content = meta.key_bytes + meta.value_bytes + meta.entries * _ENTRY_OVERHEAD_MAX
    if (
        index.total("plain_bytes") > content + len(index) * _BLOCK_OVERHEAD_MAX
        or index.longest_plain > PLAIN_BYTES_MAX
    ):
        return "blocks claim to be larger than their entries"
    return None
