"""What one log record carries: the entries of one atomic batch, column by column.  See FORMAT.md."""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lsm.errors import CorruptionError
from sstable import DELETED, Deleted, Kind

# On disk: changing a line below needs a new format version.
HEAD = struct.Struct("<I")  # keyspace << 8 | kind << 4 | form
ONE = struct.Struct("<III")  # head, key length, value length: a batch of one
UNIFORM = 0  # one keyspace and one kind for all entries
MIXED = 1  # keyspaces u32[n] and kinds u8[n] follow the head
LENGTH = np.dtype("<u4")

KEY_BYTES_MAX = 64 * 1024
VALUE_BYTES_MAX = 64 * 1024 * 1024
KEYSPACE_MAX = 2**24 - 1

Value = bytes | Deleted
"""What a write stores under a key; a deletion is DELETED."""

HEAD_PUT = Kind.PUT << 4 | UNIFORM


class Writes(NamedTuple):
    """Writes of one batch into one keyspace, in order."""

    keyspace: int
    keys: Sequence[bytes]
    values: Sequence[Value]


def encode_puts(keyspace: int, keys: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    """Return the payload of puts into one keyspace."""
    return b"".join(
        [
            HEAD.pack(keyspace << 8 | HEAD_PUT),
            np.fromiter(map(len, keys), LENGTH, len(keys)).tobytes(),
            np.fromiter(map(len, values), LENGTH, len(values)).tobytes(),
            *keys,
            *values,
        ]
    )


def encode_mixed(keyspaces: Sequence[int], keys: Sequence[bytes], values: Sequence[Value]) -> bytes:
    """Return the payload of any writes."""
    n = len(keys)
    kinds = bytes([Kind.DELETE if value is DELETED else Kind.PUT for value in values])
    stored = [value if isinstance(value, bytes) else b"" for value in values]
    return b"".join(
        [
            HEAD.pack(MIXED),
            np.fromiter(keyspaces, LENGTH, n).tobytes(),
            kinds,
            np.fromiter(map(len, keys), LENGTH, n).tobytes(),
            np.fromiter(map(len, stored), LENGTH, n).tobytes(),
            *keys,
            *stored,
        ]
    )


def encode_one(keyspace: int, key: bytes, value: Value) -> bytes:
    """Return the payload of a single put or delete."""
    kind, stored = (Kind.PUT, value) if isinstance(value, bytes) else (Kind.DELETE, b"")
    return ONE.pack(keyspace << 8 | kind << 4 | UNIFORM, len(key), len(stored)) + key + stored


def decode(payload: bytes | memoryview, count: int, *, path: str, offset: int) -> Iterator[Writes]:
    """Yield the writes of one record, grouped by runs of one keyspace, in order.

    The checksum was right, so a payload that does not add up was written by something else: corruption.
    """
    view = memoryview(payload)
    try:
        yield from _decode(view, count)
    except (ValueError, struct.error) as error:
        raise CorruptionError(path, f"log record is no batch of entries: {error}", offset=offset) from error


def _decode(view: memoryview, count: int) -> Iterator[Writes]:
    if 8 * count > len(view):
        raise ValueError(f"{count} entries cannot be in {len(view)} bytes")
    (head,) = HEAD.unpack_from(view)
    form, kind, keyspace = head & 15, head >> 4 & 15, head >> 8
    at = HEAD.size
    if form == MIXED:
        keyspaces = np.frombuffer(view, LENGTH, count, at).tolist()
        kinds = np.frombuffer(view, np.uint8, count, at + 4 * count).tolist()
        at += 5 * count
    elif form == UNIFORM:
        keyspaces, kinds = [keyspace] * count, [kind] * count
    else:
        raise ValueError(f"unknown form {form}")
    keys, at_values = _strings(view, at + 8 * count, np.frombuffer(view, LENGTH, count, at))
    stored, end = _strings(view, at_values, np.frombuffer(view, LENGTH, count, at + 4 * count))
    if end != len(view):
        raise ValueError(f"{len(view) - end} bytes too many")
    values = [_value(kind, value) for kind, value in zip(kinds, stored, strict=True)]
    yield from _by_keyspace(keyspaces, keys, values)


def _strings(
    view: memoryview, start: int, lengths: "np.ndarray[tuple[int], np.dtype[np.uint32]]"
) -> tuple[list[bytes], int]:
    ends = (np.cumsum(lengths, dtype=np.int64) + start).tolist()
    end = ends[-1] if ends else start
    if end > len(view):
        raise ValueError(f"entries reach {end - len(view)} bytes beyond the record")
    data = bytes(view)
    return [data[a:b] for a, b in zip([start, *ends], ends, strict=False)], end


def _value(kind: int, stored: bytes) -> Value:
    if kind == Kind.PUT:
        return stored
    if kind == Kind.DELETE:
        return DELETED
    raise ValueError(f"unknown kind of entry {kind}")


def _by_keyspace(keyspaces: list[int], keys: list[bytes], values: list[Value]) -> Iterator[Writes]:
    start = 0
    for stop in range(1, len(keys) + 1):
        if stop == len(keys) or keyspaces[stop] != keyspaces[start]:
            yield Writes(keyspaces[start], keys[start:stop], values[start:stop])
            start = stop
