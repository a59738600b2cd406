"""What Debezium publishes of its envelope, written down as data, and a check of an event against it.

From `Envelope.java`, `SchemaFactory.java` and `SnapshotRecord.java` of debezium-core and the pages of its
connectors: field names, types, and which may be null.  Versions: 2 of the envelope, 1 of the blocks.
"""

import base64

INT64_MAX = 2**63 - 1

# (type, may be null)
TIMES = {"ts_ms": ("int64", True), "ts_us": ("int64", True), "ts_ns": ("int64", True)}
ENVELOPE = {
    "before": ("struct", True),
    "after": ("struct", True),
    "source": ("struct", False),
    "transaction": ("struct", True),
    "op": ("string", False),
    **TIMES,
}
SOURCE = {
    "version": ("string", False),
    "connector": ("string", False),
    "name": ("string", False),
    "ts_ms": ("int64", False),
    "snapshot": ("string", True),
    "db": ("string", False),
    "sequence": ("string", True),
    "ts_us": ("int64", True),
    "ts_ns": ("int64", True),
}
TRANSACTION = {
    "id": ("string", False),
    "total_order": ("int64", False),
    "data_collection_order": ("int64", False),
}
OPS = {"c", "u", "d", "r"}
SNAPSHOT_VALUES = [
    "true",
    "first",
    "first_in_data_collection",
    "last_in_data_collection",
    "last",
    "false",
    "incremental",
]
ENVELOPE_VERSION, SOURCE_VERSION, TRANSACTION_VERSION = 2, 1, 1
TRANSACTION_NAME = "event.block"
SNAPSHOT_NAME = "io.debezium.data.Enum"


def check_plain(name: str, value: object, type_: str, *, may_be_null: bool) -> None:
    """Assert that a value is of a type of Kafka Connect, as its JSON converter writes it."""
    if value is None:
        assert may_be_null, f"{name} may not be null"
        return
    match type_:
        case "string":
            assert isinstance(value, str), name
        case "bytes":
            assert isinstance(value, str), name
            base64.b64decode(value, validate=True)
        case "int64":
            assert isinstance(value, int) and not isinstance(value, bool), name
            assert -INT64_MAX - 1 <= value <= INT64_MAX, name
        case "struct":
            assert isinstance(value, dict), name
        case _:
            raise AssertionError(f"{name} has an unknown type {type_}")


def check_payload(payload: dict) -> None:
    """Assert what is published of every event of a row."""
    assert set(payload) == set(ENVELOPE)
    for name, (type_, may_be_null) in ENVELOPE.items():
        check_plain(name, payload[name], type_, may_be_null=may_be_null)
    for name, (type_, may_be_null) in SOURCE.items():
        check_plain(f"source.{name}", payload["source"][name], type_, may_be_null=may_be_null)
    assert payload["source"]["snapshot"] in SNAPSHOT_VALUES
    if payload["transaction"] is not None:
        assert set(payload["transaction"]) == set(TRANSACTION)
        for name, (type_, may_be_null) in TRANSACTION.items():
            check_plain(f"transaction.{name}", payload["transaction"][name], type_, may_be_null=may_be_null)
    check_op(payload)


def check_op(payload: dict) -> None:
    """Assert which rows stand where for each kind of operation."""
    op = payload["op"]
    assert op in OPS
    assert (payload["after"] is None) == (op == "d")
    if op in "cr":
        assert payload["before"] is None
    assert (payload["source"]["snapshot"] != "false") == (op == "r")


def check_schema(schema: dict) -> None:
    """Assert that a schema that comes with an event is the published one, with what may be added to it."""
    assert (schema["type"], schema["optional"]) == ("struct", False)
    assert schema["name"].endswith(".Envelope")
    assert schema["version"] == ENVELOPE_VERSION
    fields = by_name(schema)
    assert plain(fields) == ENVELOPE
    # Row images have one schema, whose name is that of the envelope with another end.
    assert (fields["before"] | {"field": ""}) == (fields["after"] | {"field": ""})
    assert fields["after"]["name"] == schema["name"].removesuffix("Envelope") + "Value"
    source = by_name(fields["source"])
    assert fields["source"]["version"] == SOURCE_VERSION
    assert plain(source).items() >= SOURCE.items()
    assert list(source)[: len(SOURCE)] == list(SOURCE)
    check_snapshot(source["snapshot"])
    transaction = fields["transaction"]
    assert (transaction["name"], transaction["version"]) == (TRANSACTION_NAME, TRANSACTION_VERSION)
    assert plain(by_name(transaction)) == TRANSACTION


def check_snapshot(schema: dict) -> None:
    """Assert the schema of the one field that is an enumeration."""
    assert (schema["name"], schema["version"], schema["default"]) == (SNAPSHOT_NAME, 1, "false")
    assert schema["parameters"] == {"allowed": ",".join(SNAPSHOT_VALUES)}


def check_against(schema: dict, value: object, name: str = "payload") -> None:
    """Assert that a value has what its own schema says, no field more and none less."""
    check_plain(name, value, schema["type"], may_be_null=schema["optional"])
    if schema["type"] == "struct" and value is not None:
        assert set(value) == set(by_name(schema)), name
        for field in schema["fields"]:
            check_against(field, value[field["field"]], f"{name}.{field['field']}")


def by_name(schema: dict) -> dict[str, dict]:
    return {field["field"]: field for field in schema["fields"]}


def plain(fields: dict[str, dict]) -> dict[str, tuple[str, bool]]:
    return {name: (field["type"], field["optional"]) for name, field in fields.items()}
