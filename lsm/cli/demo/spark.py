"""The demo's part about Spark: tables in bulk, the log as a stream, a load; only where Spark is installed."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lsm
from lsm.cli.demo.history import Lost, differences
from lsm.cli.demo.plan import Plan
from lsm.cli.demo.stage import Stage
from lsm.cli.spark_session import spark_session

_CONFS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    # Compiled less well, but at once: nothing here runs long.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}
_KEYSPACE = "squares"
_ROWS = 100_000


def query_in_spark(plan: Plan, stage: Stage) -> None:
    """Read the store in Spark, stream its log into another store, load rows there; compare everything."""
    if find_spec("pyspark") is None:
        stage.section("Spark", "Left out here: pip install 'lsmlog[spark]' brings it, Java included.")
        return
    stage.section(
        "The same store in Spark",
        "Spark reads the tables themselves, a range of keys a task; takes the log as a stream, which here "
        "goes straight into another store; and loads rows as finished tables, all of them at once.",
    )
    with lsm.open(plan.store, "r") as db:
        expected = dict(db.items())
    with spark_session(**_CONFS) as spark:
        _read(spark, stage, plan.store, expected)
        _stream(spark, stage, plan, expected)
        _load(spark, stage, plan)


def _read(spark: Any, stage: Stage, store: Path, expected: dict[bytes, bytes]) -> None:
    started = time.monotonic()
    frame = spark.read.format("lsm").load(str(store))
    count, size = frame.selectExpr("count(*)", "coalesce(sum(length(key) + length(value)), 0)").first()
    seconds = time.monotonic() - started
    if (count, size) != (len(expected), sum(map(len, expected.keys())) + sum(map(len, expected.values()))):
        raise Lost(f"Spark sees {count:,} pairs of {size:,} bytes, and the store has {len(expected):,}")
    stage.found(f"batch: {count:,} pairs, {size:,} bytes: all that there are, in {seconds:.1f} s")


def _stream(spark: Any, stage: Stage, plan: Plan, expected: dict[bytes, bytes]) -> None:
    changes = spark.readStream.format("lsm").option("readChangeFeed", "true").load(str(plan.store))
    sink = changes.writeStream.format("lsm").option("checkpointLocation", str(plan.directory / "bookmark"))
    sink.trigger(availableNow=True).start(str(plan.in_spark)).awaitTermination()
    with lsm.open(plan.in_spark, "r") as copy:
        found = dict(copy.items())
    if found != expected:
        raise Lost(f"in the store that Spark made of the stream {differences(expected, found)}")
    stage.found(f"stream: {len(found):,} pairs went into a second store, exactly once; both hold the same")


def _load(spark: Any, stage: Stage, plan: Plan) -> None:
    rows = plan.scaled(_ROWS)
    started = time.monotonic()
    squares = spark.range(rows).selectExpr("id AS key", "id * id AS value")
    formats = {"keyFormat": "long", "valueFormat": "long", "keyspace": _KEYSPACE}
    squares.write.format("lsm").mode("append").options(**formats).save(str(plan.in_spark))
    seconds = time.monotonic() - started
    with lsm.open(plan.in_spark, "r") as db:
        pairs = db.keyspace(_KEYSPACE, create=False).items()
        numbers = [(int.from_bytes(key), int.from_bytes(value)) for key, value in pairs]
    if numbers != [(number, number * number) for number in range(rows)]:
        raise Lost(f"{len(numbers):,} of {rows:,} rows that Spark loaded are there")
    stage.found(f"load: {rows:,} rows computed in Spark, sorted and taken over in one edit, {seconds:.1f} s")
