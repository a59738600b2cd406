"""Changes as batches of Arrow, in exactly the columns that Spark expects."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType, TimestampType

from lsm.arrow import Arrays
from lsm.errors import InvalidArgument
from lsm.log.entries import Change, ChangeColumns
from lsm.spark.formats import Decoder, check_schema, schema_of
from lsm.spark.options import KEY, SEQ, STORE, TIMESTAMP, ReadOptions
from sstable import Columns, Kind

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
_META: Final[dict[str, type[DataType]]] = {
    CHANGE_TYPE: StringType,
    COMMIT_VERSION: LongType,
    COMMIT_TIMESTAMP: TimestampType,
}
DELETE, UPDATE, INSERT, BEFORE = 0, 1, 2, 3
TYPES: Final = ("delete", "update_postimage", "insert", "update_preimage")
"""By the numbers above; the first two are those of sstable.Kind."""
_TIME: Final = pa.timestamp("us", tz="UTC")
_BATCH_ROWS: Final = 8192
_BATCH_BYTES: Final = 1024 * 1024
_NOTHING: Final[dict[str, pa.Array]] = {}

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]


def feed_schema(options: ReadOptions) -> StructType:
    """Return the columns of a feed when the user names none by a schema."""
    # Nullable though only values ever are null: so Arrow's types match to the letter.
    meta = [StructField(name, type_(), True) for name, type_ in _META.items()]
    return StructType([*schema_of(options).fields, *meta])


def check_feed_schema(schema: StructType, options: ReadOptions) -> None:
    """Raise if a schema, the user's or one kept in a catalog, has columns that cannot be given."""
    if not schema.fields:
        raise InvalidArgument("the schema has no column")
    for field in schema.fields:
        due = _META.get(field.name)
        if due is not None and not isinstance(field.dataType, due):
            found, wanted = field.dataType.simpleString(), due().simpleString()
            raise InvalidArgument(f"the schema says {field.name} is {found}, but it is {wanted}")
        if field.name in (SEQ, TIMESTAMP, STORE):
            raise InvalidArgument(f"a change feed has no column {field.name}; it has {', '.join(_META)}")
    if stored := _stored(schema):
        check_schema(StructType(stored), options)


def _stored(schema: StructType) -> list[StructField]:
    """Return the columns that are made of keys and values."""
    return [field for field in schema.fields if field.name not in _META]


class FeedRows:
    """Makes batches of exactly one schema."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        stored = _stored(schema)
        self._key = _decoder([field for field in stored if field.name == KEY], options)
        self._value = _decoder([field for field in stored if field.name != KEY], options)
        self._is_plain = options.key_format == options.value_format == "binary"

    def of_changes(self, changes: Iterable[ChangeColumns]) -> Iterator[pa.RecordBatch]:
        """Yield what was written, without looking at what it replaced."""
        for part in gathered(changes):
            net = of_commits(part)
            columns = net.columns
            versions = net.batch_first_seqs + net.batch_counts - 1
            yield self._batch(_keys(columns), _values(columns), columns.kinds, versions, net.times)

    def of_snapshot(self, arrays: Arrays, seq: int, time_us: int) -> pa.RecordBatch:
        """Return rows that a stream begins with."""
        count = len(arrays)
        kinds = np.full(count, INSERT, np.uint8)
        versions, times = np.full(count, seq, np.int64), np.full(count, time_us, np.int64)
        return self._batch(arrays.keys, arrays.values, kinds, versions, times)

    def of_pairs(self, changes: Sequence[Change]) -> pa.RecordBatch | None:
        """Return changes of whole commits together with what they replaced; None if nothing changed."""
        found = [
            (change.key, value, kind, change.batch_first_seq + change.batch_count - 1, change.time)
            for change in net_changes(changes)
            for kind, value in images(change)
        ]
        if not found:
            return None
        keys, values, kinds, versions, times = zip(*found, strict=True)
        return self._batch(
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
            np.array(kinds, np.uint8),
            np.array(versions, np.int64),
            np.array(times, np.int64),
        )

    def _batch(
        self, keys: pa.Array, values: pa.Array | None, kinds: U8, versions: I64, times: I64
    ) -> pa.RecordBatch:
        count = len(keys)
        columns = {
            **self._strings(keys, values),
            CHANGE_TYPE: change_types(kinds),
            COMMIT_VERSION: pa.Array.from_buffers(pa.int64(), count, [None, _buffer(versions)]),
            COMMIT_TIMESTAMP: pa.Array.from_buffers(_TIME, count, [None, _buffer(times)]),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in self._schema.names], schema=self._schema)

    def _strings(self, keys: pa.Array, values: pa.Array | None) -> dict[str, pa.Array]:
        """Return keys and values in the formats that were asked for; null where there is no value."""
        if self._is_plain:
            return {KEY: keys, "value": values}
        columns = _NOTHING if self._key is None else _decoded(self._key, Arrays(keys, None, None))
        if self._value is None:
            return columns
        assert values is not None
        if not values.null_count:
            return columns | _decoded(self._value, Arrays(keys, values, None))
        there = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        # Formats know nothing of null: what is there is decoded alone, then put back to its place.
        places = np.full(len(values), -1, np.int64)
        places[there] = np.arange(len(there))
        decoded = _decoded(
            self._value, Arrays(keys.take(pa.array(there)), values.take(pa.array(there)), None)
        )
        back = pa.array(places, mask=places < 0)
        return columns | {name: column.take(back) for name, column in decoded.items()}


def _decoder(fields: list[StructField], options: ReadOptions) -> Decoder | None:
    return Decoder(StructType(fields), options, "", None) if fields else None


def _decoded(decoder: Decoder, arrays: Arrays) -> dict[str, pa.Array]:
    batch = decoder.batch(arrays)
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def gathered(changes: Iterable[ChangeColumns]) -> Iterator[ChangeColumns]:
    """Put small parts together: a batch costs Spark about as much as copying half a megabyte."""
    waiting: list[ChangeColumns] = []
    count = size_bytes = 0
    for part in changes:
        waiting.append(part)
        count += len(part)
        size_bytes += part.columns.key_bytes + part.columns.value_bytes
        if count >= _BATCH_ROWS or size_bytes >= _BATCH_BYTES:
            yield _together(waiting)
            waiting, count, size_bytes = [], 0, 0
    if waiting:
        yield _together(waiting)


def _together(parts: Sequence[ChangeColumns]) -> ChangeColumns:
    if len(parts) == 1:
        return parts[0]
    return ChangeColumns(
        Columns.concat([part.columns for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.keyspaces for part in parts]),
        np.concatenate([part.batch_first_seqs for part in parts]),
        np.concatenate([part.batch_counts for part in parts]),
        parts[-1].names,
    )


def of_commits(part: ChangeColumns) -> ChangeColumns:
    """Return the last write of every key of a commit; what was before it in the same commit, nobody saw."""
    count = len(part)
    if not count or int(part.batch_counts.max()) == 1:
        return part
    keys = _keys(part.columns).dictionary_encode()
    if len(keys.dictionary) == count:
        return part
    numbers = keys.indices.to_numpy().astype(np.int64)
    order = np.lexsort((np.arange(count), numbers, part.batch_first_seqs))
    commits, numbers = part.batch_first_seqs[order], numbers[order]
    is_last = np.append((commits[1:] != commits[:-1]) | (numbers[1:] != numbers[:-1]), True)
    if is_last.all():
        return part
    kept = np.sort(order[is_last])
    return ChangeColumns(
        part.columns.take(kept),
        part.times[kept],
        part.keyspaces[kept],
        part.batch_first_seqs[kept],
        part.batch_counts[kept],
        part.names,
    )


def net_changes(changes: Sequence[Change]) -> list[Change]:
    """Return one change for every key of a commit: from what was there before it to what it left."""
    first: dict[tuple[int, bytes], Change] = {}
    last: dict[tuple[int, bytes], Change] = {}
    for change in changes:
        where = change.batch_first_seq, change.key
        first.setdefault(where, change)
        last[where] = change
    return [change._replace(before=first[where].before) for where, change in last.items()]


def images(change: Change) -> list[tuple[int, bytes | None]]:
    """Return the rows of a change whose previous value is known."""
    if change.kind == "delete":
        return [] if change.before is None else [(DELETE, change.before)]
    if change.before is None:
        return [(INSERT, change.value)]
    return [(BEFORE, change.before), (UPDATE, change.value)]


def change_types(kinds: U8) -> pa.Array:
    """Return the names of kinds of changes."""
    count = len(kinds)
    if count and (kinds == kinds[0]).all():
        return _same_types(int(kinds[0]), 1 << (count - 1).bit_length()).slice(0, count)
    return pa.array(TYPES, pa.string()).take(pa.array(kinds))


@lru_cache(maxsize=64)
def _same_types(kind: int, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(TYPES[kind], pa.string()), count)


def _keys(columns: Columns) -> pa.Array:
    return _array(columns.key_offsets, columns.key_data, None)


def _values(columns: Columns) -> pa.Array:
    is_put = columns.kinds == Kind.PUT
    valid = None if is_put.all() else pa.py_buffer(np.packbits(is_put, bitorder="little"))
    return _array(columns.value_offsets, columns.value_data, valid)


def _array(offsets: npt.NDArray[np.integer], data: U8, valid: pa.Buffer | None) -> pa.Array:
    """Strings as Arrow has them, over the same bytes, which live as long as the array does."""
    first = int(offsets[0])
    if int(offsets[-1]) >= 2**31:  # a slice of something large: Arrow's offsets have 31 bits
        data, offsets = data[first : int(offsets[-1])], offsets - first
    return pa.Array.from_buffers(
        pa.binary(),
        len(offsets) - 1,
        [valid, _buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))],
    )


def _buffer(values: npt.NDArray[np.signedinteger]) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values))
