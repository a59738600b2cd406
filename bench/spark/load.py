"""Speed of a bulk load from Spark, beside writing the same rows as Parquet, both split and sorted by key."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import lsm.spark
from bench.measure import Spread
from bench.spark.settings import SparkSettings

TARGET = 0.7
"""Rate that is wanted, as a share of Parquet's."""
_PARTITIONS = 8


class LoadRates(NamedTuple):
    """Rows a second."""

    parquet: Spread
    ours: Spread

    @property
    def ratio(self) -> float:
        """Our rate as a share of Parquet's."""
        return self.ours.median / self.parquet.median


def measure_load(spark: Any, place: Path, rows: int, settings: SparkSettings) -> LoadRates:
    """Load the Parquet file at `place` into new stores and new Parquet files, in turns."""
    source = str(place / "parquet")

    def as_parquet(target: Path) -> None:
        frame = spark.read.parquet(source).repartitionByRange(_PARTITIONS, "key")
        frame.sortWithinPartitions("key").write.parquet(str(target))

    def as_store(target: Path) -> None:
        lsm.spark.bulk_load(spark.read.parquet(source), target, partitions=_PARTITIONS)

    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(settings.warm_ups + settings.repeats):
        for work, found in zip((as_parquet, as_store), seconds, strict=True):
            found.append(_timed(work, place / "loaded"))
    parquet, ours = (Spread.of(rows / one for one in found[settings.warm_ups :]) for found in seconds)
    return LoadRates(parquet, ours)


def _timed(work: Callable[[Path], None], target: Path) -> float:
    started = time.perf_counter()
    work(target)
    seconds = time.perf_counter() - started
    shutil.rmtree(target)
    return seconds
