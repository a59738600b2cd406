r"""Keys and values as text: what is typed and what is printed, each the inverse of the other.

Text stands for its UTF-8 bytes; `\xNN`, `\n`, `\t`, `\r` and `\\` stand for one byte each; `hex:...` and
`base64:...` are whole keys or values in those codes.  Printed are ASCII characters and escapes, nothing else,
so that no key can command a terminal, and whatever is printed can be typed again.
"""

import base64
import binascii
import re

_ESCAPED = re.compile(rb"\\(x[0-9a-fA-F]{2}|.?)", re.DOTALL)
_PLAIN_OF = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\"}
_UNSAFE = re.compile(rb"[^ -~]|\\")
_SAFE = bytes(byte for byte in range(ord(" "), ord("~") + 1) if byte != ord("\\"))
_CODES = (b"hex:", b"base64:")
_ESCAPE_OF = {bytes([byte]): rb"\x%02x" % byte for byte in range(256)} | {
    plain: b"\\" + letter for letter, plain in _PLAIN_OF.items()
}


class BadText(ValueError):
    """Text that stands for no bytes."""


def parse(text: bytes) -> bytes:
    """Return the bytes that typed text stands for."""
    if text.startswith(b"hex:"):
        return _from_hex(text[4:])
    if text.startswith(b"base64:"):
        return _from_base64(text[7:])
    return _ESCAPED.sub(_unescape, text) if b"\\" in text else text


def escape(data: bytes) -> bytes:
    """Return printable ASCII text that `parse` turns into `data` again."""
    if data.translate(None, _SAFE):  # a quarter of the time that the search by expression takes
        data = _UNSAFE.sub(lambda match: _ESCAPE_OF[match[0]], data)
    # A key that happens to begin like a code must not be taken for one.
    return data.replace(b":", rb"\x3a", 1) if data.startswith(_CODES) else data


def shortened(data: bytes, length: int = 60) -> str:
    """Return a key for a message: escaped, and cut if it is long."""
    text = escape(data[:length]).decode("ascii")
    return text if len(data) <= length else f"{text}..."


def _unescape(match: re.Match[bytes]) -> bytes:
    letter = match[1]
    if len(letter) == 3:
        return bytes([int(letter[1:], 16)])
    try:
        return _PLAIN_OF[letter]
    except KeyError:
        raise BadText(
            rf"\{letter.decode('latin-1')} is no escape; known are \xNN \n \t \r and \\ for a backslash"
        ) from None


def _from_hex(digits: bytes) -> bytes:
    try:
        return binascii.unhexlify(digits)
    except binascii.Error as error:
        raise BadText(f"not hexadecimal: {error}") from error


def _from_base64(text: bytes) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise BadText(f"not base64: {error}") from error
