"""Typed columns: bytes become text, numbers or what is in JSON, a batch at a time and never row by row.

`long` and `double` are eight bytes, most significant first: as the serializers of Kafka and HBase write
them, and Spark's own cast to BINARY.  `json` gives the fields that the user's schema names.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as pa_json
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from lsm.arrow import Arrays
from lsm.column_scan import Wanted
from lsm.errors import Error, InvalidArgument
from lsm.spark.options import KEY, SEQ, STORE, TIMESTAMP, VALUE, ReadOptions
from lsm.spark.times import Times

TYPES: dict[str, type[DataType]] = {
    "binary": BinaryType,
    "string": StringType,
    "long": LongType,
    "double": DoubleType,
}
_META: dict[str, type[DataType]] = {SEQ: LongType, TIMESTAMP: TimestampType, STORE: StringType}
_NUMBER_BYTES = 8


class BadValue(Error, ValueError):
    """A key or value that is not in the format that was asked for."""


def schema_of(options: ReadOptions) -> StructType:
    """Return the columns that a read gives when the user names none by a schema."""
    if options.value_format == "json" and VALUE in options.columns:
        raise InvalidArgument(
            'valueFormat=json needs the fields: .schema("key binary, name string, price double"), or '
            'a column value of a type of its own, such as .schema("key binary, value struct<name:string>")'
        )
    types = {KEY: TYPES[options.key_format], VALUE: TYPES.get(options.value_format, BinaryType), **_META}
    # Nullable though nothing is null: so Arrow's types match to the letter.
    return StructType([StructField(name, types[name](), True) for name in options.columns])


def check_schema(schema: StructType, options: ReadOptions) -> None:
    """Raise if a schema, the user's or one kept in a catalog, has columns that cannot be given."""
    if not schema.fields:
        raise InvalidArgument("the schema has no column")
    for field in schema.fields:
        due = _type_due(field.name, options)
        if due is not None and not isinstance(field.dataType, due):
            raise InvalidArgument(_mismatch(field, due, options))


def _type_due(name: str, options: ReadOptions) -> type[DataType] | None:
    """Return the type that a column must have; None for what is parsed from JSON, which may have any."""
    if name == KEY:
        return TYPES[options.key_format]
    if name in _META:
        return _META[name]
    if options.value_format == "json":
        return None
    if name == VALUE:
        return TYPES[options.value_format]
    raise InvalidArgument(
        f"the schema has a column {name!r}, which a store has not; there are key, value, _seq, _timestamp, "
        "_store, and with valueFormat=json the fields of the values"
    )


def _mismatch(field: StructField, due: type[DataType], options: ReadOptions) -> str:
    found, wanted = field.dataType.simpleString(), due().simpleString()
    what = f"the schema says {field.name} is {found}, but it is {wanted}"
    if field.name in _META:
        return what
    near = [name for name, type_ in TYPES.items() if isinstance(field.dataType, type_)]
    option = f"{field.name}Format"
    is_now = options.key_format if field.name == KEY else options.value_format
    return f"{what} by {option}={is_now}" + (f"; say {option}={near[0]}" if near else "")


def wanted_by(schema: StructType) -> Wanted:
    """Return what a scan must give for a schema."""
    columns = set(schema.names)
    return Wanted(values=bool(columns - {KEY, *_META}), seqs=bool(columns & {SEQ, TIMESTAMP}))


class Decoder:
    """Makes batches of exactly one schema."""

    def __init__(self, schema: StructType, options: ReadOptions, store: str, times: Times | None) -> None:
        self._arrow: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._options = options
        self._store = store
        self._times = times
        self._fields = [
            name for name in schema.names if options.value_format == "json" and name not in (KEY, *_META)
        ]
        is_plain = {KEY: options.key_format, VALUE: options.value_format}
        self._is_plain = all(is_plain.get(name) == "binary" for name in schema.names)

    def batch(self, arrays: Arrays) -> pa.RecordBatch:
        """Return one batch."""
        columns = {KEY: arrays.keys, VALUE: arrays.values}
        if not self._is_plain:
            columns = self._decoded(arrays)
        return pa.RecordBatch.from_arrays([columns[name] for name in self._arrow.names], schema=self._arrow)

    def _decoded(self, arrays: Arrays) -> dict[str, pa.Array]:
        names = self._arrow.names
        columns: dict[str, pa.Array] = {}
        if KEY in names:
            columns[KEY] = _decode(arrays.keys, self._options.key_format, KEY, arrays.keys)
        if self._fields:
            columns |= self._json(arrays)
        elif VALUE in names:
            assert arrays.values is not None
            columns[VALUE] = _decode(arrays.values, self._options.value_format, VALUE, arrays.keys)
        if SEQ in names:
            columns[SEQ] = pa.array(_seqs(arrays).astype(np.int64))
        if TIMESTAMP in names:
            assert self._times is not None
            columns[TIMESTAMP] = self._times.of(_seqs(arrays))
        if STORE in names:
            columns[STORE] = pa.repeat(pa.scalar(self._store, pa.string()), len(arrays))
        return columns

    def _json(self, arrays: Arrays) -> dict[str, pa.Array]:
        fields = [self._arrow.field(name) for name in self._fields]
        if self._fields == [VALUE]:
            return {VALUE: _parsed(arrays, fields[0].type)}
        whole = _parsed(arrays, pa.struct(fields))
        return {field.name: pc.struct_field(whole, field.name) for field in fields}


def _seqs(arrays: Arrays) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    assert arrays.seqs is not None
    return arrays.seqs


def _decode(strings: pa.Array, name: str, what: str, keys: pa.Array) -> pa.Array:
    decoders: dict[str, Callable[[pa.Array, str, pa.Array], pa.Array]] = {
        "binary": lambda strings, what, keys: strings,
        "string": _text,
        "long": _numbers(">i8", np.int64),
        "double": _numbers(">f8", np.float64),
    }
    return decoders[name](strings, what, keys)


def _text(strings: pa.Array, what: str, keys: pa.Array) -> pa.Array:
    try:
        return strings.cast(pa.string())
    except pa.ArrowInvalid:
        at = next(number for number, value in enumerate(strings.to_pylist()) if not _is_text(value))
        raise _bad(what, keys, at, "is not UTF-8", "string") from None


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _numbers(stored: str, type_: type[Any]) -> Callable[[pa.Array, str, pa.Array], pa.Array]:
    def decode(strings: pa.Array, what: str, keys: pa.Array) -> pa.Array:
        _, offsets, data = strings.buffers()
        bounds = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1]
        wrong = np.flatnonzero(np.diff(bounds) != _NUMBER_BYTES)
        if len(wrong):
            at = int(wrong[0])
            size = int(bounds[at + 1] - bounds[at])
            name = "long" if type_ is np.int64 else "double"
            raise _bad(what, keys, at, f"has {size} bytes, not {_NUMBER_BYTES}", name)
        numbers = np.frombuffer(data, stored, len(strings), int(bounds[0]))
        return pa.array(numbers.astype(type_))

    return decode


def _bad(what: str, keys: pa.Array, at: int, problem: str, name: str) -> BadValue:
    key = keys[at].as_py()
    subject = f"the key {key!r:.80}" if what == KEY else f"the value of key {key!r:.80}"
    return BadValue(f"{subject} {problem}, as {what}Format={name} asks for")


def _parsed(arrays: Arrays, type_: pa.DataType) -> pa.Array:
    """Parse one JSON document a row."""
    assert arrays.values is not None
    try:
        return _parse(arrays.values, type_)
    except pa.ArrowInvalid as error:
        for at in range(len(arrays)):
            try:
                _parse(arrays.values.slice(at, 1), type_)
            except pa.ArrowInvalid as reason:
                problem = " ".join(str(reason).split())
                raise _bad(VALUE, arrays.keys, at, f"does not fit the schema ({problem})", "json") from None
        raise BadValue(f"values do not fit the schema: {error}") from None


def _parse(values: pa.Array, type_: pa.DataType) -> pa.Array:
    # Rows carry their number: a value that is no document, or two, cannot shift those behind it.
    count = len(values)
    numbers = pa.array(np.arange(count)).cast(pa.string()).cast(pa.binary())
    lines = pc.binary_join_element_wise(b'{"i":', numbers, b',"v":', values, b"}\n", b"")
    _, offsets, data = lines.buffers()
    bounds = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + count + 1]
    text = data.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
    table = pa_json.read_json(
        pa.BufferReader(text),
        read_options=pa_json.ReadOptions(use_threads=False, block_size=text.size + 1),
        parse_options=pa_json.ParseOptions(
            explicit_schema=pa.schema([("i", pa.int64()), ("v", type_)]), unexpected_field_behavior="ignore"
        ),
    )
    seen = table.column("i").combine_chunks()
    if not seen.equals(pa.array(np.arange(count))):
        raise pa.ArrowInvalid("not one JSON document")
    return table.column("v").combine_chunks().cast(type_)
