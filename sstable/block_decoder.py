"""Turns the plain bytes of a block into a Block, after checking that they can be one."""

from sstable.block import Block
from sstable.block_header import HEADER, MIXED, BlockHeader
from sstable.errors import CorruptTable, UnsupportedTable
from sstable.kind import Kind
from sstable.source import Data


def decode_block(
    data: Data, *, start: int, plain_bytes: int, offset: int, distinct_keys: int, seq_base: int
) -> Block:
    """The block at `start` in `data`; `offset` is where errors say it is in the file.

    What a checksum cannot promise is checked here, so that no read can leave the block:
    a table may come from a stranger, who can compute checksums too.
    """
    if plain_bytes < HEADER.size:
        raise CorruptTable("block is shorter than its header", offset=offset)
    header = BlockHeader._make(HEADER.unpack_from(data, start))
    if header.flags or header.reserved:
        raise UnsupportedTable(f"block at byte {offset} has columns that this version does not know")
    starts = header.column_starts(start)
    if fault := header.fault(plain_bytes, starts[-1] - start):
        raise CorruptTable(fault, offset=offset)
    block = Block(data, header, starts, distinct_keys=distinct_keys, seq_base=seq_base)
    _check_kinds(block, header, offset)
    for fault in (block.key_column.fault(), block.value_column.fault(), _seq_fault(block)):
        if fault:
            raise CorruptTable(fault, offset=offset)
    return block


def _check_kinds(block: Block, header: BlockHeader, offset: int) -> None:
    highest = int(block.kinds().max()) if header.kind == MIXED else header.kind
    if highest > Kind.PUT:
        raise UnsupportedTable(f"block at byte {offset} has entries of kind {highest}, of a newer version")


def _seq_fault(block: Block) -> str | None:
    distances = block.seq_distances()
    if distances is None:
        return None
    if distances.min() != 0 or int(distances.max()) != block.max_seq - block.min_seq:
        return "sequence numbers leave the range in the block header"
    return None
