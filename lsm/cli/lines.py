"""Standard input: whole, or line by line."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from lsm.cli.exits import BadUsage
from lsm.cli.text import BadText, parse

_KEY_BYTES_MAX = 64 * 1024
_VALUE_BYTES_MAX = 64 * 1024 * 1024
# The longest key and value with every byte escaped, and the tab and line end.
_LINE_BYTES_MAX = 4 * (_KEY_BYTES_MAX + _VALUE_BYTES_MAX) + 2


class Lines:
    """Lines of standard input, counted."""

    def __init__(self) -> None:
        self._stream = standard_input()
        self.count = 0
        self.done_bytes = 0
        self.total_bytes = _size_of(self._stream)

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines without their line ends."""
        while line := self._stream.readline(_LINE_BYTES_MAX):
            self.count += 1
            self.done_bytes += len(line)
            if len(line) == _LINE_BYTES_MAX and not line.endswith(b"\n"):
                raise self.wrong("longer than any key and value")
            yield line.removesuffix(b"\n")

    def wrong(self, what: object) -> BadUsage:
        """Return the error for the line that was read last."""
        return BadUsage(f"line {self.count} of standard input: {what}")

    def each_key(self) -> Iterator[bytes]:
        """Yield the keys of lines that hold one key each."""
        for line in self:
            yield self._parse(line)

    def each_pair(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs of lines that hold a key, a tab and a value each."""
        for line in self:
            key, tab, value = line.partition(b"\t")
            if not tab:
                raise self.wrong("no tab between key and value")
            yield self._parse(key), self._parse(value)

    def _parse(self, text: bytes) -> bytes:
        try:
            return parse(text)
        except BadText as error:
            raise self.wrong(error) from error


def read_value() -> bytes:
    """Return standard input as it is; what is too large for a value is not even read."""
    value = standard_input().read(_VALUE_BYTES_MAX + 1)
    if len(value) > _VALUE_BYTES_MAX:
        raise BadUsage("standard input has more than 64 MiB, the most for a value")
    return value


def standard_input() -> BinaryIO:
    """Return standard input for bytes."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return sys.stdin.buffer


def _size_of(stream: BinaryIO) -> int | None:
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # not a file at all
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
