"""Rows of a scan become Arrow arrays over the same bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from lsm.column_scan import Rows, Strings
from sstable.columns import U8Array, U64Array

SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary())])
"""Nullable though nothing is ever null: Spark compares types to the letter."""

# bench: spark.  A batch costs Spark about as much as copying half a megabyte, so blocks of 64 KiB are put
# together; what is larger passes as it lies in the file.
_ROWS_WANTED = 8192
_BYTES_WANTED = 1024 * 1024
_ALONE_BYTES = 512 * 1024
_OFFSET_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """The columns of one batch."""

    keys: pa.Array
    values: pa.Array | None
    seqs: U64Array | None

    def __len__(self) -> int:
        return len(self.keys)


def arrays_of(rows: Iterable[Rows], *, rows_wanted: int = _ROWS_WANTED) -> Iterator[Arrays]:
    """Yield all rows in batches of about `rows_wanted`, or fewer that are large; none is empty."""
    waiting: list[Rows] = []
    count = size_bytes = 0
    for part in rows:
        for piece in _fitting(part):
            piece_bytes = _bytes_of(piece)
            if waiting and piece_bytes >= _ALONE_BYTES:
                yield _together(waiting)
                waiting, count, size_bytes = [], 0, 0
            waiting.append(piece)
            count += piece.count
            size_bytes += piece_bytes
            if count >= rows_wanted or size_bytes >= _BYTES_WANTED or piece_bytes >= _ALONE_BYTES:
                yield _together(waiting)
                waiting, count, size_bytes = [], 0, 0
    if waiting:
        yield _together(waiting)


def _bytes_of(rows: Rows) -> int:
    return rows.keys.size_bytes + (0 if rows.values is None else rows.values.size_bytes)


def _fitting(rows: Rows) -> Iterator[Rows]:
    """Cut rows until Arrow's 32-bit offsets reach over all strings; mostly they do."""
    if rows.count == 0:
        return
    if rows.count == 1 or (_fits(rows.keys) and (rows.values is None or _fits(rows.values))):
        yield rows
        return
    half = rows.count // 2
    for first, stop in ((0, half), (half, rows.count)):
        yield from _fitting(
            Rows(
                stop - first,
                _cut(rows.keys, first, stop),
                None if rows.values is None else _cut(rows.values, first, stop),
                None if rows.seqs is None else rows.seqs[first:stop],
            )
        )


def _fits(strings: Strings) -> bool:
    return (len(strings.data) if strings.offsets is None else int(strings.offsets[-1])) <= _OFFSET_MAX


def _cut(strings: Strings, first: int, stop: int) -> Strings:
    if strings.offsets is None:
        width = strings.width or 0
        return strings._replace(data=strings.data[first * width : stop * width])
    begin, end = int(strings.offsets[first]), int(strings.offsets[stop])
    return Strings(strings.data[begin:end], None, strings.offsets[first : stop + 1] - begin)


def _together(parts: Sequence[Rows]) -> Arrays:
    values = [part.values for part in parts if part.values is not None]
    seqs = [part.seqs for part in parts if part.seqs is not None]
    counts = [part.count for part in parts]
    return Arrays(
        _joined([part.keys for part in parts], counts),
        _joined(values, counts) if values else None,
        np.concatenate(seqs) if seqs else None,
    )


def _joined(parts: Sequence[Strings], counts: Sequence[int]) -> pa.Array:
    width = parts[0].width
    if width is not None and all(part.width == width for part in parts):
        data = parts[0].data if len(parts) == 1 else b"".join([part.data.data for part in parts])
        return _array(data, _even_offsets(sum(counts), width), sum(counts))
    arrays = [_apart(part, count) for part, count in zip(parts, counts, strict=True)]
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _apart(part: Strings, count: int) -> pa.Array:
    if part.offsets is None:
        return _array(part.data, _even_offsets(count, part.width or 0), count)
    return _array(part.data, pa.py_buffer(np.ascontiguousarray(part.offsets, np.int32)), count)


def _array(data: "U8Array | bytes", offsets: pa.Buffer, count: int) -> pa.Array:
    """Strings as Arrow has them, over the same bytes, which live as long as the array does."""
    return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(data)])


@lru_cache(maxsize=64)
def _even_offsets(count: int, width: int) -> pa.Buffer:
    """Offsets of strings of one width; most blocks have as many entries as the one before."""
    return pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(width))
