"""Cells of csv as RFC 4180 has them: commas, quotes where needed, two quotes for one.

Not the module of the standard library: it has one limit for the length of a cell, for the whole process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from lsm.payload import KEY_BYTES_MAX, VALUE_BYTES_MAX

# Every quote of a text is doubled; the rest is for columns that nobody asked for.
_RECORD_BYTES_MAX: Final = 4 * (KEY_BYTES_MAX + VALUE_BYTES_MAX)
_SPACE: Final = ord(" ")  # at an end of a cell, many tools take it away
_MARK: Final = b"\xef\xbb\xbf"
_PLAIN: Final = bytes({*range(32, 127)} - {ord(","), ord('"')})


class BadCsv(ValueError):
    """Not csv, or half of it."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


def cell(text: bytes) -> bytes:
    """Return a cell that holds a text; an empty one is quoted, which tells it from none."""
    if text and not text.translate(None, _PLAIN) and text[0] != _SPACE != text[-1]:
        return text
    return b'"' + text.replace(b'"', b'""') + b'"'


def records(file: BinaryIO) -> Iterator[tuple[int, list[bytes | None]]]:
    """Yield every record with the number of its first line; a cell without anything is None."""
    number = 1
    while record := _record(file, number):
        lines = record.count(b"\n")
        text = record.removesuffix(b"\n").removesuffix(b"\r")
        text = text.removeprefix(_MARK) if number == 1 else text
        if text:
            yield number, cells(text, number)
        number += lines


def _record(file: BinaryIO, number: int) -> bytes:
    """Return the lines of the next record: those that belong together have an even number of quotes."""
    parts: list[bytes] = []
    size_bytes = quotes = 0
    while True:
        line = file.readline(_RECORD_BYTES_MAX + 1 - size_bytes)
        if not line and not parts:
            return b""
        parts.append(line)
        size_bytes += len(line)
        quotes += line.count(b'"')
        if size_bytes > _RECORD_BYTES_MAX:
            raise BadCsv("longer than any key and value, or a quote that is never closed", number)
        if not line.endswith(b"\n"):
            what = "ends inside quotes" if quotes % 2 else "has no line end"
            raise BadCsv(f"the last record {what}: the file seems to be cut short", number)
        if quotes % 2 == 0:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def cells(text: bytes, number: int) -> list[bytes | None]:
    """Return the cells of one record."""
    if b'"' not in text:
        return [one or None for one in text.split(b",")]
    found: list[bytes | None] = []
    at = 0
    while at <= len(text):
        if text[at : at + 1] == b'"':
            end = _closing_quote(text, at + 1, number)
            found.append(text[at + 1 : end].replace(b'""', b'"'))
            at = end + 1
            if text[at : at + 1] not in (b"", b","):
                raise BadCsv("something stands between a closing quote and the next comma", number)
        else:
            end = text.find(b",", at)
            one = text[at:] if end < 0 else text[at:end]
            if b'"' in one:
                raise BadCsv("a quote inside a cell that does not begin with one", number)
            found.append(one or None)
            at += len(one)
        at += 1
    return found


def _closing_quote(text: bytes, at: int, number: int) -> int:
    while True:
        at = text.find(b'"', at)
        if at < 0:
            raise BadCsv("a quote is never closed", number)
        if text[at + 1 : at + 2] != b'"':
            return at
        at += 2
