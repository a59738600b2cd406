"""What users hand in, checked: keys, values, ranges."""

import sys

from lsm.errors import InvalidArgument, InvalidType
from lsm.payload import KEY_BYTES_MAX, VALUE_BYTES_MAX

KEYSPACE_NAME_BYTES_MAX = 255
HIDDEN_PREFIX = "lsm:"
"""Keyspaces with such names are the store's own books: not listed, not shown as changes, not for users."""


def as_key(key: object) -> bytes:
    """Return a key as bytes, or raise what is wrong with it."""
    data = _as_bytes(key, "key")
    if len(data) > KEY_BYTES_MAX:
        raise InvalidArgument(f"a key of {len(data)} bytes; {KEY_BYTES_MAX} (64 KiB) is the most")
    return data


def as_value(value: object) -> bytes:
    """Return a value as bytes, or raise what is wrong with it."""
    data = _as_bytes(value, "value")
    if len(data) > VALUE_BYTES_MAX:
        raise InvalidArgument(f"a value of {len(data)} bytes; {VALUE_BYTES_MAX} (64 MiB) is the most")
    return data


def _as_bytes(data: object, what: str) -> bytes:
    if isinstance(data, bytes):
        return bytes(data)
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    hint = "; encode it, for example with .encode()" if isinstance(data, str) else ""
    raise InvalidType(f"a {what} must be bytes, bytearray or memoryview, not {type(data).__name__}{hint}")


def as_bounds(start: object, stop: object, prefix: object) -> tuple[bytes | None, bytes | None]:
    """Return the range [start, stop) narrowed to a prefix; None is unbounded."""
    low = None if start is None else as_key(start)
    high = None if stop is None else as_key(stop)
    if prefix is not None:
        begin = as_key(prefix)
        low = begin if low is None else max(low, begin)
        end = after_prefix(begin)
        if end is not None:
            high = end if high is None else min(high, end)
    return low, high


def as_limit(limit: object) -> int:
    """Return a limit as a number, or raise what is wrong with it."""
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidType(f"limit must be a whole number, not {type(limit).__name__}")
    if limit < 0:
        raise InvalidArgument(f"limit must be 0 or more, not {limit}")
    return min(limit, sys.maxsize)


def as_keyspace_name(name: object) -> str:
    """Return a keyspace's name, or raise what is wrong with it."""
    return as_name(name, "keyspace", KEYSPACE_NAME_BYTES_MAX)


def as_name(name: object, what: str, bytes_max: int) -> str:
    """Return the name of a keyspace, consumer or view, or raise what is wrong with it."""
    if not isinstance(name, str):
        raise InvalidType(f"a {what}'s name is text, not {type(name).__name__}")
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"a {what}'s name must be valid text: {error}") from error
    if not 0 < size <= bytes_max:
        raise InvalidArgument(f"a {what}'s name has 1 to {bytes_max} bytes, not {size}")
    return name


def as_user_keyspace_name(name: object) -> str:
    """Return a keyspace's name if users may have it, or raise what is wrong with it."""
    text = as_keyspace_name(name)
    if is_hidden(text):
        raise InvalidArgument(f"keyspace {text!r:.60}: names beginning with {HIDDEN_PREFIX!r} are reserved")
    return text


def is_hidden(keyspace: str) -> bool:
    """Tell whether a keyspace holds the store's own books."""
    return keyspace.startswith(HIDDEN_PREFIX)


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest key above all that begin with `prefix`; None if there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
