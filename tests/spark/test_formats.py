"""Typed columns."""

import struct

import pytest

import lsm


@pytest.fixture
def orders(path):
    with lsm.open(path) as db:
        db[b"a"] = (
            b'{"name": "ann", "price": 1.5, "tags": ["x", "y"], "at": "2026-01-02T03:04:05Z", "more": 1}'
        )
        db[b"b"] = b'{"name": null,\n "price": 2}'
        db[b"c"] = b"{}"
        db.flush()
        db[b"d"] = '{"name": "dörte", "nested": {"deep": 7}}'.encode()
        yield path


def test_text_is_text(load, path):
    with lsm.open(path) as db:
        db["ä".encode()] = "größe".encode()

    frame = load(path, keyFormat="string", valueFormat="string")

    assert frame.schema.simpleString() == "struct<key:string,value:string>"
    assert frame.filter("key = 'ä'").first()["value"] == "größe"


def test_numbers_are_eight_bytes_the_most_significant_first(load, path):
    wholes, reals = [0, 1, -1, 2**63 - 1, -(2**63)], [0.0, 1.5, -2.25, float("inf"), 1e-300]
    with lsm.open(path) as db:
        for whole, real in zip(wholes, reals, strict=True):
            db[struct.pack(">q", whole)] = struct.pack(">d", real)

    frame = load(path, keyFormat="long", valueFormat="double", columns="value,key")

    assert frame.schema.simpleString() == "struct<value:double,key:bigint>"
    assert {tuple(row) for row in frame.collect()} == set(zip(reals, wholes, strict=True))


def test_fields_of_json_become_columns(load, orders):
    schema = (
        "key string, name string, price double, tags array<string>, at timestamp, nested struct<deep:bigint>"
    )

    found = load(orders, keyFormat="string", valueFormat="json", schema=schema).orderBy("key").collect()

    assert [row.name for row in found] == ["ann", None, None, "dörte"]
    assert [row.price for row in found] == [1.5, 2.0, None, None]
    assert found[0].tags == ["x", "y"]
    assert found[0].at.isoformat().startswith("2026-01-0")
    assert found[3].nested.deep == 7


def test_json_can_also_be_one_column(load, orders):
    schema = "value struct<name:string,price:double>, key binary, _seq bigint"

    found = load(orders, valueFormat="json", schema=schema).orderBy("key").collect()

    assert found[0].value.name == "ann"
    assert [row._seq for row in found] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("value", "options", "complaint"),
    [
        (b"\xff", {"valueFormat": "string"}, "the value of key b'bad' is not UTF-8"),
        (b"123", {"valueFormat": "long"}, "the value of key b'bad' has 3 bytes, not 8"),
        (b"x", {"keyFormat": "double"}, "the key b'bad' has 3 bytes, not 8"),
        (b'{"name": ', {"valueFormat": "json"}, "the value of key b'bad' does not fit the schema"),
        (b'{"name": [1]}', {"valueFormat": "json"}, "the value of key b'bad' does not fit the schema"),
        (b"{} {}", {"valueFormat": "json"}, "the value of key b'bad' does not fit the schema"),
        (b"", {"valueFormat": "json"}, "the value of key b'bad' does not fit the schema"),
    ],
)
def test_what_is_not_in_the_format_is_named(load, path, value, options, complaint):
    with lsm.open(path) as db:
        db[b"bad"] = value
    schema = "name string" if options.get("valueFormat") == "json" else None

    with pytest.raises(Exception, match="BadValue") as caught:
        load(path, schema=schema, **options).collect()

    assert complaint in str(caught.value)
