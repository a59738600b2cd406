"""How much of a store a load reads: the same plan and the same reads, in this process and counted."""

from typing import NamedTuple

from lsm.column_scan import Wanted
from lsm.fs_types import Cause, IoCounters
from lsm.spark.batch import pin_all, plan
from lsm.spark.merge import read_range
from lsm.spark.options import VALUE, read_options


class Touched(NamedTuple):
    """What a load reads, and what there is."""

    rows: int
    read_bytes: int
    """Of blocks of tables."""
    store_bytes: int
    """Of all tables of the keyspace."""


def touched(path: str, **options: str) -> Touched:
    """Count what `spark.read.format("lsm").options(**options).load(path)` would read."""
    everything = read_options({"path": path} | {k: v for k, v in options.items() if k == "keyspace"})
    asked = read_options({"path": path, **options})
    counters = IoCounters()
    rows = 0
    (whole,) = pin_all(everything, with_times=False)
    try:
        (pinned,) = pin_all(asked, with_times=False)
        try:
            for keys in plan(pinned, asked, asked.partitions or 1):
                part = pinned.within(keys.start, keys.stop)
                wanted = Wanted(values=VALUE in asked.columns)
                for arrays in read_range(
                    part, keys.start, keys.stop, wanted, verify=asked.verify, counters=counters
                ):
                    rows += len(arrays)
        finally:
            pinned.release()
        return Touched(rows, counters.snapshot().read[Cause.READ], whole.size_bytes)
    finally:
        whole.release()
