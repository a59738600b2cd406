"""Tables changed by someone who knows the format: every checksum on the way up is made to fit again."""

import struct
import zlib
from dataclasses import replace

from sstable.block_index import decode_block_index
from sstable.footer import FOOTER_BYTES, decode_footer, footer_crc
from tests.sstable.memory import Written

BLOCK_INDEX_HEAD = 8
HANDLE_BYTES = 28
HANDLE_CRC = 8


class Forgery:
    """The bytes of a table, to be changed, and then sealed."""

    def __init__(self, table: Written) -> None:
        self._table = table
        self.data = bytearray(table.data)
        self.footer_at = len(table.data) - FOOTER_BYTES
        self.footer = decode_footer(table.data[self.footer_at :], offset=self.footer_at)
        handle = self.footer.block_index
        self.index = decode_block_index(table.data[handle.offset : handle.stop], offset=handle.offset)

    def handle_at(self, block: int) -> int:
        """Where the handle of a block is in the file."""
        return self.footer.block_index.offset + BLOCK_INDEX_HEAD + block * HANDLE_BYTES

    def replace_block(self, block: int, stored: bytes) -> None:
        """Other bytes of the same length in the place of a block."""
        assert len(stored) == self.index.handle(block).stored_bytes
        start = int(self.index.offsets[block])
        self.data[start : start + len(stored)] = stored

    def sealed(self, *, is_footer_forged: bool = False) -> Written:
        """The table with checksums that fit, and a manifest that believes them."""
        for block in range(len(self.index)):
            start = int(self.index.offsets[block])
            crc = zlib.crc32(self.data[start : start + self.index.handle(block).stored_bytes])
            struct.pack_into("<I", self.data, self.handle_at(block) + HANDLE_CRC, crc)
        if not is_footer_forged:
            self._reseal_sections()
        body = self.data[self.footer_at : self.footer_at + 116]
        struct.pack_into("<I", self.data, self.footer_at + 116, zlib.crc32(body))
        crc = footer_crc(bytes(self.data[self.footer_at :]))
        return Written(bytes(self.data), replace(self._table.meta, crc=crc), self._table.entries)

    def _reseal_sections(self) -> None:
        for nth, handle in enumerate(self.footer.sections):
            crc = zlib.crc32(self.data[handle.offset : handle.stop])
            struct.pack_into("<I", self.data, self.footer_at + 20 * nth + 16, crc)
