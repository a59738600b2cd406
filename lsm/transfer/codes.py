"""Bytes as text and back, for cells of csv and fields of JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final, TypeAlias

from lsm.cdc.json_bytes import JsonBytes, from_json, to_json
from lsm.transfer.options import Code

ToText: TypeAlias = Callable[[bytes], bytes]
FromText: TypeAlias = Callable[[bytes], bytes]

BASE64: Final = b"base64:"
# Tab and line feed are text; a carriage return is what tools like to change.
_CONTROLS: Final = bytes({*range(32), 127} - {ord("\t"), ord("\n")})


class BadCode(ValueError):
    """Bytes that a code cannot write, or text that stands for no bytes."""


def to_text(code: Code) -> ToText:
    """Return what writes bytes as UTF-8 text."""
    codes: dict[Code, ToText] = {
        "auto": _to_auto,
        "text": _checked,
        "hex": lambda data: data.hex().encode(),
        "base64": base64.b64encode,
    }
    return codes[code]


def from_text(code: Code) -> FromText:
    """Return the inverse of `to_text`."""
    codes: dict[Code, FromText] = {
        "auto": _from_auto,
        "text": _checked,
        "hex": _from_hex,
        "base64": _from_base64,
    }
    return codes[code]


def to_field(code: Code) -> Callable[[bytes], JsonBytes]:
    """Return what writes bytes as a value of JSON."""
    if code == "auto":
        return to_json
    encode = to_text(code)
    return lambda data: encode(data).decode()


def from_field(code: Code) -> Callable[[object], bytes]:
    """Return the inverse of `to_field`."""
    if code == "auto":
        return from_json
    decode = from_text(code)

    def parse(value: object) -> bytes:
        if not isinstance(value, str):
            raise BadCode(f"not a string: {value!r:.60}")
        return decode(value.encode())

    return parse


def _to_auto(data: bytes) -> bytes:
    if data.startswith(BASE64) or len(data.translate(None, _CONTROLS)) < len(data):
        return BASE64 + base64.b64encode(data)
    try:
        return _checked(data)
    except BadCode:
        return BASE64 + base64.b64encode(data)


def _from_auto(text: bytes) -> bytes:
    return _from_base64(text[len(BASE64) :]) if text.startswith(BASE64) else _checked(text)


def _checked(data: bytes) -> bytes:
    """Return text as it is."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise BadCode(f"not UTF-8 text: {data!r:.60}") from error
    return data


def _from_hex(text: bytes) -> bytes:
    try:
        return binascii.unhexlify(text)
    except binascii.Error as error:
        raise BadCode(f"not hexadecimal: {text!r:.60}") from error


def _from_base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise BadCode(f"not base64: {text!r:.60}") from error
