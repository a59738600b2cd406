"""Speed of reading a store into Spark, beside Parquet with the same rows and RocksDB through Python."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

import lsm
import lsm.spark
from bench.data import Data, cut
from bench.measure import Spread
from bench.progress import Bar
from bench.settings import MIB
from bench.spark.feed import measure_feed
from bench.spark.load import LoadRates, measure_load
from bench.spark.settings import SparkSettings
from lsm.spark.measure import touched

PARQUET = "parquet, both columns"
COMPACTED = "lsm compacted, both columns"
OVERLAPPING = "lsm two overlapping levels, both columns"
KEYS_ONLY = "lsm compacted, key only"
ROCKS = "RocksDB iterated into createDataFrame"
TARGETS = {COMPACTED: 0.9, OVERLAPPING: 0.6, KEYS_ONLY: 1.2}
"""Rates that are wanted, as shares of Parquet's."""
ROCKS_TARGET = 8.0
TOUCHED_TARGET = 0.01
RANGE_SHARE = 0.001
_BATCH = 10_000
_BOTH = ("sum(length(key))", "sum(length(value))")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkResult:
    """All that `spark` measures."""

    rates: dict[str, Spread]
    """Rows a second."""
    range_rows: int
    range_bytes: int
    store_bytes: int
    feed: Spread
    """Changes a second inside a micro-batch."""
    load: LoadRates
    rocks_rows: int = 0
    notes: list[str] = field(default_factory=list)

    def ratio(self, name: str) -> float:
        """Return a rate as a share of Parquet's."""
        return self.rates[name].median / self.rates[PARQUET].median

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "ratios": {name: self.ratio(name) for name in TARGETS}, "targets": TARGETS}


def measure_spark(settings: SparkSettings, data: Data, bar: Bar) -> SparkResult:
    """Measure everything, in rounds, so that what else the machine does meets all alike."""
    bar.start(6 + settings.warm_ups + settings.repeats)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name, _session() as spark:
        place = Path(name)
        bar.step("build two stores")
        numbers = np.arange(data.count)
        _build(place / "compacted", data, [numbers])
        _build(place / "overlapping", data, [numbers[::2], numbers[1::2]])
        bar.step("write Parquet")
        _load(spark, place / "compacted").write.parquet(str(place / "parquet"))
        queries = _queries(spark, place, data)
        for number in range(settings.warm_ups):
            bar.step(f"warm up, round {number + 1}")
            for query in queries.values():
                query()
        seconds: dict[str, list[float]] = {name: [] for name in queries}
        for number in range(settings.repeats):
            bar.step(f"measure, round {number + 1}")
            for name, query in queries.items():
                seconds[name].append(_timed(query))
        bar.step("RocksDB")
        rates = {name: Spread.of(data.count / one for one in found) for name, found in seconds.items()}
        rocks_rows = min(settings.rocks_rows, data.count)
        rocks = _rocks(spark, place / "rocks", data, rocks_rows)
        if rocks is not None:
            rates[ROCKS] = rocks
        bar.step("bytes of a small range")
        first = data.count // 2
        seen = touched(
            str(place / "compacted"),
            startKey=data.key(first).decode(),
            endKey=data.key(first + max(1, int(data.count * RANGE_SHARE))).decode(),
        )
        bar.step("change feed")
        feed = measure_feed(spark, place, data, settings)
        bar.step("bulk load")
        load = measure_load(spark, place, data.count, settings)
        return SparkResult(
            rates=rates,
            feed=feed,
            load=load,
            range_rows=seen.rows,
            range_bytes=seen.read_bytes,
            store_bytes=seen.store_bytes,
            rocks_rows=rocks_rows if rocks is not None else 0,
        )


@contextmanager
def _session() -> Iterator[Any]:
    """Give a session for the length of the measurement; one that is there already is left running."""
    is_ours = SparkSession.getActiveSession() is None
    spark = lsm.spark.session(
        **{
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.driver.memory": "4g",
            "spark.sql.shuffle.partitions": "2",
        }
    )
    try:
        spark.sparkContext.setLogLevel("OFF")
        yield spark
    finally:
        if is_ours:
            spark.stop()
            lsm.spark.release()


def _queries(spark: Any, place: Path, data: Data) -> dict[str, Callable[[], object]]:
    parquet = spark.read.parquet(str(place / "parquet"))
    keys = _load(spark, place / "compacted", columns="key")
    expected = (data.count * data.key_bytes, data.count * data.value_bytes)
    return {
        PARQUET: _aggregate(parquet, expected),
        COMPACTED: _aggregate(_load(spark, place / "compacted"), expected),
        OVERLAPPING: _aggregate(_load(spark, place / "overlapping"), expected),
        KEYS_ONLY: _aggregate(keys, expected[:1]),
    }


def _aggregate(frame: Any, expected: tuple[int, ...]) -> Callable[[], object]:
    def run() -> object:
        # A new query every time: of one that has run, Spark keeps what it has shuffled.
        (row,) = frame.selectExpr(*_BOTH[: len(expected)]).collect()
        assert tuple(row) == expected, f"read {tuple(row)} where {expected} was due"
        return row

    return run


def _load(spark: Any, path: Path, **options: str) -> Any:
    return spark.read.format("lsm").options(**options).load(str(path))


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _build(path: Path, data: Data, levels: list[NDArray[np.int64]]) -> None:
    """Fill a store, the first numbers compacted, every further part flushed over it."""
    random = data.random(1)
    with lsm.open(path, "n", memtable_bytes_max=256 * MIB, l0_tables_max=1000, **_NO_LIMITS) as db:
        for level, numbers in enumerate(levels):
            for part in np.array_split(numbers, max(1, len(numbers) // 100_000)):
                for keys, values in cut((data.keys(part), _values(data, random, len(part))), _BATCH):
                    db.update(zip(keys, values, strict=True), sync=False)
            if level == 0:
                db.compact()
            else:
                db.flush()


_NO_LIMITS: dict[str, int] = {"l0_tables_slow": 2000, "l0_tables_stop": 3000}


def _values(data: Data, random: np.random.Generator, count: int) -> list[bytes]:
    """Return values that nothing can shorten: else Parquet would read less than we do."""
    pool, size = random.bytes(count * data.value_bytes), data.value_bytes
    return [pool[at : at + size] for at in range(0, count * size, size)]


def _rocks(spark: Any, path: Path, data: Data, rows: int) -> Spread | None:
    """Return rows a second of what there is without a data source; None without RocksDB."""
    try:
        import rocksdict
    except ImportError:
        return None
    options = rocksdict.Options(raw_mode=True)
    db = rocksdict.Rdict(str(path), options)
    try:
        for key, value in _rows(data, rows):
            db[key] = value
        db.flush()

        def run() -> object:
            pairs = list(db.items())
            return spark.createDataFrame(pairs, "key binary, value binary").selectExpr(*_BOTH).collect()

        run()
        return Spread.of(rows / _timed(run) for _ in range(3))
    finally:
        db.close()


def _rows(data: Data, rows: int) -> Iterator[tuple[bytes, bytes]]:
    return zip(*data.pairs(np.arange(rows)), strict=True)
