"""The content that a stream begins with: one moment of the store, held until Spark is done with it."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from lsm.clock import SystemClock
from lsm.column_scan import Wanted
from lsm.errors import OffsetOutOfRange
from lsm.fs_pins import pin_directory, remove_pin
from lsm.pin_record import find_pinned, write_pinned
from lsm.pins import Moment, Pinned, pin
from lsm.spark.batch import plan
from lsm.spark.feed.log import Limits
from lsm.spark.feed.offset import Held, Offset
from lsm.spark.feed.options import FeedOptions
from lsm.spark.lease import SnapshotGone
from lsm.spark.merge import read_range
from lsm.spark.partitions import Range, parts_of

logger = logging.getLogger("lsm")

_NOBODY = ""
"""Such a pin outlives the processes of a query: after a crash, the next run goes on with it."""


def hold(options: FeedOptions, log_id: str) -> Offset:
    """Hold the store as it is now; return the offset at which nothing of it was given."""
    # Before: what is committed after the moment is not older than what the rows of the moment say.
    time_us = SystemClock().now_us()
    pinned = _pin(options, None)
    return Offset(log=log_id, seq=pinned.seq, held=Held(pin=write_pinned(pinned), time_us=time_us))


def _pin(options: FeedOptions, seq: int | None) -> Pinned:
    moment = Moment(keyspace=options.read.keyspace, seq=seq)
    return pin(options.path, moment, seconds=options.read.lease_seconds, owned_by=_NOBODY)


def find(options: FeedOptions, offset: Offset) -> Pinned:
    """Return the moment that an offset speaks of, though its pin may be gone."""
    assert offset.held is not None
    pinned = find_pinned(options.path, offset.held.pin)
    if pinned is not None:
        return pinned
    with suppress(OffsetOutOfRange):
        return _pin(options, offset.seq)
    if options.fails_on_loss:
        raise SnapshotGone(
            f"{options.path}: the content at {offset.seq}, with which the stream begins, was given up after "
            f"{options.read.lease_seconds:g} seconds without use; a new checkpointLocation starts over (set "
            "leaseSeconds), failOnDataLoss=false goes on with the present content"
        )
    pinned = _pin(options, None)
    logger.warning(
        "%s: the content at %d is gone; the stream goes on with that at %d, then with changes from %d on",
        options.path,
        offset.seq,
        pinned.seq,
        offset.seq,
    )
    return pinned


def let_go(options: FeedOptions, offset: Offset) -> None:
    """Let the moment of an offset go."""
    assert offset.held is not None
    remove_pin(pin_directory(options.path, offset.held.pin))


def next_offset(options: FeedOptions, offset: Offset, limits: Limits) -> Offset:
    """Return where a micro-batch ends that begins at an offset in such content."""
    assert offset.held is not None
    if limits.rows_max is None and limits.bytes_max is None:
        return offset.reaching(None)
    pinned = find(options, offset)
    rows = _rows_max(pinned, limits)
    seen = 0
    for arrays in read_range(
        pinned, offset.held.reached, None, Wanted(values=False, seqs=False), verify=options.read.verify
    ):
        if seen + len(arrays) > rows:
            return offset.reaching(arrays.keys[rows - seen].as_py())
        seen += len(arrays)
    return offset.reaching(None)


def _rows_max(pinned: Pinned, limits: Limits) -> int:
    """Return a limit in rows; bytes are taken to be spread evenly."""
    tables = [table for run in pinned.runs for table in run.tables]
    entries = sum(table.entries for table in tables)
    size_bytes = sum(table.key_bytes + table.value_bytes for table in tables)
    found = entries + 1 if limits.rows_max is None else limits.rows_max
    if limits.bytes_max is not None and size_bytes:
        found = min(found, limits.bytes_max * entries // size_bytes)
    return max(1, found)


def ranges(options: FeedOptions, start: Offset, end: Offset) -> Iterator[tuple[Pinned, Range]]:
    """Yield what tasks read of the content between two offsets."""
    if not start.is_in_snapshot:
        return
    assert start.held is not None
    pinned = find(options, start)
    stop = end.held.reached if end.held is not None and end.is_in_snapshot else None
    whole = replace(options.read, start=start.held.reached or None, stop=stop)
    parts = parts_of(pinned.size_bytes, target_bytes=whole.target_bytes, parts=whole.partitions)
    for keys in plan(pinned.within(whole.start, whole.stop), whole, parts):
        yield pinned, keys
