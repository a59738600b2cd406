"""Tables of Spark's catalog: their options travel inside their schema.

Spark 4.3 asks for the schema of a `CREATE TABLE t USING lsm OPTIONS (...)` with its options, keeps that
schema, and later reads the table without the options.  But it keeps the columns with all that is noted at
them.
"""

import json
from collections.abc import Mapping

from pyspark.sql.types import StructField, StructType

_NOTE = "lsm.options"
_LOCATION = "location"
"""Among the options only when a table is made."""


def is_for_catalog(options: Mapping[str, str]) -> bool:
    """Tell whether the schema is asked for by CREATE TABLE, which reads nothing."""
    return _LOCATION in options


def for_catalog(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return the schema with the options noted at its first column."""
    first, *rest = schema.fields
    given = dict(options).items()
    kept = {name: value for name, value in given if name != _LOCATION and "." not in name}
    noted = StructField(first.name, first.dataType, first.nullable, {_NOTE: json.dumps(kept)})
    return StructType([noted, *rest])


def from_catalog(schema: StructType) -> dict[str, str]:
    """Return the options that were noted at a column, none if there are none."""
    for field in schema.fields:
        note = field.metadata.get(_NOTE) if field.metadata else None
        if note is not None:
            return {str(name): str(value) for name, value in json.loads(note).items()}
    return {}
