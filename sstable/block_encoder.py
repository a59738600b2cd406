"""Turns columns into the plain bytes of one block."""

import numpy as np

from sstable.align import padding
from sstable.arrays import OffsetArray, U8Array
from sstable.block_header import HEADER, MIXED, PLAIN_BYTES_MAX, VARIABLE, BlockHeader
from sstable.columns import Columns


class BlockTooLarge(ValueError):
    """The versions of one key, which share a block, exceed what a block can hold."""


def encode_block(columns: Columns) -> bytes:
    """Plain bytes of a block with these entries, at least one."""
    header = _header_of(columns)
    if header.column_starts(0)[-1] > PLAIN_BYTES_MAX:
        raise BlockTooLarge(f"all versions of one key must fit into {PLAIN_BYTES_MAX} bytes")
    parts = [
        HEADER.pack(*header),
        *_strings(columns.key_offsets, columns.key_data, header.key_width),
        _seqs(columns, header),
        columns.kinds.tobytes() if header.kind == MIXED else b"",
        *_strings(columns.value_offsets, columns.value_data, header.value_width),
    ]
    return b"".join([piece for part in parts for piece in (part, padding(len(part)))])


def _header_of(columns: Columns) -> BlockHeader:
    key_width, value_width = columns.fixed_key_width, columns.fixed_value_width
    seq_min = int(columns.seqs.min())
    kinds = columns.kinds
    return BlockHeader(
        entries=len(columns),
        flags=0,
        kind=int(kinds[0]) if bool((kinds == kinds[0]).all()) else MIXED,
        reserved=0,
        key_width=VARIABLE if key_width is None else key_width,
        value_width=VARIABLE if value_width is None else value_width,
        key_bytes=columns.key_bytes,
        value_bytes=columns.value_bytes,
        seq_min=seq_min,
        seq_span=int(columns.seqs.max()) - seq_min,
    )


def _strings(offsets: OffsetArray, data: U8Array, width: int) -> tuple[bytes, bytes]:
    """The offsets, unless the width says it all, and the bytes."""
    content = data[int(offsets[0]) : int(offsets[-1])].tobytes()
    return b"" if width != VARIABLE else (offsets - offsets[0]).astype("<i4").tobytes(), content


def _seqs(columns: Columns, header: BlockHeader) -> bytes:
    if header.seq_width == 0:
        return b""
    return (columns.seqs - np.uint64(header.seq_min)).astype(f"<u{header.seq_width}").tobytes()
