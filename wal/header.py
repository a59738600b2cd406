"""The first bytes of a segment: whose it is and where it starts.  See FORMAT.md."""

import struct
import zlib
from dataclasses import dataclass

from wal.errors import SegmentDamaged, SegmentUnsupported

# On disk: changing a line below needs a new format version.
MAGIC = b"LSMWAL\r\n"
VERSION = 1
_FIELDS = struct.Struct("<8sI16sQQQQ")
_CRC = struct.Struct("<I")
SEGMENT_HEADER_BYTES = _FIELDS.size + _CRC.size
STORE_ID_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentHeader:
    """Identity of one segment."""

    store_id: bytes
    number: int
    first_seq: int
    epoch: int
    time_us: int

    def encode(self) -> bytes:
        """Return the header's bytes."""
        assert len(self.store_id) == STORE_ID_BYTES
        fields = _FIELDS.pack(
            MAGIC, VERSION, self.store_id, self.number, self.first_seq, self.epoch, self.time_us
        )
        return fields + _CRC.pack(zlib.crc32(fields))

    @property
    def seed(self) -> int:
        """What every record's checksum starts from."""
        return _CRC.unpack(self.encode()[-_CRC.size :])[0]  # type: ignore[no-any-return]  # struct is untyped


def decode_header(data: bytes | memoryview) -> SegmentHeader | None:
    """Return the header, or None where the bytes are too few or were never written (zeros)."""
    view = memoryview(data)
    if len(view) < SEGMENT_HEADER_BYTES or not any(view[:SEGMENT_HEADER_BYTES]):
        return None
    magic, version, store_id, number, first_seq, epoch, time_us = _FIELDS.unpack_from(view)
    (crc,) = _CRC.unpack_from(view, _FIELDS.size)
    if zlib.crc32(view[: _FIELDS.size]) != crc:
        raise SegmentDamaged("segment header does not match its checksum", offset=0)
    if magic != MAGIC:
        raise SegmentDamaged("not a log segment", offset=0)
    if version > VERSION:
        raise SegmentUnsupported(f"log segment of format {version}; this software reads up to {VERSION}")
    return SegmentHeader(store_id=store_id, number=number, first_seq=first_seq, epoch=epoch, time_us=time_us)
