"""Reading tables into Spark gives what a scan gives."""

import time

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documents use

import lsm
from tests.spark.conftest import rows


def test_a_load_gives_what_a_scan_gives(load, path, db):
    frame = load(path)

    assert frame.schema.simpleString() == "struct<key:binary,value:binary>"
    assert rows(frame) == list(db.scan())


def test_a_load_is_one_snapshot_whatever_the_writer_does(load, path, db):
    before = list(db.scan())
    frame = load(path)

    db.update({b"k%04d" % n: b"later" for n in range(600)})
    db.delete(b"k0002")
    db.compact()
    first = rows(frame)
    db.clear()
    db.compact()

    assert first == before
    assert rows(frame) == before
    assert rows(load(path)) == list(db.scan()) == []


def test_a_store_that_was_closed_and_one_that_crashed_read_alike(load, path, db, tmp_path):
    expected = list(db.scan())
    db.checkpoint(tmp_path / "checkpoint")
    db.close()

    assert rows(load(path)) == expected
    assert rows(load(tmp_path / "checkpoint")) == expected


def test_a_checkpoint_of_the_store_can_be_named(load, path, db, tmp_path):
    expected = list(db.scan())
    db.checkpoint(tmp_path / "before")
    db.clear()

    assert rows(load(path, snapshot=str(tmp_path / "before"))) == expected


@pytest.mark.parametrize(
    ("options", "bounds"),
    [
        ({"startKey": "k0100"}, (b"k0100", None)),
        ({"endKey": "k0100"}, (None, b"k0100")),
        ({"startKey": "k0100", "endKey": "k0200"}, (b"k0100", b"k0200")),
        ({"prefix": "k01"}, (b"k01", b"k02")),
        ({"prefix": "k01", "startKey": "k0150"}, (b"k0150", b"k02")),
        ({"startKey": "hex:ff"}, (b"\xff", None)),
        ({"prefix": "hex:FF00"}, (b"\xff\x00", None)),
        ({"startKey": "k0200", "endKey": "k0100"}, (b"x", b"x")),
    ],
)
def test_ranges_are_said_by_options(load, path, db, options, bounds):
    assert rows(load(path, **options)) == list(db.scan(*bounds))


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_partitions_are_disjoint_ranges_in_order(load, path, db, parts):
    frame = load(path, numPartitions=str(parts))

    found = [
        [bytes(key) for _, key in sorted(part)]
        for part in (
            frame.select(F.spark_partition_id().alias("part"), "key")
            .rdd.map(tuple)
            .groupBy(lambda row: row[0])
            .sortByKey()
            .mapValues(list)
            .values()
            .collect()
        )
    ]

    assert frame.rdd.getNumPartitions() == parts
    assert [key for part in found for key in part] == [key for key, _ in db.scan()]


def test_the_size_of_partitions_can_be_said(load, path, db):
    db.compact()

    assert load(path, targetPartitionBytes="4KiB").rdd.getNumPartitions() > 2
    assert load(path).rdd.getNumPartitions() == 1


def test_columns_can_be_chosen_by_option_or_by_schema(load, path, db):
    keys = [key for key, _ in db.scan()]

    by_option, by_schema = load(path, columns="key"), load(path, schema="key binary")

    assert by_option.columns == by_schema.columns == ["key"]
    assert sorted(bytes(row.key) for row in by_option.collect()) == keys
    assert sorted(bytes(row.key) for row in by_schema.collect()) == keys
    assert load(path, columns="value,key").columns == ["value", "key"]


def test_every_row_can_tell_its_number_time_and_store(load, path, db):
    started = time.time()
    db[b"k0300"] = b"timed"
    frame = load(path, includeSeq="true", includeTimestamp="true", includeStore="true")

    row = frame.filter("key = 'k0300'").first()

    assert frame.columns == ["key", "value", "_seq", "_timestamp", "_store"]
    assert (row["_seq"], row["_store"]) == (db.seq, str(path))
    assert abs(frame.agg(F.max(F.unix_micros("_timestamp"))).first()[0] / 1e6 - started) < 60


def test_times_are_null_where_the_log_is_gone(load, path):
    with lsm.open(path, background="manual", log_retention_bytes=0) as db:
        db[b"a"] = b"1"
        db.compact()
        db[b"b"] = b"2"

        found = {bytes(row.key): row._timestamp for row in load(path, columns="key,_timestamp").collect()}

    assert found[b"a"] is None
    assert found[b"b"] is not None


def test_many_stores_are_read_as_one(load, tmp_path):
    for name in ("north", "south", "empty"):
        with lsm.open(tmp_path / name) as db:
            if name != "empty":
                db.update({f"{name} {n}".encode(): b"x" for n in range(10)})

    frame = load(tmp_path / "north", tmp_path / "south", tmp_path / "empty", columns="key,_store")

    found = {row["_store"]: row["count"] for row in frame.groupBy("_store").count().collect()}
    assert found == {str(tmp_path / "north"): 10, str(tmp_path / "south"): 10}


def test_another_keyspace_is_named_by_option(load, path, db):
    db.keyspace("orders")[b"1"] = b"first"

    assert rows(load(path, keyspace="orders")) == [(b"1", b"first")]


@pytest.mark.parametrize("is_flushed", [True, False])
def test_an_empty_store_has_no_rows(load, path, is_flushed):
    with lsm.open(path) as db:
        db[b"a"] = b"1"
        del db[b"a"]
        if is_flushed:
            db.compact()

        assert load(path).count() == 0


def test_empty_keys_and_large_values_come_whole(load, path):
    large = bytes(range(256)) * 8192
    with lsm.open(path) as db:
        db.update({b"": b"", b"large": large, b"zero": b""})
        db.flush()

        assert rows(load(path)) == [(b"", b""), (b"large", large), (b"zero", b"")]


def test_an_earlier_version_is_read_from_the_log(load, path):
    with lsm.open(path, background="manual", log_history=True) as db:
        db[b"a"] = b"1"
        first = db.seq
        db[b"a"], db[b"b"] = b"2", b"2"
        db.flush()
        second = db.seq
        del db[b"a"]

        assert rows(load(path, version=str(second))) == [(b"a", b"2"), (b"b", b"2")]
        assert rows(load(path, version=str(db.seq))) == [(b"b", b"2")]
        assert rows(load(path, version=str(first))) == [(b"a", b"1")]


def test_compressed_tables_are_read_too(load, path):
    with lsm.open(path, compression="zlib") as db:
        db.update({b"%d" % n: b"same " * 20 for n in range(500)})
        db.compact()

        assert rows(load(path)) == list(db.scan())


def test_sql_reads_tables_and_views(spark, path, db):
    count = len(db)
    spark.sql(f"CREATE TABLE stored USING lsm OPTIONS (path '{path}', columns 'key', keyFormat 'binary')")
    try:
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen USING lsm OPTIONS (path '{path}', prefix 'k00')")

        assert spark.sql("SELECT count(*) FROM stored").first()[0] == count
        assert spark.sql("SELECT count(*) FROM seen").first()[0] == len(list(db.scan(prefix=b"k00")))

        db[b"one more"] = b""  # a table shows the present to every query
        assert spark.sql("SELECT count(*) FROM stored").first()[0] == count + 1
    finally:
        spark.sql("DROP TABLE stored")


def test_the_format_is_found_without_registering(spark, path, db):
    fresh = spark.newSession()

    assert fresh.read.format("lsm").load(str(path)).count() == len(db)
