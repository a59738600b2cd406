"""The fixed-size end of a table: where the sections are, and whose table this is.  See FORMAT.md."""

import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise

from sstable.align import aligned
from sstable.errors import CorruptTable, UnsupportedTable
from sstable.extent import Extent

# On disk: changing a line below needs a new format version.
FORMAT_VERSION = 1
MAGIC = b"LSM-SST\n"
_FLAGS = 0
_BODY = struct.Struct("<" + "QQI" * 4 + "16sQQI")
_TAIL = struct.Struct("<I8s")
FOOTER_BYTES = _BODY.size + _TAIL.size
STORE_ID_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """Sections in file order, and the identity of the table.  Sections left out have size 0."""

    bloom_filter: Extent
    hash_index: Extent
    block_index: Extent
    properties: Extent
    store_id: bytes
    number: int

    @property
    def sections(self) -> tuple[Extent, ...]:
        """All sections, in file order."""
        return self.bloom_filter, self.hash_index, self.block_index, self.properties

    @property
    def data_bytes(self) -> int:
        """Length of all data blocks: they start the file, sections follow."""
        return self.bloom_filter.offset

    def encode(self) -> bytes:
        """The bytes at the end of the file."""
        fields = [field for section in self.sections for field in section]
        body = _BODY.pack(*fields, self.store_id, self.number, _FLAGS, FORMAT_VERSION)
        return body + _TAIL.pack(zlib.crc32(body), MAGIC)


def footer_crc(encoded: bytes) -> int:
    """The checksum inside an encoded footer; it stands for the whole table."""
    # Not a checksum over all of the footer: data followed by its own CRC has the same CRC in every file.
    crc: int = _TAIL.unpack_from(encoded, _BODY.size)[0]
    return crc


def decode_footer(encoded: bytes, *, offset: int) -> Footer:
    """The footer found at `offset`; its sections fill the file up to there, without gap or overlap."""
    body = encoded[: _BODY.size]
    crc, magic = _TAIL.unpack_from(encoded, _BODY.size)
    if magic != MAGIC:
        raise CorruptTable("not the end of a table", offset=offset + _BODY.size)
    if crc != zlib.crc32(body):
        raise CorruptTable("footer checksum does not match", offset=offset)
    *fields, store_id, number, flags, version = _BODY.unpack(body)
    if version != FORMAT_VERSION or flags != _FLAGS:
        raise UnsupportedTable(
            f"table has format version {version}, flags {flags}; this reads version {FORMAT_VERSION}"
        )
    bloom_filter, hash_index, block_index, properties = (
        Extent(*fields[start : start + 3]) for start in range(0, 12, 3)
    )
    footer = Footer(
        bloom_filter=bloom_filter,
        hash_index=hash_index,
        block_index=block_index,
        properties=properties,
        store_id=store_id,
        number=number,
    )
    _check_places(footer, offset)
    return footer


def _check_places(footer: Footer, offset: int) -> None:
    for before, after in pairwise((*footer.sections, Extent(offset, 0, 0))):
        if after.offset != aligned(before.stop):
            raise CorruptTable("sections do not follow each other", offset=offset)
    if footer.data_bytes != aligned(footer.data_bytes):
        raise CorruptTable("data blocks end off a multiple of 8", offset=offset)
