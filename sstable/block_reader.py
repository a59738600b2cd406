"""Brings blocks into memory: mapped in place, or read, expanded and kept in a cache."""

from typing import Literal, NamedTuple, Protocol, TypeAlias

from sstable.block import Block
from sstable.block_decoder import decode_block
from sstable.block_index import BlockHandle, BlockIndex
from sstable.codec import BadStream, Codec, decompress, known_codec
from sstable.errors import CorruptTable
from sstable.kind import Kind
from sstable.meta import TableMeta
from sstable.sections import memory_of
from sstable.source import Source

Brought: TypeAlias = Literal["map", "cache", "file"]
"""Where a block came from: read in place, kept decoded, or read (and expanded if need be) just now."""


class Address(NamedTuple):
    """Where the entries of a block are in the map, for positions counted from 1; 0 for columns it has not."""

    keys_at: int
    key_width: int
    key_offsets_at: int
    values_at: int
    value_width: int
    value_offsets_at: int
    kinds_at: int


class BlockCache(Protocol):
    """Keeps blocks that are costly to bring in, under (number that stands for a table, block number)."""

    def get(self, key: tuple[int, int], /) -> Block | None:
        """The block, or None."""

    def put(self, key: tuple[int, int], block: Block, cost_bytes: int, /) -> None:
        """Keep the block, which takes about that much memory."""


class BlockReader:
    """Blocks of one table by number.

    `addresses` tells of the blocks that were verified, and are read in place, where their entries are;
    it has None for all others, and for those that hold nothing but tombstones.
    """

    __slots__ = ("_cache", "_in_place", "_index", "_key", "_meta", "_source", "_verify", "addresses")

    def __init__(
        self, source: Source, index: BlockIndex, meta: TableMeta, *, cache: BlockCache | None, verify: bool
    ) -> None:
        self._source = source
        self._index = index
        self._meta = meta
        # With the checksum: where a copy of a store is made anew, a number may stand for another table.
        self._key = meta.number << 32 | meta.crc
        self._cache = cache
        self._verify = verify
        self._in_place: list[Block | None] = [None] * len(index)
        self.addresses: list[Address | None] = [None] * len(index)

    def block(self, number: int) -> Block:
        """One block; its checksum is verified when it is first touched, or read."""
        block = self._in_place[number]
        return self._bring(number) if block is None else block

    def bring_noting(self, number: int) -> tuple[Block, Brought]:
        """The same block, and where it came from; for explaining, `block` is for reading."""
        block = self._in_place[number]
        if block is not None:
            return block, "map"
        block = self._cache.get((self._key, number)) if self._cache is not None else None
        if block is not None:
            return block, "cache"
        block = self._read(number)
        self._keep(number, block)
        return block, "file" if self._in_place[number] is None else "map"

    def _bring(self, number: int) -> Block:
        block = self._cache.get((self._key, number)) if self._cache is not None else None
        if block is None:
            block = self._read(number)
            self._keep(number, block)
        return block

    def _keep(self, number: int, block: Block) -> None:
        handle = self._index.handle(number)
        if self._source.mapped is not None and handle.codec == Codec.NONE:
            self._in_place[number] = block
            self.addresses[number] = _address_of(block)
        elif self._cache is not None:
            self._cache.put((self._key, number), block, handle.plain_bytes)

    def _read(self, number: int) -> Block:
        return read_block(self._source, self._index, number, self._meta, verify=self._verify)


def read_block(
    source: Source, index: BlockIndex, number: int, meta: TableMeta, *, verify: bool = True
) -> Block:
    """One block, straight from the file."""
    handle = index.handle(number)
    extent = index.extent(number, handle)
    offset = extent.offset
    data, start = memory_of(source, extent, "block", verify=verify)
    codec = known_codec(handle.codec)
    if codec is not Codec.NONE:
        data, start = _expanded(codec, data[start : start + handle.stored_bytes], handle, offset), 0
    elif handle.stored_bytes != handle.plain_bytes:
        raise CorruptTable("plain block has two lengths", offset=offset)
    block = decode_block(
        data,
        start=start,
        plain_bytes=handle.plain_bytes,
        offset=offset,
        distinct_keys=handle.distinct_keys,
        seq_base=meta.seq_base,
    )
    if fault := _fault(block, handle, index.last_keys[number], meta):
        raise CorruptTable(fault, offset=offset)
    return block


def _expanded(codec: Codec, stored: bytes, handle: BlockHandle, offset: int) -> bytes:
    try:
        return decompress(codec, stored, handle.plain_bytes)
    except BadStream as error:
        raise CorruptTable(f"block does not decompress: {error}", offset=offset) from error


def _fault(block: Block, handle: BlockHandle, last_key: bytes, meta: TableMeta) -> str | None:
    """What the block says otherwise than its handle or the manifest, or None."""
    if block.count != handle.entries:
        return "block has another number of entries than its handle"
    if block.last_key != last_key:
        return "block does not end in the key of its handle"
    if block.min_seq < meta.min_seq + meta.seq_base or block.max_seq > meta.max_seq + meta.seq_base:
        return "block has sequence numbers that its table has not"
    tombstones = block.tombstones
    if tombstones > meta.tombstones or block.count - tombstones > meta.entries - meta.tombstones:
        return "block has more entries of a kind than its table"
    return None


def _address_of(block: Block) -> Address | None:
    if block.sole_kind == Kind.DELETE:
        return None
    kinds_at = 0 if block.sole_kind else block.kinds_at - 1
    return Address(*block.key_column.address(), *block.value_column.address(), kinds_at)
