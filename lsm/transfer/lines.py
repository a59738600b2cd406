"""Files of lines, csv and jsonl: pairs become lines, and lines pairs.

Both are UTF-8.  A csv begins with the names of its columns; every line of a jsonl is an object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, TypeAlias

from lsm.arguments import as_key, as_value
from lsm.errors import InvalidArgument, MalformedFile
from lsm.payload import KEY_BYTES_MAX, VALUE_BYTES_MAX
from lsm.transfer.codes import BadCode, from_field, from_text, to_field, to_text
from lsm.transfer.csv_cells import BadCsv, cell, records
from lsm.transfer.options import FileOptions
from lsm.transfer.tally import Tally

Pair: TypeAlias = tuple[bytes, bytes]
Parse: TypeAlias = Callable[[object], bytes]

# Every byte of a text may be an escape of six characters.
_LINE_BYTES_MAX: Final = 6 * (KEY_BYTES_MAX + VALUE_BYTES_MAX) + 1024 * 1024
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def write_csv(out: BinaryIO, pairs: Iterable[Pair], options: FileOptions, tally: Tally) -> None:
    """Write a header and a line for every pair."""
    out.write(b"%b,%b\n" % (cell(options.key_column.encode()), cell(options.value_column.encode())))
    key_code, value_code = to_text(options.key_format), to_text(options.value_format)
    for key, value in pairs:
        try:
            out.write(b"%b,%b\n" % (cell(key_code(key)), cell(value_code(value))))
        except BadCode as error:
            raise unfit(key, error) from error
        tally.add(1, len(key) + len(value))


def write_jsonl(out: BinaryIO, pairs: Iterable[Pair], options: FileOptions, tally: Tally) -> None:
    """Write an object for every pair."""
    key_name, value_name = options.key_column, options.value_column
    key_code, value_code = to_field(options.key_format), to_field(options.value_format)
    for key, value in pairs:
        try:
            line = _encode({key_name: key_code(key), value_name: value_code(value)})
        except BadCode as error:
            raise unfit(key, error) from error
        out.write(line.encode() + b"\n")
        tally.add(1, len(key) + len(value))


def unfit(key: bytes, error: Exception) -> InvalidArgument:
    """Return the error for a pair that cannot be written in the code that was asked for."""
    return InvalidArgument(f"the pair of key {key!r:.60}: {error}; hex, base64 and auto take all bytes")


class CsvRows:
    """A csv to read; made, its header is checked."""

    def __init__(self, path: str, file: BinaryIO, options: FileOptions, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._file = file
        self._records = records(file)
        self._key_code, self._value_code = from_text(options.key_format), from_text(options.value_format)
        self._width, self._key_at, self._value_at = self._header(options)

    def _header(self, options: FileOptions) -> tuple[int, int, int]:
        try:
            _, header = next(self._records, (1, []))
        except BadCsv as error:
            raise MalformedFile(self._path, str(error), line=error.line) from error
        names = [(name or b"").decode(errors="replace").strip() for name in header]
        key_at = column_of(self._path, names, options.key_column)
        return len(header), key_at, column_of(self._path, names, options.value_column)

    def __iter__(self) -> Iterator[Pair]:
        """Yield all pairs."""
        done_bytes = self._file.tell()
        try:
            for line, found in self._records:
                yield self._pair(line, found)
                now = self._file.tell()
                self._tally.add(1, now - done_bytes)
                done_bytes = now
        except BadCsv as error:
            raise MalformedFile(self._path, str(error), line=error.line) from error

    def _pair(self, line: int, found: list[bytes | None]) -> Pair:
        if len(found) != self._width:
            raise BadCsv(f"{len(found)} cells where the header has {self._width}", line)
        key, value = found[self._key_at], found[self._value_at]
        if key is None:
            raise BadCsv('the key is missing; an empty one is ""', line)
        try:
            return as_key(self._key_code(key)), as_value(self._value_code(value or b""))
        except (BadCode, InvalidArgument) as error:
            raise BadCsv(str(error), line) from error


class JsonRows:
    """A file of JSON lines to read."""

    def __init__(self, path: str, file: BinaryIO, options: FileOptions, tally: Tally) -> None:
        self._path = path
        self._file = file
        self._tally = tally
        self._key: tuple[str, Parse] = (options.key_column, from_field(options.key_format))
        self._value: tuple[str, Parse] = (options.value_column, from_field(options.value_format))

    def __iter__(self) -> Iterator[Pair]:
        """Yield all pairs."""
        number = 0
        while line := self._file.readline(_LINE_BYTES_MAX):
            number += 1
            try:
                if len(line) == _LINE_BYTES_MAX:
                    raise BadCode("longer than any key and value")
                if line.isspace():
                    continue
                pair = self._pair(_object(line))
            except (ValueError, RecursionError) as error:  # ours are among them
                half = "" if line.endswith(b"\n") else "; the file seems to be cut short"
                raise MalformedFile(self._path, f"{error}{half}", line=number) from error
            yield pair
            self._tally.add(1, len(line))

    def _pair(self, fields: dict[str, object]) -> Pair:
        key, value = self._field(fields, *self._key), self._field(fields, *self._value)
        return as_key(key), as_value(value)

    def _field(self, fields: dict[str, object], name: str, parse: Parse) -> bytes:
        if name not in fields:
            raise BadCode(f"no {name!r} in this object; there are {', '.join(map(repr, fields))[:200]}")
        if fields[name] is None:
            raise BadCode(f"{name!r} is null")
        try:
            return parse(fields[name])
        except ValueError as error:
            raise BadCode(f"{name!r}: {error}") from error


def _object(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadCode(f"not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadCode(f"not an object: {line!r:.60}")
    return found


def column_of(path: str, names: list[str], wanted: str) -> int:
    """Return the place of a column; raise if it is not there, or there twice."""
    if names.count(wanted) == 1:
        return names.index(wanted)
    if wanted in names:
        raise MalformedFile(path, f"there are two columns {wanted!r}")
    there = ", ".join(map(repr, names))[:200] or "none"
    raise MalformedFile(path, f"no column {wanted!r}; there are {there}")
