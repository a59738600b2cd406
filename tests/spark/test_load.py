"""Bulk load with a real Spark: all or nothing, whatever fails."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

import lsm
import lsm.spark
from tests.spark.test_bad_input import complaint

ROOT = Path(__file__).resolve().parent.parent.parent


def pairs(spark, count, *, start=0, partitions=2):
    """Keys k000000 and so on, values v0 and so on."""
    numbers = spark.range(start, start + count, 1, partitions)
    return numbers.select(
        F.format_string("k%06d", "id").cast("binary").alias("key"),
        F.format_string("v%d", "id").cast("binary").alias("value"),
    )


def expected(count, start=0):
    return {b"k%06d" % n: b"v%d" % n for n in range(start, start + count)}


def save(frame, path, mode="append", **options):
    frame.write.format("lsm").mode(mode).options(**options).save(str(path))


def content(path, keyspace="default"):
    with lsm.open(path, "r") as db:
        return dict(db.keyspace(keyspace))


def inbox(path):
    return sorted(entry.name for entry in (path / "inbox").iterdir()) if (path / "inbox").exists() else []


def test_a_frame_becomes_a_store_and_is_read_back(spark, load, path):
    save(pairs(spark, 3000), path, targetFileSize="16KiB")

    assert content(path) == expected(3000)
    assert load(path).count() == 3000
    with lsm.open(path) as db:
        assert db.seq == 3000
        assert len(db._state.version.tables()) > 2
        assert [change.key for change in db.changes()] == sorted(expected(3000))
    assert inbox(path) == []
    assert lsm.verify(path).is_sound


def test_appending_is_newer_and_overwriting_deletes_the_rest(spark, path):
    with lsm.open(path) as db:
        db.update({b"k000001": b"old", b"other": b"x"})
    save(pairs(spark, 10), path)
    assert content(path) == {**expected(10), b"other": b"x"}

    save(pairs(spark, 5, start=8), path, "overwrite")
    assert content(path) == expected(5, start=8)
    save(pairs(spark, 0), path, "overwrite")
    assert content(path) == {}


def test_rows_that_were_not_split_by_ranges_are_merged(spark, path):
    save(pairs(spark, 5000).repartition(5), path, targetFileSize="32KiB")

    assert content(path) == expected(5000)


def test_the_helper_splits_by_ranges(spark, path):
    lsm.spark.bulk_load(pairs(spark, 4000).repartition(3), path, partitions=4, targetFileSize="1MiB")

    assert content(path) == expected(4000)
    with lsm.open(path, "r") as db:
        assert len(db._state.version.tables()) == 4, "one of each range, none was merged"


@pytest.mark.parametrize("in_one_partition", [True, False])
def test_a_key_that_comes_twice_is_an_error_or_the_last_counts(spark, path, in_one_partition):
    frame = pairs(spark, 50).union(pairs(spark, 1, start=7).withColumn("value", F.lit(b"again")))
    frame = frame.coalesce(1) if in_one_partition else frame
    with pytest.raises(Exception, match="comes twice") as caught:
        save(frame, path)
    assert "key b'k000007' comes twice in this load; drop one, or say duplicates=last" in complaint(
        caught.value
    )
    assert content(path) == {}
    assert inbox(path) == []

    save(frame, path, duplicates="last")
    assert content(path) == {**expected(50), b"k000007": b"again"}


def test_a_column_can_say_what_is_deleted_and_what_comes_last(spark, path):
    save(pairs(spark, 3), path)
    rows = [
        (b"k000000", None, "delete", 5),
        (b"k000001", b"before", "update_preimage", 6),
        (b"k000001", b"last", "update_postimage", 9),
        (b"k000001", b"first", "update_postimage", 6),
        (b"new", b"1", "insert", 7),
        (b"new", None, "delete", 8),
        (b"newer", b"1", "insert", 7),
    ]
    frame = spark.createDataFrame(rows, "key binary, value binary, _change_type string, _commit_version long")

    save(frame.repartition(3), path)

    assert content(path) == {b"k000001": b"last", b"k000002": b"v2", b"newer": b"1"}


def test_a_repeated_transaction_adds_nothing(spark, path):
    for version in ("1", "1", "0", "2"):
        save(pairs(spark, 10), path, txnAppId="job", txnVersion=version)

    with lsm.open(path, "r") as db:
        assert db.seq == 20


def test_columns_formats_and_keyspaces_by_option(spark, load, path):
    frame = spark.createDataFrame(
        [(5, 1.5, "x"), (-5, 2.5, "y"), (0, -0.5, None)], "id long, price double, name string"
    )
    how = {"keyColumn": "id", "keyFormat": "long"}

    save(frame.drop("name"), path, valueColumn="price", valueFormat="double", keyspace="prices", **how)
    lsm.spark.bulk_load(frame, path, valueFormat="json", keyspace="orders", **how)
    save(frame, path, valueFormat="json", keyspace="same", **how)

    prices = load(path, keyspace="prices", keyFormat="long", valueFormat="double").collect()
    assert {tuple(row) for row in prices} == {(5, 1.5), (-5, 2.5), (0, -0.5)}
    for keyspace in ("orders", "same"):
        schema = "key long, price double, name string"
        rows = load(path, schema=schema, keyspace=keyspace, keyFormat="long", valueFormat="json").collect()
        assert {tuple(row) for row in rows} == {(5, 1.5, "x"), (-5, 2.5, "y"), (0, -0.5, None)}


def test_what_was_read_can_be_written_as_it_is(spark, load, path, db, tmp_path):
    save(load(path, includeSeq="true", includeTimestamp="true", includeStore="true"), tmp_path / "copy")

    assert content(tmp_path / "copy") == dict(db)


def test_a_live_writer_takes_it_over(spark, path):
    with lsm.open(path) as db:
        db[b"mine"] = b"1"
        save(pairs(spark, 100), path)

        assert len(db) == 101
        assert db.stats().background.loads == 1
        assert [change.batch_count for change in db.changes(1, 2)] == [100]
    assert inbox(path) == []


def test_a_writer_that_never_looks_is_named(spark, path):
    with lsm.open(path, background="manual") as db:
        with pytest.raises(Exception, match="did not take the load over in 1 s") as caught:
            save(pairs(spark, 10), path, adoptTimeout="1")
        assert f"pid {os.getpid()}" in complaint(caught.value)
        assert inbox(path) == []
        assert db.step() is False


@pytest.mark.parametrize(
    ("change", "options", "problem"),
    [
        ("", {"keyColum": "x"}, "unknown option keycolum; did you mean keyColumn?"),
        ("", {"duplicates": "first"}, "duplicates must be one of error, last"),
        ("", {"txnAppId": "x"}, "txnAppId and txnVersion belong together"),
        ("", {"keyColumn": "k"}, "there is no column 'k'; there are key, value: say keyColumn=..."),
        ("", {"keyspace": "lsm:x"}, "reserved"),
        (
            "string(key) as key, value",
            {},
            "the column key is string, but keyFormat=binary takes binary; say keyFormat=string",
        ),
        ("key, 1 as value", {}, "cast it to binary, string, bigint or double"),
        ("key, value, 1 as more", {}, "the column 'more' is neither key nor value"),
        ("cast(null as binary) as key, value", {}, "a key is null, in column key"),
        ("key, cast(null as binary) as value", {}, "' is null, in column value"),
        ("key, value, 'upsert' as _change_type", {}, "_change_type is 'upsert'; known are"),
        ("binary(repeat('x', 70000)) as key, value", {}, "a key of 70,000 bytes; 65,536 is the most"),
    ],
)
def test_wrong_input_is_refused_in_one_line_and_nothing_is_there(spark, path, change, options, problem):
    frame = pairs(spark, 3)
    frame = frame.selectExpr(*split(change)) if change else frame
    with pytest.raises(Exception, match=r"lsm\.") as caught:
        save(frame, path, **options)

    assert problem in complaint(caught.value)
    assert not path.exists() or content(path) == {}
    assert inbox(path) == []


def split(columns):
    """Cut at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in columns:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def test_without_a_mode_spark_says_which_there_are(spark, path):
    with pytest.raises(Exception, match='either the "Append" or "Overwrite" mode'):
        pairs(spark, 1).write.format("lsm").save(str(path))


def test_a_path_that_is_no_store_is_refused(spark, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(Exception, match=r"lsm\.") as caught:
        save(pairs(spark, 1), tmp_path / "file")

    assert "is not a directory" in complaint(caught.value)


def test_a_task_that_fails_leaves_nothing(spark, path):
    frame = pairs(spark, 1000).withColumn(
        "value",
        F.when(F.col("key") == b"k000999", F.raise_error("broken").cast("binary")).otherwise(F.col("value")),
    )
    with pytest.raises(Exception, match="broken"):
        save(frame, path)

    assert content(path) == {}
    assert inbox(path) == []


def test_sql_inserts(spark, path):
    lsm.open(path).close()
    row = "SELECT binary('{}') AS key, binary('1') AS value"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen USING lsm OPTIONS (path '{path}')")
    spark.sql(f"CREATE TABLE loaded USING lsm OPTIONS (path '{path}')")
    try:
        spark.sql(f"INSERT INTO seen {row.format('a')}")
        spark.sql(f"INSERT INTO loaded WITH (path='{path}') {row.format('b')}")
        with pytest.raises(Exception, match=r"INSERT INTO t WITH \(path="):
            spark.sql(f"INSERT INTO loaded {row.format('c')}")

        assert content(path) == {b"a": b"1", b"b": b"1"}
    finally:
        spark.sql("DROP TABLE loaded")


KILLED = """
import os, sys, threading, time
import lsm, lsm.spark
from pyspark.sql import functions as F
spark = lsm.spark.session(**{"spark.master": "local[2]"}, ui_enabled=False)
path, slow = sys.argv[1:]
value = "binary('v')"
if slow == "slow":
    value = "coalesce(binary(reflect('java.lang.Thread', 'sleep', 1L)), binary('v'))"
key = F.format_string("k%06d", "id").cast("binary").alias("key")
frame = spark.range(0, 4000, 1, 2).select(key, F.expr(value).alias("value"))
frame.write.format("lsm").mode("append").options(adoptTimeout="600").save(path)
"""


def start_job(path, how):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), how],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for(condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def kill(process):
    """Kill a Spark application with all its processes, as a machine that loses power would."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.5)


def test_a_job_killed_while_it_writes_leaves_nothing(path):
    process = start_job(path, "slow")
    try:
        wait_for(lambda: any((path / "inbox").glob("*/LEASE")))
        time.sleep(1.5)
    finally:
        kill(process)
    assert inbox(path), "it was at work"

    with lsm.open(path) as db:
        assert db.seq == 0
    assert inbox(path) == []


def test_a_job_killed_after_it_was_handed_over_is_there_once(path):
    with lsm.open(path, background="manual"):  # takes nothing, so the job waits for it
        process = start_job(path, "fast")
        try:
            wait_for(lambda: any((path / "inbox").glob("*/JOB")))
        finally:
            kill(process)
    for _ in range(2):
        with lsm.open(path) as db:
            assert len(db) == db.seq == 4000
        assert inbox(path) == []
