"""A column of byte strings inside a block: bytes end to end, with offsets before them if lengths differ."""

import struct

import numpy as np

from sstable.arrays import OffsetArray, U8Array
from sstable.block_header import OFFSET_BYTES, VARIABLE
from sstable.byte_strings import rows_to_list, slices_to_list
from sstable.source import Data

_PAIR = struct.Struct("<ii").unpack_from
_OFFSET = np.dtype("<i4")


class StringColumn:
    """`count` byte strings from `start` in `data`, read in place."""

    __slots__ = ("_data", "_offsets_at", "_start", "count", "size", "width")

    def __init__(self, data: Data, count: int, *, width: int, offsets_at: int, start: int, size: int) -> None:
        self._data = data
        self.count = count
        self._offsets_at = offsets_at
        self._start = start
        self.size = size
        self.width = None if width == VARIABLE else width

    def __getitem__(self, position: int) -> bytes:
        width = self.width
        if width is None:
            begin, end = _PAIR(self._data, self._offsets_at + OFFSET_BYTES * position)
            return self._data[self._start + begin : self._start + end]
        begin = self._start + width * position
        return self._data[begin : begin + width]

    def address(self) -> tuple[int, int, int]:
        """Start, width and place of offsets, so that strings count from 1; 0 for what there is not."""
        if self.width is None:
            return self._start, 0, self._offsets_at - OFFSET_BYTES
        return self._start - self.width, self.width, 0

    def offsets(self) -> OffsetArray:
        """Arrow's offsets: count + 1 of them, from 0."""
        if self.width is None:
            return np.frombuffer(self._data, _OFFSET, self.count + 1, self._offsets_at)
        return np.arange(self.count + 1, dtype=np.int32) * np.int32(self.width)

    def content(self) -> U8Array:
        """All strings end to end, not copied."""
        return np.frombuffer(self._data, np.uint8, self.size, self._start)

    def to_list(self, start: int, stop: int) -> list[bytes]:
        """Strings start <= i < stop."""
        width = self.width
        if width is None:
            return self._slices(start, stop)
        if not width or start >= stop:
            return [b""] * (stop - start)
        return rows_to_list(
            np.frombuffer(self._data, np.uint8, (stop - start) * width, self._start + start * width), width
        )

    def fault(self) -> str | None:
        """Why the offsets cannot be right, or None."""
        if self.width is not None:
            return None
        offsets = self.offsets()
        if offsets[0] != 0 or offsets[-1] != self.size or bool((offsets[1:] < offsets[:-1]).any()):
            return "offsets do not rise from zero to the end of the column"
        return None

    def _slices(self, start: int, stop: int) -> list[bytes]:
        offsets = self.offsets()[start : stop + 1]
        content = self._data[self._start + int(offsets[0]) : self._start + int(offsets[-1])]
        return slices_to_list(content, offsets)
