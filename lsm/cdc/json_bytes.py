"""Bytes in JSON: a string where they are UTF-8 text, {"base64": "..."} where they are not.

A string always stands for its UTF-8 bytes and an object for what it encodes, so that nothing is ambiguous,
and every sequence of bytes has exactly one form.
"""

import base64
import binascii
from typing import TypeAlias

JsonBytes: TypeAlias = str | dict[str, str]


def to_json(data: bytes) -> JsonBytes:
    """Return a JSON string for UTF-8 text and {"base64": ...} for all other bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": to_base64(data)}


def from_json(value: object) -> bytes:
    """Return the bytes that `to_json` was given; ValueError for what it never returns."""
    match value:
        case str():
            return value.encode()
        case {"base64": str(text), **others} if not others:
            return _from_base64(text)
    raise ValueError(f'neither a string nor {{"base64": "..."}}: {value!r:.60}')


def to_base64(data: bytes) -> str:
    """Return bytes in the alphabet of RFC 4648, padded."""
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
