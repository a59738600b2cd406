"""Arrow arrays become columns of the engine, over the same bytes."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lsm.errors import InvalidArgument
from lsm.payload import KEY_BYTES_MAX, VALUE_BYTES_MAX
from sstable import Columns, Kind
from sstable.columns import OffsetArray, U8Array

_BINARY = {
    pa.binary(): np.int32,
    pa.string(): np.int32,
    pa.large_binary(): np.int64,
    pa.large_string(): np.int64,
}


def columns_of_stream(stream: object) -> Iterator[Columns]:
    """Yield the rows of anything that speaks Arrow's stream interface, from its columns `key` and `value`."""
    reader = pa.RecordBatchReader.from_stream(stream)
    for name in ("key", "value"):
        if name not in reader.schema.names:
            raise InvalidArgument(f"there is no column {name!r}; there are {', '.join(reader.schema.names)}")
    for batch in reader:
        keys, values = as_strings(batch.column("key")), as_strings(batch.column("value"))
        if keys.null_count:
            raise InvalidArgument("a key is null")
        yield columns_of(keys, values)


def as_strings(array: pa.Array) -> pa.Array:
    """Return an array of byte strings in Arrow's plain layout."""
    if array.type in _BINARY:
        return array
    try:
        return array.cast(pa.large_binary() if array.nbytes >= 2**31 else pa.binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidArgument(f"keys and values are bytes or text, not {array.type}") from error


def columns_of(keys: pa.Array, values: pa.Array, is_deletion: pa.Array | None = None) -> Columns:
    """Return rows as columns; without `is_deletion`, a value that is null deletes its key."""
    count = len(keys)
    if is_deletion is None and values.null_count:
        is_deletion = values.is_null()
    kinds = np.full(count, Kind.PUT, np.uint8)
    if is_deletion is not None:
        kinds[is_deletion.to_numpy(zero_copy_only=False)] = Kind.DELETE
        if (kinds == Kind.DELETE).any():  # what is deleted has no value
            kept = pa.array(kinds == Kind.PUT)
            values = pc.if_else(kept, values, pa.scalar(b"", values.type))
    key_offsets, key_data = strings_of(keys)
    value_offsets, value_data = strings_of(values)
    columns = Columns(key_offsets, key_data, np.zeros(count, np.uint64), kinds, value_offsets, value_data)
    _check_sizes(columns)
    return columns


def strings_of(array: pa.Array) -> tuple[OffsetArray, U8Array]:
    """Return the offsets and the bytes of an array without nulls."""
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    bounds = np.frombuffer(offsets, _BINARY[array.type])[array.offset : array.offset + len(array) + 1]
    return bounds, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _check_sizes(columns: Columns) -> None:
    if not len(columns):
        return
    for what, offsets, most in (
        ("key", columns.key_offsets, KEY_BYTES_MAX),
        ("value", columns.value_offsets, VALUE_BYTES_MAX),
    ):
        widths = np.diff(offsets)
        at = int(widths.argmax())
        if widths[at] > most:
            of = "" if what == "key" else f" for key {columns.key(at)!r:.60}"
            raise InvalidArgument(f"a {what} of {int(widths[at]):,} bytes{of}; {most:,} is the most")
