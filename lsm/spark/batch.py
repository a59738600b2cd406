"""The batch reader: plans ranges in the driver, reads them in executors."""

import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lsm.caches import naming
from lsm.pins import Moment, Pinned
from lsm.spark.errors import one_line, one_line_each
from lsm.spark.formats import Decoder, check_schema, wanted_by
from lsm.spark.lease import take
from lsm.spark.merge import OpenRun, open_runs, read_range
from lsm.spark.options import TIMESTAMP, ReadOptions
from lsm.spark.partitions import Range, Weight, cut, parts_of
from lsm.spark.times import Times

_STEPS_A_PARTITION = 32
"""A partition is cut to about this part of its size."""


@dataclass(slots=True)
class RangePartition(InputPartition):  # type: ignore[misc]  # optional, so it has no type here
    """One range of one store: all that an executor needs."""

    pinned: Pinned
    start: bytes | None
    stop: bytes | None
    value: object = field(default=None, repr=False)  # what the base class has

    @staticmethod
    def of(pinned: Pinned, keys: Range) -> "RangePartition":
        """Return a range, with tables left out that have no key in it."""
        return RangePartition(pinned.within(keys.start, keys.stop), keys.start, keys.stop)


def pin_all(options: ReadOptions, *, with_times: bool) -> tuple[Pinned, ...]:
    """Hold the moment that a read is to show, of every store that it names."""
    moment = Moment(
        keyspace=options.keyspace,
        start=options.start,
        stop=options.stop,
        seq=options.version,
        with_times=with_times,
    )
    pins: list[Pinned] = []
    try:
        for path in options.paths:
            pins.append(take(_source(path, options), moment, seconds=options.lease_seconds))
    except BaseException:
        for pinned in pins:
            pinned.release()
        raise
    return tuple(pins)


def _source(path: str, options: ReadOptions) -> str:
    """Return the directory to read: the store, or a checkpoint of it."""
    return path if options.snapshot is None else os.path.join(path, options.snapshot)


class LsmReader(DataSourceReader):  # type: ignore[misc]  # optional, so it has no type here
    """Reads stores as they were at one moment.

    It has no `pushFilters`: Spark keeps the plan of one filtered query for every other query on the same
    DataFrame, which then miss rows (tests/spark/test_push_filters.py).  Options say ranges instead.
    """

    def __init__(self, schema: StructType, options: ReadOptions, pins: tuple[Pinned, ...] | None) -> None:
        check_schema(schema, options)
        self._schema = schema
        self._options = options
        self._pins = pins

    @one_line
    def partitions(self) -> list[InputPartition]:
        """Cut the range that was asked for; asked once for every load."""
        pins = self._pins
        if pins is None or any(not pinned.is_held() for pinned in pins):
            pins = pin_all(self._options, with_times=TIMESTAMP in self._schema.names)
        total = sum(pinned.size_bytes for pinned in pins)
        parts = parts_of(total, target_bytes=self._options.target_bytes, parts=self._options.partitions)
        found: list[InputPartition] = []
        for pinned in pins:
            share = max(1, round(parts * pinned.size_bytes / total)) if total else 1
            found += [RangePartition.of(pinned, keys) for keys in plan(pinned, self._options, share)]
        return found

    @one_line_each
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one range."""
        if not isinstance(partition, RangePartition):
            return  # Spark's own, in place of none
        freeze_once()
        pinned = partition.pinned
        times = Times(pinned.directory) if TIMESTAMP in self._schema.names else None
        decoder = Decoder(self._schema, self._options, pinned.store, times)
        wanted = wanted_by(self._schema)
        for arrays in read_range(
            pinned, partition.start, partition.stop, wanted, verify=self._options.verify
        ):
            yield decoder.batch(arrays)


def plan(pinned: Pinned, options: ReadOptions, parts: int) -> list[Range]:
    """Return up to `parts` ranges that together are what was asked for; none where there is nothing."""
    whole = Range(options.start, options.stop)
    if not pinned.runs or (whole.start is not None and whole.stop is not None and whole.start >= whole.stop):
        return []
    if parts == 1:
        return [whole]
    step = max(1, pinned.size_bytes // (parts * _STEPS_A_PARTITION))
    with open_runs(pinned, verify=True) as runs:
        return cut(whole, [weight for run in runs for weight in _weights(run, whole, step)], parts)


def _weights(run: OpenRun, whole: Range, step: int) -> Iterator[Weight]:
    for handle in run:
        meta = handle.meta
        with naming(handle.path):
            keys = [*handle.table().split_keys(max(1, meta.size_bytes // step)), meta.largest + b"\0"]
        for key in keys:
            if (whole.start is None or key > whole.start) and (whole.stop is None or key <= whole.stop):
                yield Weight(key, meta.size_bytes // len(keys))


_is_frozen = False


def freeze_once() -> None:
    """Spare the garbage collector, which Spark calls after every task, what was imported once for all."""
    global _is_frozen
    if not _is_frozen:
        gc.collect()
        gc.freeze()
        _is_frozen = True
