"""How far the log is durable, as the writer publishes it to readers in other processes."""

import struct
import zlib
from typing import NamedTuple

_FIELDS = struct.Struct("<QQQQ")
_CRC = struct.Struct("<I")
_SIZE = _FIELDS.size + _CRC.size


class DurableEnd(NamedTuple):
    """Of segment `number` everything before byte `position` is durable.

    `sample_seq` begins at byte `sample_position`, not far before the end: a place to start reading from.
    """

    number: int
    position: int
    sample_seq: int
    sample_position: int

    def encode(self) -> bytes:
        """Return its bytes, with a checksum: they are read while they are written."""
        fields = _FIELDS.pack(*self)
        return fields + _CRC.pack(zlib.crc32(fields))


def decode_end(data: bytes) -> DurableEnd | None:
    """Return what was published, or None if nothing whole was."""
    if len(data) < _SIZE:
        return None
    fields, (crc,) = data[: _FIELDS.size], _CRC.unpack_from(data, _FIELDS.size)
    return DurableEnd(*_FIELDS.unpack(fields)) if zlib.crc32(fields) == crc else None
