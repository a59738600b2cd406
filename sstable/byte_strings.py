"""Byte strings end to end in one array, with the offsets that part them: the columns for keys and values."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sstable.arrays import IndexArray, OffsetArray, U8Array

# bench: compact.  Copying one run of neighbours costs about as much as picking this many single bytes.
_RUN_COST_BYTES = 80
_PICKED_BYTES_MAX = 1 << 20


def offsets_of(widths: IndexArray) -> OffsetArray:
    """Where strings of these widths start when put end to end, and where the last one stops."""
    offsets = np.zeros(len(widths) + 1, np.int64)
    np.cumsum(widths, out=offsets[1:])
    return _narrowed(offsets)


def fixed_width(offsets: OffsetArray) -> int | None:
    """The width of all strings, or None if widths differ or there is no string."""
    if len(offsets) < 2:
        return None
    width = int(offsets[1]) - int(offsets[0])
    # First the sum, which rarely fits when widths differ: then nothing else is read.
    if int(offsets[-1]) - int(offsets[0]) != width * (len(offsets) - 1):
        return None
    return width if bool((np.diff(offsets) == width).all()) else None


def to_list(offsets: OffsetArray, data: U8Array) -> list[bytes]:
    """The strings as bytes objects."""
    content = data[int(offsets[0]) : int(offsets[-1])]
    width = fixed_width(offsets)
    if width:
        return rows_to_list(content, width)
    return slices_to_list(content.tobytes(), offsets)


def rows_to_list(content: U8Array, width: int) -> list[bytes]:
    """Strings of one width above 0."""
    # bench: scan.  numpy makes bytes objects of rows in 10 to 30 ns each; slicing takes 70.
    rows: list[bytes] = np.ascontiguousarray(content).view(np.dtype((np.void, width))).tolist()
    return rows


def slices_to_list(content: bytes, offsets: OffsetArray) -> list[bytes]:
    """Strings of any width, the first of which starts `content`."""
    bounds = (offsets - offsets[0]).tolist()
    return [content[begin:end] for begin, end in pairwise(bounds)]


def concat(parts: Sequence[tuple[OffsetArray, U8Array]]) -> tuple[OffsetArray, U8Array]:
    """All strings of `parts`, copied, with offsets from zero."""
    data = [np.empty(0, np.uint8)]
    moved = [np.zeros(1, np.int64)]
    end = 0
    for offsets, part in parts:
        start, stop = int(offsets[0]), int(offsets[-1])
        data.append(part[start:stop])
        moved.append(offsets[1:].astype(np.int64) + (end - start))
        end += stop - start
    return _narrowed(np.concatenate(moved)), np.concatenate(data)


def take(
    offsets: OffsetArray, data: U8Array, indices: npt.NDArray[np.integer]
) -> tuple[OffsetArray, U8Array]:
    """The strings at `indices`, copied, with offsets from zero."""
    width = fixed_width(offsets)
    if width is not None:
        return _take_rows(data[int(offsets[0]) : int(offsets[-1])], width, indices)
    starts, stops = offsets[:-1][indices].astype(np.int64), offsets[1:][indices].astype(np.int64)
    taken = offsets_of(stops - starts)
    breaks = np.flatnonzero(starts[1:] != stops[:-1]) + 1
    if int(taken[-1]) > _RUN_COST_BYTES * len(breaks):
        return taken, _copy_runs(data, starts, stops, breaks)
    return taken, _pick_bytes(data, starts, taken)


def _take_rows(content: U8Array, width: int, indices: npt.NDArray[np.integer]) -> tuple[OffsetArray, U8Array]:
    rows = content.reshape(-1, width) if width else np.empty((1, 0), np.uint8)
    offsets = np.arange(len(indices) + 1) * width
    return _narrowed(offsets), rows.take(indices if width else [0], axis=0).ravel()


def _copy_runs(data: U8Array, starts: IndexArray, stops: IndexArray, breaks: IndexArray) -> U8Array:
    """Strings that are neighbours in `data` too are copied as one."""
    if not len(starts):
        return np.empty(0, np.uint8)
    firsts = starts[np.concatenate([[0], breaks])].tolist()
    lasts = stops[np.concatenate([breaks - 1, [-1]])].tolist()
    view = data.data
    return np.frombuffer(
        b"".join([view[first:last] for first, last in zip(firsts, lasts, strict=True)]), np.uint8
    )


def _pick_bytes(data: U8Array, starts: IndexArray, taken: OffsetArray) -> U8Array:
    """Every byte by its own index: dear for a long string, but without a step in Python for each string."""
    picked = np.empty(int(taken[-1]), np.uint8)
    cuts = np.searchsorted(taken, np.arange(0, len(picked), _PICKED_BYTES_MAX)).tolist()
    for first, last in pairwise([*cuts, len(starts)]):
        here = taken[first : last + 1]
        moves = np.repeat(starts[first:last] - here[:-1], np.diff(here))
        begin, end = int(here[0]), int(here[-1])
        picked[begin:end] = data[moves + np.arange(begin, end)]
    return picked


def _narrowed(offsets: IndexArray) -> OffsetArray:
    # Arrow's binary type has 32-bit offsets: keep to them wherever the data allows.
    return offsets.astype(np.int32) if offsets[-1] < 2**31 else offsets
