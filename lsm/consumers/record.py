"""What is kept of a consumer, as a value and as bytes, checked on the way in as if a stranger had written it.

The same JSON object stands in the hidden keyspace and, with a checksum behind it, in a file.  Of several
records of one consumer the one with the highest number is in force.  See FORMAT.md.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict

from lsm.arguments import as_name
from lsm.errors import InvalidArgument

KEYSPACE = "lsm:consumers"
"""Where the writer keeps consumers; the key is the consumer's name."""
VIEW_PREFIX = "view:"
"""Names that begin like this belong to views, which keep their positions in the same keyspace."""
NAME_BYTES_MAX = 64
LINE_BYTES_MAX = 16 * 1024
FORMAT = 1

_NUMBER_MAX = 2**63 - 1
_STORE_ID_DIGITS = 32
_CRC_DIGITS = 8
_KNOWN = (
    "format",
    "name",
    "n",
    "position",
    "pin",
    "max_lag_bytes",
    "store_id",
    "epoch",
    "time",
    "dropped",
    "deleted",
)


class Settings(TypedDict):
    """What a consumer asks of retention."""

    is_pinned: bool
    max_lag_bytes: int | None


class BadRecord(ValueError):
    """Bytes that no consumer can have written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Where a consumer stands, and what it asks of retention."""

    name: str
    number: int
    """Counts the records of this consumer: the highest is in force."""
    position: int
    """The last sequence number that is dealt with."""
    is_pinned: bool
    max_lag_bytes: int | None
    store_id: bytes
    """Empty where it goes without saying: in the store itself."""
    epoch: int
    time_us: int
    is_dropped: bool = False
    """It fell behind its cap; nothing is held for it any more."""
    is_deleted: bool = False
    """It was removed by a process that cannot write to the store."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """What others have noted beside it, kept as it is."""

    def after(self, time_us: int) -> "Record":
        """Return the record that follows on this one, as it is."""
        return replace(self, number=self.number + 1, time_us=time_us)


def in_force(*records: Record | None) -> Record | None:
    """Return the newest of the records of one consumer; of two with the same number, the first."""
    found = [record for record in records if record is not None]
    return max(found, key=lambda record: record.number, default=None)


def as_consumer_name(name: object) -> str:
    """Return a consumer's name, or raise what is wrong with it."""
    text = as_name(name, "consumer", NAME_BYTES_MAX)
    if text.startswith(VIEW_PREFIX):
        raise InvalidArgument(f"consumer {text!r}: names beginning with {VIEW_PREFIX!r} are those of views")
    return text


def encode(record: Record) -> bytes:
    """Return the record as the keyspace keeps it."""
    fields: dict[str, object] = {
        **record.extra,
        "format": FORMAT,
        "name": record.name,
        "n": record.number,
        "position": record.position,
        "pin": record.is_pinned,
        "max_lag_bytes": record.max_lag_bytes,
        "store_id": record.store_id.hex(),
        "epoch": record.epoch,
        "time": record.time_us,
    }
    if record.is_dropped:
        fields["dropped"] = True
    if record.is_deleted:
        fields["deleted"] = True
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(data: bytes, name: str) -> Record:
    """Inverse of encode, for the consumer of that name; BadRecord on anything that it cannot have made."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"no JSON: {error}") from error
    if not isinstance(fields, dict):
        raise BadRecord("not an object")
    if fields.get("format", FORMAT) != FORMAT:
        raise BadRecord(f"format {fields['format']!r:.20} is not known to this software; upgrade it")
    if fields.get("name", name) != name:
        raise BadRecord(f"it is of consumer {fields['name']!r:.80}")
    cap = fields.get("max_lag_bytes")
    return Record(
        name=name,
        number=_number(fields, "n"),
        position=_number(fields, "position"),
        is_pinned=_flag(fields, "pin", default=True),
        max_lag_bytes=None if cap is None else _number(fields, "max_lag_bytes"),
        store_id=_store_id(fields),
        epoch=_number(fields, "epoch", default=0),
        time_us=_number(fields, "time", default=0),
        is_dropped=_flag(fields, "dropped", default=False),
        is_deleted=_flag(fields, "deleted", default=False),
        extra={key: value for key, value in fields.items() if key not in _KNOWN},
    )


def encode_line(record: Record) -> bytes:
    """Return the record as a file keeps it: JSON, a blank, its crc32 in hexadecimal, a newline."""
    text = encode(record)
    return b"%b %08x\n" % (text, zlib.crc32(text))


def decode_line(data: bytes, name: str) -> Record:
    """Inverse of encode_line; BadRecord on anything that it cannot have made."""
    text, crc = data[: -_CRC_DIGITS - 2], data[-_CRC_DIGITS - 2 :]
    if crc != b" %08x\n" % zlib.crc32(text):
        raise BadRecord("it does not match its checksum")
    return decode(text, name)


def _number(fields: Mapping[str, object], key: str, *, default: int | None = None) -> int:
    value = fields.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _NUMBER_MAX:
        raise BadRecord(f"{key} is {value!r:.40}, not a whole number")
    return value


def _flag(fields: Mapping[str, object], key: str, *, default: bool) -> bool:
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise BadRecord(f"{key} is {value!r:.40}, not true or false")
    return value


def _store_id(fields: Mapping[str, object]) -> bytes:
    value = fields.get("store_id", "")
    if value == "":
        return b""
    try:
        if isinstance(value, str) and len(value) == _STORE_ID_DIGITS:
            return bytes.fromhex(value)
    except ValueError:
        pass
    raise BadRecord(f"store_id is {value!r:.40}, not {_STORE_ID_DIGITS} hexadecimal digits")
