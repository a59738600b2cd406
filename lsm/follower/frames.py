"""Frames of a shipped log: a checksum, a length, a kind, a payload.  Pure bytes; see FORMAT.md.

A stream may come from anywhere.  No length is believed before it is checked, and no more memory is taken
than bytes have arrived.
"""

import struct
import zlib
from typing import NamedTuple, Protocol

import wal
from lsm.errors import StreamCorrupt

# In streams: changing a line below needs a new format version.
HEADER = struct.Struct("<II4s")  # crc, length, kind
_CRC = struct.Struct("<I")
HELLO = b"HELO"
KEYSPACES = b"KEYS"
SNAPSHOT = b"SNAP"
TABLE = b"TABL"
DATA = b"DATA"
SNAPSHOT_END = b"DONE"
RECORDS = b"RECS"
POSITION = b"POSN"

_MIB = 1024 * 1024
DATA_BYTES_MAX = _MIB
PAYLOAD_BYTES_MAX = {
    HELLO: _MIB,
    KEYSPACES: 64 * _MIB,
    SNAPSHOT: _MIB,
    TABLE: _MIB,
    DATA: DATA_BYTES_MAX,
    SNAPSHOT_END: 0,
    RECORDS: wal.PAYLOAD_BYTES_MAX + _MIB,
    POSITION: 16,
}
"""The longest payload of each kind."""

_STEP_BYTES = _MIB


class Readable(Protocol):
    """All that is asked of a stream that is read; the end is b""."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, waiting for at least one."""


class Frame(NamedTuple):
    """One frame; `offset` is where it began in the stream."""

    kind: bytes
    payload: bytes
    offset: int


class FrameEncoder:
    """Makes the frames of one stream.

    Every checksum starts from the frame's number since the last HELLO, so that a frame which is missing,
    doubled or out of order does not pass.
    """

    def __init__(self) -> None:
        self._number = 0

    def encode(self, kind: bytes, payload: bytes) -> bytes:
        """Return the bytes of the next frame."""
        assert len(payload) <= PAYLOAD_BYTES_MAX[kind]
        if kind == HELLO:
            self._number = 0
        body = HEADER.pack(0, len(payload), kind)[_CRC.size :]
        crc = zlib.crc32(payload, zlib.crc32(body, self._number))
        self._number += 1
        return _CRC.pack(crc) + body + payload


class FrameReader:
    """Takes frames from a stream, each checked."""

    def __init__(self, stream: Readable, name: str = "stream") -> None:
        self._stream = stream
        self.name = name
        self.offset = 0
        self._number = 0

    def next(self) -> Frame | None:
        """Return the next frame, None where the stream ends between two."""
        offset = self.offset
        header = self._read(HEADER.size)
        if not header:
            return None
        if len(header) < HEADER.size:
            raise self._cut_short(offset)
        crc, length, kind = HEADER.unpack(header)
        if kind == HELLO:
            self._number = 0
        elif offset == 0:
            raise StreamCorrupt(self.name, "this is no shipped log", offset=0)
        if length > PAYLOAD_BYTES_MAX.get(kind, -1):
            raise StreamCorrupt(self.name, f"no frame has kind {kind!r} and {length} bytes", offset=offset)
        payload = self._read(length)
        if len(payload) < length:
            raise self._cut_short(offset)
        if zlib.crc32(payload, zlib.crc32(header[_CRC.size :], self._number)) != crc:
            raise StreamCorrupt(
                self.name, "frame does not match its checksum, or is not the next one", offset=offset
            )
        self._number += 1
        return Frame(kind, payload, offset)

    def _read(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end of the stream."""
        parts, missing = [], size
        while missing and (part := self._stream.read(min(missing, _STEP_BYTES))):
            parts.append(part)
            missing -= len(part)
        self.offset += size - missing
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _cut_short(self, offset: int) -> StreamCorrupt:
        return StreamCorrupt(
            self.name, "stream ends in the middle of a frame", offset=offset, advice="ship it again"
        )
