"""The schemas of the Debezium envelope, in the JSON form that Kafka Connect gives to schemas.

Names, types and which fields may be absent follow what Debezium publishes (`docs/cdc.md` says where);
what a store adds to `source` stands after the common fields.
"""

import re
from typing import TypeAlias

Schema: TypeAlias = dict[str, object]

ENVELOPE_VERSION = 2
SNAPSHOT_VALUES = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_]")


def envelope_schema(collection: str, bytes_type: str) -> Schema:
    """Return the schema of the events of one keyspace."""
    row = [field("key", bytes_type), field("value", bytes_type, optional=True)]
    return struct(
        [
            struct(row, name=f"{collection}.Value", field="before", optional=True),
            struct(row, name=f"{collection}.Value", field="after", optional=True),
            struct(_source_fields(), name="lsm.Source", version=1, field="source"),
            struct(_transaction_fields(), name="event.block", version=1, field="transaction", optional=True),
            field("op", "string"),
            *_times(),
        ],
        name=f"{collection}.Envelope",
        version=ENVELOPE_VERSION,
    )


def key_schema(collection: str, bytes_type: str) -> Schema:
    """Return the schema of the keys of one keyspace."""
    return struct([field("key", bytes_type)], name=f"{collection}.Key")


def collection_name(name: str, keyspace: str) -> str:
    """Return the name of a keyspace as schemas have it: of letters, digits and underscores, as Avro wants."""
    return f"{_as_name(name)}.{_as_name(keyspace)}"


def _as_name(text: str) -> str:
    name = _NOT_IN_A_NAME.sub("_", text)
    return f"_{name}" if not name or name[0].isdigit() else name


def _source_fields() -> list[Schema]:
    snapshot = field("snapshot", "string", optional=True) | {
        "name": "io.debezium.data.Enum",
        "version": 1,
        "parameters": {"allowed": SNAPSHOT_VALUES},
        "default": "false",
    }
    return [
        field("version", "string"),
        field("connector", "string"),
        field("name", "string"),
        field("ts_ms", "int64"),
        snapshot,
        field("db", "string"),
        field("sequence", "string", optional=True),
        field("ts_us", "int64", optional=True),
        field("ts_ns", "int64", optional=True),
        field("table", "string"),
        field("keyspace", "string"),
        field("seq", "int64"),
        field("batch_first_seq", "int64", optional=True),
        field("batch_count", "int64", optional=True),
        field("store_id", "string"),
        field("epoch", "int64"),
    ]


def _transaction_fields() -> list[Schema]:
    return [field("id", "string"), field("total_order", "int64"), field("data_collection_order", "int64")]


def _times() -> list[Schema]:
    return [field(name, "int64", optional=True) for name in ("ts_ms", "ts_us", "ts_ns")]


def field(name: str, type_: str, *, optional: bool = False) -> Schema:
    """Return a field of a plain type."""
    return {"type": type_, "optional": optional, "field": name}


def struct(
    fields: list[Schema],
    *,
    name: str,
    version: int | None = None,
    field: str | None = None,
    optional: bool = False,
) -> Schema:
    """Return a structure, or a field that is one."""
    schema: Schema = {"type": "struct", "fields": fields, "optional": optional, "name": name}
    if version is not None:
        schema["version"] = version
    if field is not None:
        schema["field"] = field
    return schema
