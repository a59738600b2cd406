"""The stream sink with a real Spark: every batch once."""

import shutil

import pytest
from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

import lsm
from tests.spark.test_load import content, inbox


@pytest.fixture
def stream(spark, tmp_path):
    """A stream of files, each of them one batch."""
    source = tmp_path / "source"
    source.mkdir()

    class Stream:
        batches = 0

        def add(self, *rows, schema="key string, value string"):
            self.batches += 1
            frame = spark.createDataFrame(rows, schema)
            frame.coalesce(1).write.mode("overwrite").json(str(tmp_path / "made"))
            (made,) = (tmp_path / "made").glob("*.json")
            shutil.move(made, source / f"{self.batches}.json")

        def read(self, schema="key string, value string"):
            frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(source))
            return frame.withColumn("key", F.col("key").cast("binary")).withColumn(
                "value", F.col("value").cast("binary")
            )

    return Stream()


def run(frame, path, checkpoint, mode="append", **options):
    query = (
        frame.writeStream.format("lsm")
        .outputMode(mode)
        .option("checkpointLocation", str(checkpoint))
        .options(**options)
        .trigger(availableNow=True)
        .start(str(path))
    )
    assert query.awaitTermination(120)
    return query


def test_every_batch_comes_once_also_when_spark_forgets_that_it_did(stream, path, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    stream.add(("a", "1"), ("b", "1"))
    stream.add(("b", "2"), ("c", "2"))
    run(stream.read(), path, checkpoint)
    assert content(path) == {b"a": b"1", b"b": b"2", b"c": b"2"}
    # As if Spark had died between our commit and its own.
    for commit in (checkpoint / "commits").glob("*1*"):
        commit.unlink()
    stream.add(("d", "3"))

    run(stream.read(), path, checkpoint)

    assert content(path) == {b"a": b"1", b"b": b"2", b"c": b"2", b"d": b"3"}
    with lsm.open(path) as db:
        assert db.seq == 5, "nothing twice"
        assert list(db._state.version.transactions.values()) == [2]
    assert inbox(path) == []


def test_a_live_writer_takes_the_batches(stream, path, tmp_path):
    stream.add(("a", "1"))
    stream.add(("b", "1"))
    with lsm.open(path) as db:
        run(stream.read(), path, tmp_path / "checkpoint")

        assert dict(db) == {b"a": b"1", b"b": b"1"}
        assert db.stats().background.loads == 2
    assert inbox(path) == []


def test_complete_mode_replaces(stream, path, tmp_path):
    with lsm.open(path) as db:
        db[b"old"] = b"x"
    stream.add(("a", "1"), ("a", "2"), ("b", "1"))
    counts = stream.read().groupBy("key").agg(F.count("*").cast("string").cast("binary").alias("value"))

    run(counts, path, tmp_path / "checkpoint", "complete")

    assert content(path) == {b"a": b"2", b"b": b"1"}


def test_changes_are_applied_in_their_order(stream, path, tmp_path):
    schema = "key string, value string, _change_type string, _commit_version long"
    stream.add(
        ("a", "1", "insert", 1),
        ("b", "1", "insert", 2),
        ("a", None, "delete", 3),
        ("b", "2", "update_postimage", 4),
        schema=schema,
    )
    stream.add(("b", None, "delete", 5), ("c", "1", "insert", 6), schema=schema)

    run(stream.read(schema), path, tmp_path / "checkpoint")

    assert content(path) == {b"c": b"1"}


def test_a_batch_that_fails_leaves_nothing_and_comes_again(stream, path, tmp_path):
    stream.add(("a", "1"), ("a", "2"))
    with pytest.raises(Exception, match="comes twice in this load"):
        run(stream.read(), path, tmp_path / "checkpoint")
    assert content(path) == {}
    assert inbox(path) == []

    run(stream.read(), path, tmp_path / "checkpoint", duplicates="last")

    assert content(path) == {b"a": b"2"}


def test_the_number_of_a_batch_is_not_for_users(stream, path, tmp_path):
    stream.add(("a", "1"))
    with pytest.raises(Exception, match="txnVersion of a stream is the number of the batch"):
        run(stream.read(), path, tmp_path / "checkpoint", txnAppId="x", txnVersion="1")


def test_a_change_feed_pipes_straight_into_another_store(spark, path, tmp_path):
    copy, checkpoint = tmp_path / "copy", tmp_path / "checkpoint"

    def pipe():
        feed = spark.readStream.format("lsm").option("readChangeFeed", "true").load(str(path))
        run(feed, copy, checkpoint)

    with lsm.open(path) as db:
        db.update({b"%d" % n: b"old" for n in range(20)})
        db.flush()
        db[b"3"] = b"new"
        pipe()
        assert content(copy) == dict(db)
        del db[b"3"]
        db[b"3"] = b"again"
        del db[b"4"]
        with db.batch() as batch:
            batch.put(b"5", b"first")
            batch.put(b"5", b"second")
        pipe()
        assert content(copy) == dict(db)
