"""Speed of the change feed in Spark: changes a second inside one micro-batch that has all of them."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

import lsm
from bench.data import Data
from bench.measure import Spread
from bench.settings import MIB
from bench.spark.settings import SparkSettings

TARGET = 2_000_000
"""Changes a second that are wanted."""
_COMMIT = 1000
_SECONDS_MAX = 600


def measure_feed(spark: Any, place: Path, data: Data, settings: SparkSettings) -> Spread:
    """Return changes a second, over as many runs of a stream as there are rounds, after some to warm up."""
    _build(place / "log", data)
    rates = []
    for _ in range(settings.warm_ups + settings.repeats):
        rates.append(_run(spark, place, data.count))
    return Spread.of(rates[settings.warm_ups :])


def _build(path: Path, data: Data) -> None:
    """Fill a store that keeps its whole log, a thousand puts a commit."""
    random = data.random(2)
    with lsm.open(path, "n", memtable_bytes_max=64 * MIB, log_retention="all") as db:
        for first in range(0, data.count, _COMMIT):
            numbers = np.arange(first, min(first + _COMMIT, data.count))
            size = data.value_bytes
            pool = random.bytes(len(numbers) * size)
            values = [pool[at : at + size] for at in range(0, len(pool), size)]
            db.update(zip(data.keys(numbers), values, strict=True), sync=False)


def _run(spark: Any, place: Path, count: int) -> float:
    checkpoint = place / "feed-checkpoint"
    options = {"readChangeFeed": "true", "startingVersion": "earliest"}
    stream = spark.readStream.format("lsm").options(**options).load(str(place / "log"))
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(_SECONDS_MAX), "the stream did not end"
        (batch,) = (progress for progress in query.recentProgress if progress["numInputRows"])
    finally:
        query.stop()
        shutil.rmtree(checkpoint, ignore_errors=True)
    assert batch["numInputRows"] == count, f"read {batch['numInputRows']} changes where {count} were due"
    return float(count / batch["durationMs"]["addBatch"] * 1000)
