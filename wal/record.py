"""One record of the log: header and payload.  See FORMAT.md."""

import struct
import zlib
from typing import NamedTuple

# On disk: changing a line below needs a new format version.
HEADER = struct.Struct("<IIIQQII")  # crc, length, mark, first_seq, time_us, synced_upto, count
BODY_FORMAT = "IIQQII"  # the header behind its crc
BODY = struct.Struct("<" + BODY_FORMAT)
CRC = struct.Struct("<I")
_START = struct.Struct("<III")  # crc, length, mark
DATA = 0x01A75257
CLOSE = 0x02A75257
PAYLOAD_BYTES_MAX = 256 * 1024 * 1024

HEADER_BYTES = HEADER.size
CRC_BYTES = CRC.size


class Record(NamedTuple):
    """A whole record as found in a segment; `payload` is at [payload_start, end) of the segment."""

    position: int
    end: int
    mark: int
    first_seq: int
    entries: int
    time_us: int
    synced_upto: int

    @property
    def payload_start(self) -> int:
        """Where the payload begins in the segment."""
        return self.position + HEADER_BYTES

    @staticmethod
    def at(segment: bytes | memoryview, position: int, end: int) -> "Record":
        """Return the record of [position, end), which was found whole."""
        _, _, mark, first_seq, time_us, synced_upto, entries = HEADER.unpack_from(segment, position)
        return Record(position, end, mark, first_seq, entries, time_us, synced_upto)


def encode(
    payload: bytes, *, seed: int, first_seq: int, count: int, time_us: int, synced_upto: int, mark: int = DATA
) -> bytes:
    """Return the record's bytes."""
    assert len(payload) <= PAYLOAD_BYTES_MAX
    body = BODY.pack(len(payload), mark, first_seq, time_us, synced_upto, count) + payload
    return CRC.pack(zlib.crc32(body, seed)) + body


def decode(segment: bytes | memoryview, position: int, *, seed: int) -> Record | None:
    """Return the whole, valid record that starts at `position`, or None if there is none."""
    view = memoryview(segment)
    if position + HEADER_BYTES > len(view):
        return None
    crc, length, mark = _START.unpack_from(view, position)
    end = position + HEADER_BYTES + length
    if mark not in (DATA, CLOSE) or length > PAYLOAD_BYTES_MAX or end > len(view):
        return None
    if zlib.crc32(view[position + CRC_BYTES : end], seed) != crc:
        return None
    return Record.at(view, position, end)
