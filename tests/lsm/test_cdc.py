"""Changes as lines of JSON: nothing is lost in the plain form, and the envelope is the published one."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.cdc import Debezium, JsonLines, Origin, Row, Shape, from_json, from_line, to_json
from tests.lsm.connect_schema import check_against, check_payload, check_schema

ORIGIN = Origin(name="shop", db="shop.db", store_id="5eed" * 8, epoch=1)
NOW_NS = 1_763_456_789_123_456_789
TIME_US = 1_763_456_700_000_042

SEQS = st.integers(1, 2**63 - 1)
VALUES = st.none() | st.binary()
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@st.composite
def changes(draw):
    first_seq, count = draw(st.integers(1, 2**62)), draw(st.integers(1, 2**20))
    value = draw(VALUES)
    return lsm.Change(
        seq=first_seq + draw(st.integers(0, count - 1)),
        time=draw(st.integers(0, 2**53)),
        kind="delete" if value is None else "put",
        key=draw(st.binary()),
        value=value,
        keyspace=draw(NAMES),
        batch_first_seq=first_seq,
        batch_count=count,
        before=draw(VALUES),
    )


rows = st.builds(Row, SEQS, st.integers(0, 2**53), st.binary(), st.binary(), NAMES)


def put(seq, key, value, *, before=None, first=None, count=1, keyspace="default"):
    return lsm.Change(seq, TIME_US, "put", key, value, keyspace, first or seq, count, before)


def delete(seq, key, *, before=None, first=None, count=1, keyspace="default"):
    return lsm.Change(seq, TIME_US, "delete", key, None, keyspace, first or seq, count, before)


def debezium(**shape):
    return Debezium(ORIGIN, Shape(**shape), now_ns=lambda: NOW_NS)


def one(lines):
    (line,) = lines
    return json.loads(line)


# Bytes


@given(st.binary())
def test_bytes_survive_json(data):
    assert from_json(json.loads(json.dumps(to_json(data)))) == data


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"", ""),
        (b"abc", "abc"),
        ("grün".encode(), "grün"),
        (b"\x00\x1b", "\x00\x1b"),
        (b"\xff", {"base64": "/w=="}),
        (b'{"base64": "/w=="}', '{"base64": "/w=="}'),
    ],
)
def test_text_is_a_string_and_other_bytes_are_an_object(data, form):
    assert to_json(data) == form


@pytest.mark.parametrize("form", [None, 1, [], {}, {"base64": 1}, {"base64": "?"}, {"base64": "", "x": ""}])
def test_what_stands_for_no_bytes_is_refused(form):
    with pytest.raises(ValueError):
        from_json(form)


# The plain form


@given(changes())
def test_a_change_survives_a_line(change):
    (line,) = JsonLines(before=True).change(change)

    assert from_line(line) == change


@given(changes())
def test_without_before_only_before_is_missing(change):
    (line,) = JsonLines().change(change)

    assert "before" not in json.loads(line)
    assert from_line(line) == change._replace(before=None)


@given(rows)
def test_a_row_of_a_snapshot_survives_a_line(row):
    (line,) = JsonLines().row(row, is_last=True)

    assert from_line(line) == row


@given(changes())
def test_a_line_is_one_line_of_ascii(change):
    for line in JsonLines(before=True).change(change) + debezium(before=True, schema=True).change(change):
        assert line.isascii()
        assert b"\n" not in line and b"\x1b" not in line


def test_the_plain_form_to_the_letter():
    change = put(8, b"k\xff", b"v", before=b"", first=7, count=3, keyspace="orders")

    (line,) = JsonLines(before=True).change(change)

    assert line == (
        b'{"seq":8,"time":1763456700000042,"kind":"put","keyspace":"orders","key":{"base64":"a/8="},'
        b'"value":"v","batch":{"first_seq":7,"count":3},"before":""}'
    )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"seq":8,"time":1763456700000042,"kind":"put","keyspace":"orders","key":"a","value":"v","batch":{"first',
        b'{"seq":true,"time":1,"kind":"put","keyspace":"a","key":"","value":"","batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"put","keyspace":"a","key":"","value":null,"batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"delete","keyspace":"a","key":"","value":"","batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"read","keyspace":"a","key":"","value":"","batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"merge","keyspace":"a","key":"","value":"","batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"put","keyspace":7,"key":"","value":"","batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"put","keyspace":"a","key":5,"value":"","batch":{"first_seq":1,"count":1}}',
        b'{"seq":1,"time":1,"kind":"put","keyspace":"a","key":"","value":"","batch":{}}',
        b"\xff",
    ],
)
def test_a_line_that_is_cut_or_no_change_is_refused(line):
    with pytest.raises(lsm.InvalidArgument, match="change"):
        from_line(line)


# The envelope


@given(changes(), st.booleans(), st.booleans())
def test_every_event_is_of_the_published_schema(change, before, batches):
    event = one(debezium(before=before, schema=True, batches=batches).change(change))

    check_schema(event["schema"])
    check_payload(event["payload"])
    check_against(event["schema"], event["payload"])


@given(rows, st.booleans())
def test_every_row_of_a_snapshot_is_of_the_published_schema(row, is_last):
    event = one(debezium(schema=True).row(row, is_last=is_last))

    check_schema(event["schema"])
    check_payload(event["payload"])
    check_against(event["schema"], event["payload"])
    assert event["payload"]["op"] == "r"
    assert event["payload"]["source"]["snapshot"] == ("last" if is_last else "true")


@given(changes())
def test_the_payload_is_the_event_without_a_schema(change):
    assert one(debezium(schema=True).change(change))["payload"] == one(debezium().change(change))


@given(changes())
def test_bytes_are_base64_as_the_json_converter_of_connect_has_them(change):
    event = one(debezium(before=True).change(change))

    row = event["after"] or event["before"]
    assert base64.b64decode(row["key"]) == change.key
    if change.value is not None:
        assert base64.b64decode(event["after"]["value"]) == change.value
    if change.before is not None:
        assert base64.b64decode(event["before"]["value"]) == change.before


@pytest.mark.parametrize(
    ("change", "blind", "informed"),
    [
        (put(1, b"k", b"v"), ("c", None), ("c", None)),
        (put(2, b"k", b"w", before=b"v"), ("c", None), ("u", "v")),
        (put(2, b"k", b"w", before=b""), ("c", None), ("u", "")),
        (delete(3, b"k", before=b"w"), ("d", None), ("d", "w")),
        (delete(4, b"k"), ("d", None), ("d", None)),
    ],
)
def test_create_and_update_differ_only_when_the_previous_value_is_known(change, blind, informed):
    for before, expected in ((False, blind), (True, informed)):
        event = one(debezium(before=before, text=True).change(change))
        assert (event["op"], (event["before"] or {}).get("value")) == expected


def test_a_deletion_names_its_key_even_when_nothing_else_is_known():
    event = one(debezium(text=True).change(delete(3, b"k")))

    assert (event["before"], event["after"]) == ({"key": "k", "value": None}, None)


def test_a_batch_is_a_transaction():
    stream = debezium()
    batch = [
        put(7, b"a", b"", first=7, count=4),
        put(8, b"b", b"", first=7, count=4, keyspace="orders"),
        delete(9, b"c", first=7, count=4),
        put(10, b"d", b"", first=7, count=4, keyspace="orders"),
    ]

    blocks = [one(stream.change(change))["transaction"] for change in [*batch, put(11, b"e", b"")]]

    assert [tuple(block.values()) for block in blocks] == [
        ("1:7", 1, 1),
        ("1:7", 2, 1),
        ("1:7", 3, 2),
        ("1:7", 4, 2),
        ("1:11", 1, 1),
    ]


def test_whoever_starts_in_the_middle_of_a_batch_counts_what_came_before():
    stream = debezium()
    stream.count(put(7, b"a", b"", first=7, count=3))
    stream.count(put(8, b"b", b"", first=7, count=3, keyspace="orders"))

    block = one(stream.change(put(9, b"c", b"", first=7, count=3)))["transaction"]

    assert (block["total_order"], block["data_collection_order"]) == (3, 2)


def test_what_is_not_whole_batches_has_no_transaction():
    event = one(debezium(batches=False).change(put(9, b"c", b"", first=7, count=3)))

    assert event["transaction"] is None
    assert event["source"]["batch_first_seq"] == 7


def test_a_deletion_can_be_followed_by_a_tombstone():
    stream = debezium(keys=True, tombstones=True, text=True)

    assert len(stream.change(put(1, b"k", b"v"))) == 1
    event, tombstone = map(json.loads, stream.change(delete(2, b"k")))

    assert event["value"]["op"] == "d"
    assert (event["key"], tombstone) == ({"key": "k"}, {"key": {"key": "k"}, "value": None})
    with pytest.raises(lsm.InvalidArgument):
        Shape(tombstones=True)


def test_keys_have_a_schema_of_their_own():
    event, tombstone = map(
        json.loads, debezium(keys=True, tombstones=True, schema=True).change(delete(2, b"k"))
    )

    assert event["key"] == tombstone["key"]
    check_against(event["key"]["schema"], event["key"]["payload"])
    assert event["key"]["schema"]["name"] == "shop.default.Key"
    check_payload(event["value"]["payload"])
    assert tombstone["value"] is None


def test_text_is_readable_and_refuses_what_is_none():
    stream = debezium(text=True, schema=True)

    event = one(stream.change(put(1, "grün".encode(), b"\x00")))
    check_against(event["schema"], event["payload"])
    assert event["payload"]["after"] == {"key": "grün", "value": "\x00"}
    for change in (put(57, b"\xff", b""), put(57, b"", b"\xff")):
        with pytest.raises(lsm.InvalidArgument, match="sequence number 57 is not UTF-8"):
            stream.change(change)


@pytest.mark.parametrize(
    ("name", "keyspace", "schema"),
    [
        ("shop", "orders", "shop.orders.Envelope"),
        ("my-shop.db", "a b", "my_shop_db.a_b.Envelope"),
        ("7", "ü", "_7._.Envelope"),
    ],
)
def test_names_of_schemas_are_names_that_avro_takes(name, keyspace, schema):
    origin = Origin(name=name, db="x", store_id="x", epoch=1)

    event = one(Debezium(origin, Shape(schema=True)).change(put(1, b"", b"", keyspace=keyspace)))

    assert event["schema"]["name"] == schema
    assert event["payload"]["source"]["table"] == keyspace


def test_the_envelope_to_the_letter():
    change = put(8, b"k", b"w", before=b"v", first=7, count=3, keyspace="orders")
    event = one(debezium(before=True, text=True).change(change))

    assert event == {
        "before": {"key": "k", "value": "v"},
        "after": {"key": "k", "value": "w"},
        "source": {
            "version": event["source"]["version"],
            "connector": "lsm",
            "name": "shop",
            "ts_ms": 1763456700000,
            "snapshot": "false",
            "db": "shop.db",
            "sequence": '["6","8"]',
            "ts_us": 1763456700000042,
            "ts_ns": 1763456700000042000,
            "table": "orders",
            "keyspace": "orders",
            "seq": 8,
            "batch_first_seq": 7,
            "batch_count": 3,
            "store_id": "5eed" * 8,
            "epoch": 1,
        },
        "transaction": {"id": "1:7", "total_order": 2, "data_collection_order": 1},
        "op": "u",
        "ts_ms": 1763456789123,
        "ts_us": 1763456789123456,
        "ts_ns": 1763456789123456789,
    }


@pytest.mark.parametrize("name", ["before", "after", "source", "op", "transaction"])
def test_the_check_itself_finds_a_missing_field(name):
    event = one(debezium().change(put(1, b"k", b"v")))
    del event[name]

    with pytest.raises(AssertionError):
        check_payload(event)


def test_the_check_itself_finds_wrong_types():
    good = debezium(schema=True).change(put(1, b"k", b"v"))
    for path, wrong in [
        (("source", "ts_ms"), "soon"),
        (("source", "db"), None),
        (("op",), "x"),
        (("transaction", "id"), 7),
        (("after",), None),
    ]:
        event = one(good)["payload"]
        *outer, last = path
        inner = event
        for name in outer:
            inner = inner[name]
        inner[last] = wrong
        with pytest.raises(AssertionError):
            check_payload(event)
