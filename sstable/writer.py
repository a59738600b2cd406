"""Writes one table from sorted columns, block by block."""

import zlib
from itertools import pairwise
from typing import Protocol

import numpy as np

from sstable.align import padding
from sstable.block_encoder import encode_block
from sstable.block_index import BlockHandle, encode_block_index
from sstable.bloom import filter_bytes
from sstable.codec import Codec, codec_named, compress
from sstable.columns import Columns
from sstable.cutting import block_cuts, pieces, size_of, sizes_before
from sstable.extent import Extent
from sstable.footer import STORE_ID_BYTES, Footer, footer_crc
from sstable.hash_index import SLOT_BYTES, SLOTS_PER_KEY
from sstable.meta import TableMeta
from sstable.options import TableOptions
from sstable.order import key_heads
from sstable.tally import Tally

# Work is done on pieces of this size: large enough for numpy to shine, small enough to bound memory.
_PIECE_BYTES = 4 * 1024 * 1024


class AppendFile(Protocol):
    """All that a writer asks of a file."""

    def append(self, data: bytes, /) -> None:
        """Write all of `data` at the end, or raise."""


class TableWriter:
    """Takes entries by key, newest first, and leaves a table in `file`.

    `time_us` is the time of the oldest tombstone that may come; it is kept only if one does.
    """

    def __init__(
        self, file: AppendFile, options: TableOptions, *, number: int, store_id: bytes, time_us: int
    ) -> None:
        assert len(store_id) == STORE_ID_BYTES
        self._file = file
        self._options = options
        self._codec = codec_named(options.compression)
        self._number = number
        self._store_id = store_id
        self._time_us = time_us
        self._size = 0
        self._pending: list[Columns] = []
        self._pending_bytes = 0
        self._pending_bytes_max = options.block_bytes
        self._handles: list[BlockHandle] = []
        self._last_keys: list[bytes] = []
        self._tally = Tally()

    @property
    def size_estimate(self) -> int:
        """About how large the table would be if it were finished now."""
        slot_bytes = SLOT_BYTES * SLOTS_PER_KEY if self._options.hash_index else 0
        key_bytes = slot_bytes + self._options.bloom_bits_per_key / 8
        return self._size + self._pending_bytes + int(key_bytes * self._tally.distinct_keys)

    def add(self, columns: Columns) -> None:
        """Add entries that follow those added before.  Keeps no hold on the arrays."""
        for piece in pieces(columns, _PIECE_BYTES):
            self._pending.append(piece)
            self._pending_bytes += size_of(piece)
            if self._pending_bytes > self._pending_bytes_max:
                self._write_full_blocks()
            else:
                self._pending[-1] = piece.copy()

    def finish(self) -> TableMeta:
        """Write what is left, the sections and the footer; syncing and closing are the caller's."""
        if not self._pending:
            raise ValueError("a table needs at least one entry")
        self._write_full_blocks(is_last=True)
        properties = self._tally.properties(self._time_us)
        footer = Footer(
            bloom_filter=self._append_section(self._bloom_filter()),
            hash_index=self._append_section(self._tally.hash_index() if self._options.hash_index else b""),
            block_index=self._append_section(encode_block_index(self._handles, self._last_keys)),
            properties=self._append_section(properties.encode()),
            store_id=self._store_id,
            number=self._number,
        ).encode()
        self._append(footer)
        return properties.meta(number=self._number, size_bytes=self._size, crc=footer_crc(footer))

    def _write_full_blocks(self, *, is_last: bool = False) -> None:
        """Write the blocks that are full; the entries behind them wait for more, unless they are the last."""
        batch = Columns.concat(self._pending)
        keys = batch.keys()
        heads = key_heads(keys, batch.seqs)
        cuts = block_cuts(sizes_before(batch), heads, self._options.block_bytes)
        if is_last:
            cuts.append(len(batch))
        nth_heads = np.searchsorted(heads, cuts).tolist()
        for (start, stop), (nth, next_nth) in zip(pairwise(cuts), pairwise(nth_heads), strict=True):
            self._write_block(batch.slice(start, stop), next_nth - nth, keys[stop - 1])
        end = cuts[-1]
        if end:
            self._tally.add(batch.slice(0, end), keys[:end], heads[: nth_heads[-1]], cuts)
        self._keep(batch.slice(end, len(batch)))

    def _keep(self, rest: Columns) -> None:
        self._pending = [rest.copy()]
        self._pending_bytes = size_of(rest)
        # One key may have more versions than a block should hold: with a limit that doubles,
        # gathering them stays linear.
        self._pending_bytes_max = max(self._options.block_bytes, 2 * self._pending_bytes)

    def _write_block(self, columns: Columns, distinct_keys: int, last_key: bytes) -> None:
        plain = encode_block(columns)
        codec, stored = self._codec, compress(self._codec, plain)
        if len(stored) >= len(plain):
            codec, stored = Codec.NONE, plain
        self._handles.append(
            BlockHandle(
                stored_bytes=len(stored),
                plain_bytes=len(plain),
                crc=zlib.crc32(stored),
                entries=len(columns),
                distinct_keys=distinct_keys,
                last_key_bytes=len(last_key),
                codec=codec,
            )
        )
        self._last_keys.append(last_key)
        self._append(stored)

    def _bloom_filter(self) -> bytes:
        size = filter_bytes(self._tally.distinct_keys, self._options.bloom_bits_per_key)
        return self._tally.bloom_filter(size) if size else b""

    def _append_section(self, section: bytes) -> Extent:
        extent = Extent(self._size, len(section), zlib.crc32(section))
        self._append(section)
        return extent

    def _append(self, data: bytes) -> None:
        padded = data + padding(len(data))
        self._file.append(padded)
        self._size += len(padded)
