"""What the writer of a log tells its readers in the file LOCK: what is durable.  See FORMAT.md."""

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum

# On disk: changing a line below needs a new format version.
_FIELDS = struct.Struct("<16sQI")
_CRC = struct.Struct("<I")


class WriterState(IntEnum):
    """What the last writer was doing when it told."""

    OPENING = 0  # it has yet to find out how far the log goes
    WRITING = 1
    FAILED = 2  # a write or a sync failed


@dataclass(frozen=True, slots=True)
class Publication:
    """Entries up to `durable` survive a crash.  It is told after the sync, so it never claims too much.

    What a writer that FAILED wrote behind `durable` may be readable now and gone after a crash: a sync that
    failed once says nothing the next time.
    """

    log_id: bytes
    durable: int
    state: WriterState

    def encode(self) -> bytes:
        """Return the bytes to tell."""
        fields = _FIELDS.pack(self.log_id, self.durable, self.state)
        return fields + _CRC.pack(zlib.crc32(fields))


def decode_publication(data: bytes) -> Publication | None:
    """Return what was told, or None if nothing was, or it was caught half written."""
    if len(data) < _FIELDS.size + _CRC.size:
        return None
    if zlib.crc32(data[: _FIELDS.size]) != _CRC.unpack_from(data, _FIELDS.size)[0]:
        return None
    log_id, durable, state = _FIELDS.unpack_from(data)
    if state > max(WriterState):
        return None  # of a later version
    return Publication(log_id, durable, WriterState(state))
