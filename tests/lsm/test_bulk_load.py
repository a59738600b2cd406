"""`db.bulk_load`: many rows at once, sorted or not, all or none."""

import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.adoption import sorting
from lsm.adoption.sorting import Sorter, Staging, merged
from lsm.verify import verify_on
from sstable import Columns, Kind, Table, TableOptions
from tests.reliability.tiny import open_tiny
from tests.support.faultfs import Fault, FaultFS, FaultRule, Operation
from tests.support.memfs import MemFS


@pytest.fixture
def fs():
    return MemFS()


@pytest.fixture
def db(fs):
    with open_tiny(fs, log_retention="all") as db:
        yield db


def chunked(chunk_bytes, staging, _):
    return Sorter(staging, chunk_bytes)


def tables(fs):
    return [name for name in fs.list() if name.endswith(".sst")]


def test_rows_in_any_order_are_there_in_key_order(db):
    db.update({b"05": b"old", b"x": b"stays"})
    rows = [(b"%02d" % n, b"%d" % n) for n in range(60)]
    random.Random(1).shuffle(rows)

    loaded = db.bulk_load(iter(rows))

    assert (loaded.first_seq, loaded.last_seq, loaded.is_new) == (3, 62, True)
    assert dict(db) == {**dict(rows), b"x": b"stays"}
    assert [change.key for change in db.changes(2)] == sorted(key for key, _ in rows)


def test_mappings_and_deletions(db):
    db[b"a"] = b"1"

    db.bulk_load({b"a": None, b"b": bytearray(b"2"), b"63": b"3"})

    assert dict(db) == {b"b": b"2", b"63": b"3"}


def test_many_chunks_are_merged_in_bounded_memory(db, monkeypatch):
    monkeypatch.setattr("lsm.adoption.bulk._CHUNK_BYTES_MIN", 512)
    db._state.options = db.options.with_changes({"memory_limit": 1024 * 1024})
    monkeypatch.setattr("lsm.adoption.bulk.Sorter", partial(chunked, 1000))
    rows = [(b"%04d" % n, bytes(20)) for n in range(500)]
    random.Random(2).shuffle(rows)

    db.bulk_load(rows)

    assert dict(db) == dict(rows)
    assert verify_on(db._state.fs).is_sound


def test_sorted_rows_are_written_once(db, monkeypatch):
    monkeypatch.setattr("lsm.adoption.bulk.Sorter", partial(chunked, 1000))
    monkeypatch.setattr(sorting, "_merging", lambda *_: pytest.fail("nothing overlaps"))

    db.bulk_load((b"%04d" % n, bytes(20)) for n in range(500))

    assert len(db) == 500


def test_a_key_that_comes_twice_is_an_error_or_the_last_counts(db, fs, monkeypatch):
    rows = [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")]
    before = tables(fs)
    for chunk in (10, 10_000):
        monkeypatch.setattr(
            "lsm.adoption.bulk.Sorter", lambda staging, _, chunk=chunk: Sorter(staging, chunk)
        )
        with pytest.raises(lsm.InvalidArgument, match="key b'a' comes twice in this load"):
            db.bulk_load(rows)
        assert tables(fs) == before
        db.bulk_load(rows, duplicates="last")
        assert db[b"a"] == b"2"
        db.bulk_load([], replace=True)
        before = tables(fs)


def test_replacing_deletes_the_rest_of_one_keyspace(db):
    db.update({b"a": b"1", b"b": b"1"})
    db.keyspace("orders").update({b"x": b"1", b"y": b"1"})

    db.bulk_load({b"y": b"2"}, keyspace="orders", replace=True)

    assert dict(db.keyspace("orders")) == {b"y": b"2"}
    assert len(db) == 2


def test_a_repeated_transaction_adds_nothing(db, fs):
    assert db.bulk_load({b"a": b"1"}, transaction=("daily", 3)).is_new
    assert not db.bulk_load({b"a": b"2"}, transaction=("daily", 3)).is_new
    assert db[b"a"] == b"1"
    assert len(tables(fs)) == len(db._state.version.all_tables())


@pytest.mark.parametrize(
    ("rows", "how", "problem"),
    [
        ([("a", b"1")], {}, "a key must be bytes"),
        ([(b"a", "1")], {}, "a value must be bytes"),
        ([(bytes(65537), b"1")], {}, "a key of 65537 bytes"),
        (7, {}, "rows are pairs"),
        ({}, {"duplicates": "first"}, "duplicates must be"),
        ({}, {"transaction": "x"}, "a transaction is a name and a number"),
        ({}, {"transaction": ("x", True)}, "a transaction is a name and a number"),
        ({}, {"transaction": ("lsm:inbox", 1)}, "reserved"),
        ({}, {"keyspace": "lsm:consumers"}, "reserved"),
    ],
)
def test_wrong_arguments_are_refused_and_leave_nothing(db, fs, rows, how, problem):
    before = fs.list()
    with pytest.raises(lsm.InvalidArgument, match=problem):
        db.bulk_load(rows, **how)

    assert fs.list() == before


def test_rows_that_raise_leave_nothing(db, fs):
    def rows():
        for n in range(100_000):
            yield b"%d" % n, bytes(100)
        raise RuntimeError("no more")

    before = fs.list()
    with pytest.raises(RuntimeError, match="no more"):
        db.bulk_load(rows())

    assert fs.list() == before
    db[b"a"] = b"still writable"


def test_a_reader_cannot_load(db, fs):
    with open_tiny(fs, "r") as reader, pytest.raises(lsm.ReadOnlyError):
        reader.bulk_load({b"a": b"1"})


@pytest.mark.parametrize("operation", [Operation.APPEND, Operation.SYNC, Operation.CREATE, Operation.LINK])
def test_a_disk_that_fails_leaves_the_store_as_it_was(operation):
    inner = MemFS()
    with open_tiny(inner) as db:
        db[b"a"] = b"1"
    faulty = FaultFS(inner)
    db = open_tiny(faulty)
    faulty.rule = FaultRule(operation=operation, fault=Fault.ENOSPC, pattern="*.sst")
    with pytest.raises(lsm.DiskFull):
        db.bulk_load({b"b": b"2"})
    faulty.heal()
    db.close()

    with open_tiny(inner) as db:
        assert dict(db) == {b"a": b"1"}


def test_arrow_comes_without_a_step_for_every_row(db):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"value": [b"1", None, b"3"], "key": ["a", "b", "c"], "other": [1, 2, 3]})
    db[b"b"] = b"old"

    db.bulk_load(table)
    db.bulk_load(
        pa.table({"key": pa.array([b"d"], pa.large_binary()), "value": pa.array([b""], pa.binary())})
    )
    db.bulk_load(table.slice(2, 1), keyspace="other")

    assert dict(db) == {b"a": b"1", b"c": b"3", b"d": b""}
    assert dict(db.keyspace("other")) == {b"c": b"3"}


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"key": [b"a"]}, "there is no column 'value'"),
        ({"key": [None], "value": [b"1"]}, "a key is null"),
        ({"key": [1], "value": [b"1"]}, "keys and values are bytes or text, not int64"),
        ({"key": [bytes(65537)], "value": [b"1"]}, "a key of 65,537 bytes"),
    ],
)
def test_arrow_that_does_not_fit_is_refused(db, columns, problem):
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(lsm.InvalidArgument, match=problem):
        db.bulk_load(pa.table(columns))


def test_a_store_takes_what_another_gives(db, tmp_path):
    pytest.importorskip("pyarrow")
    with lsm.open(tmp_path / "other") as other:
        other.update({b"%d" % n: b"x" * n for n in range(100)})

        db.bulk_load(other.to_arrow())

        assert dict(db) == dict(other)


# The sorter alone, against a dict

KEYS = st.binary(max_size=3)
ROWS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=4), st.integers(0, 5)), max_size=40)


def staging(fs, *, is_ordered=False):
    numbers = iter(range(10**6))
    return Staging(
        directory=fs,
        new_name=lambda: f"{next(numbers)}.sst",
        store_id=bytes(16),
        options=TableOptions(block_bytes=64),
        table_bytes_max=256,
        time_us=1,
        duplicates="last",
        is_ordered=is_ordered,
    )


def columns(rows):
    kinds = [Kind.DELETE if value is None else Kind.PUT for _, value, _ in rows]
    return Columns.from_lists([r[0] for r in rows], [r[2] for r in rows], kinds, [r[1] or b"" for r in rows])


def content(fs, run):
    found = []
    for name, meta in run:
        for part in Table(fs.open(name), meta).columns():
            found += zip(part.keys(), part.kinds.tolist(), part.values(), strict=True)
    return found


def expected(rows):
    latest = {key: (Kind.PUT if value is not None else Kind.DELETE, value or b"") for key, value, _ in rows}
    return [(key, *latest[key]) for key in sorted(latest)]


@given(ROWS, st.integers(1, 200))
def test_the_last_row_of_every_key_in_key_order(rows, chunk_bytes):
    fs = MemFS()
    sorter = Sorter(staging(fs), chunk_bytes)
    for row in rows:
        sorter.add(columns([row]))

    assert content(fs, sorter.finish()) == expected(rows)


@given(st.lists(ROWS, max_size=4), st.integers(1, 200))
def test_parts_with_an_order_of_their_own(parts, chunk_bytes):
    fs = MemFS()
    place = staging(fs, is_ordered=True)
    runs = []
    for rows in parts:
        sorter = Sorter(place, chunk_bytes)
        for row in rows:
            sorter.add(columns([row]))
        runs.append(sorter.finish(is_final=False))

    whole = merged(place, runs)

    in_order = sorted((row for rows in parts for row in rows), key=lambda row: row[2])
    assert content(fs, whole) == expected(in_order)
    for _, meta in whole:
        assert (meta.min_seq, meta.max_seq) == (1, meta.entries)
