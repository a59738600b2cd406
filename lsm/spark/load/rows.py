"""Rows of a DataFrame become columns of the engine: a batch at a time, checked, in the formats asked for."""

import json
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from lsm.arrow.columns import as_strings, columns_of
from lsm.errors import InvalidArgument
from lsm.spark.formats import TYPES, BadValue
from lsm.spark.load.options import WriteOptions
from lsm.spark.options import SEQ, STORE, TIMESTAMP
from sstable import Columns

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIME = "_change_type", "_commit_version", "_commit_timestamp"
_PASSED_OVER: Final = (SEQ, TIMESTAMP, STORE, COMMIT_TIME)
"""What reads add: it may come along, and says nothing here."""
_META: Final = (CHANGE_TYPE, COMMIT_VERSION, *_PASSED_OVER)
_PUTS: Final = ("insert", "update_postimage")
_DELETE, _PREIMAGE = "delete", "update_preimage"
_NUMBERS: Final = {"long": (">i8", 0), "double": (">f8", 0.0)}


class RowEncoder:
    """Makes columns of the batches of one DataFrame."""

    def __init__(self, schema: StructType, options: WriteOptions) -> None:
        """Raise if the DataFrame has not the columns that the options say."""
        self._key_format, self._value_format = options.key_format, options.value_format
        self._value = options.value_column
        self._key = _column(schema, options.key_column, "keyColumn")
        _check_type(schema[self._key], TYPES[options.key_format], "keyFormat", options.key_format)
        self.is_ordered = COMMIT_VERSION in schema.names
        self._has_changes = CHANGE_TYPE in schema.names
        for name, due in ((CHANGE_TYPE, StringType), (COMMIT_VERSION, LongType)):
            if name in schema.names:
                _check_type(schema[name], due, "", "")
        self._values = self._value_columns(schema, options)

    def _value_columns(self, schema: StructType, options: WriteOptions) -> list[str]:
        others = [name for name in schema.names if name not in (self._key, *_META)]
        if options.value_format == "json" and options.value_column not in others:
            if not others:
                raise InvalidArgument("valueFormat=json: there is no column to make values of")
            return others
        value = self._value = _column(schema, options.value_column, "valueColumn")
        if options.value_format != "json":
            _check_type(schema[value], TYPES[options.value_format], "valueFormat", options.value_format)
        if others != [value]:
            more = next(name for name in others if name != value)
            raise InvalidArgument(
                f"the column {more!r} is neither key nor value: drop it, name keyColumn and valueColumn, or "
                "say valueFormat=json and rename the column value, so that all others become the fields"
            )
        return [value]

    def columns(self, batch: pa.RecordBatch) -> Columns:
        """Return the rows of a batch."""
        is_deletion = None
        if self._has_changes:
            batch, is_deletion = _split_changes(batch)
        keys = batch.column(self._key)
        if keys.null_count:
            raise BadValue(f"a key is null, in column {self._key}: rows without a key cannot be stored")
        keys = _encoded(keys, self._key_format)
        values = self._encoded_values(batch, keys, is_deletion)
        columns = columns_of(keys, values, is_deletion)
        if self.is_ordered:
            versions = batch.column(COMMIT_VERSION)
            if versions.null_count or (len(versions) and pc.min(versions).as_py() < 0):
                raise BadValue(f"a {COMMIT_VERSION} is null or negative; it orders the rows of a key")
            columns.seqs = versions.to_numpy().astype(np.uint64)
        return columns

    def _encoded_values(
        self, batch: pa.RecordBatch, keys: pa.Array, is_deletion: pa.Array | None
    ) -> pa.Array:
        if len(self._values) > 1 or self._values[0] != self._value:
            return _documents(batch.select(self._values).to_pylist())
        values = batch.column(self._value)
        if values.null_count:
            missing = values.is_null() if is_deletion is None else pc.and_not(values.is_null(), is_deletion)
            if pc.any(missing).as_py():
                key = keys.filter(missing)[0].as_py()
                raise BadValue(
                    f"the value of key {key!r:.80} is null, in column {self._value}; "
                    f"{CHANGE_TYPE}=delete deletes a key"
                )
            if self._value_format in _NUMBERS:
                values = values.fill_null(_NUMBERS[self._value_format][1])
        if self._value_format == "json":
            return _documents(values.to_pylist())
        return _encoded(values, self._value_format)


def _column(schema: StructType, wanted: str, option: str) -> str:
    for name in schema.names:
        if name == wanted:
            return wanted
    near = [name for name in schema.names if name.lower() == wanted.lower()]
    if near:
        return str(near[0])
    raise InvalidArgument(
        f"there is no column {wanted!r}; there are {', '.join(schema.names)}: say {option}=..."
    )


def _check_type(field: StructField, due: type[DataType], option: str, chosen: str) -> None:
    if isinstance(field.dataType, due):
        return
    found = field.dataType.simpleString()
    if not option:
        raise InvalidArgument(f"the column {field.name} is {found}, but has to be {due().simpleString()}")
    near = [name for name, type_ in TYPES.items() if isinstance(field.dataType, type_)]
    hint = f"say {option}={near[0]}" if near else "cast it to binary, string, bigint or double"
    raise InvalidArgument(
        f"the column {field.name} is {found}, but {option}={chosen} takes {due().simpleString()}; {hint}"
    )


def _split_changes(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
    """Leave out what was before an update; return the rest, and which of it are deletions."""
    kinds = batch.column(CHANGE_TYPE)
    known = pc.is_in(kinds, value_set=pa.array([*_PUTS, _DELETE, _PREIMAGE]))
    if not pc.all(known).as_py() and len(kinds):
        strange = kinds.filter(pc.invert(known))[0].as_py()
        raise BadValue(
            f"{CHANGE_TYPE} is {strange!r:.40}; known are insert, update_postimage, delete, update_preimage"
        )
    is_before = pc.equal(kinds, _PREIMAGE)
    if pc.any(is_before).as_py():
        batch = batch.filter(pc.invert(is_before))
    return batch, pc.equal(batch.column(CHANGE_TYPE), _DELETE)


def _encoded(array: pa.Array, format_: str) -> pa.Array:
    if format_ not in _NUMBERS:
        return as_strings(array)
    stored = array.to_numpy(zero_copy_only=False).astype(_NUMBERS[format_][0])
    offsets = np.arange(len(array) + 1, dtype=np.int32) * np.int32(stored.itemsize)
    return pa.Array.from_buffers(pa.binary(), len(array), [None, pa.py_buffer(offsets), pa.py_buffer(stored)])


def _documents(rows: list[Any]) -> pa.Array:
    # Arrow writes no JSON, so here is a step in Python for every row; `bulk_load` has Spark do it instead.
    try:
        return pa.array([json.dumps(_pruned(row), default=_plain).encode() for row in rows], pa.binary())
    except TypeError as error:
        raise BadValue(f"a value cannot be written as JSON: {error}") from None


def _pruned(row: Any) -> Any:
    """Leave out what is null, as Spark's own to_json does."""
    return {k: v for k, v in row.items() if v is not None} if isinstance(row, dict) else row


def _plain(value: object) -> object:
    plain: dict[type, Callable[[Any], object]] = {
        datetime: datetime.isoformat,
        date: date.isoformat,
        time: time.isoformat,
        Decimal: str,
    }
    if type(value) in plain:
        return plain[type(value)](value)
    raise TypeError(f"no JSON for {type(value).__name__}")
