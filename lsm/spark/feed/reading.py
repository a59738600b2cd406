"""What executors do: read a span of the log, or a range of the content that a stream begins with."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

import lsm
from lsm.column_scan import Wanted
from lsm.errors import ForeignLog
from lsm.log.entries import Change, ChangeColumns
from lsm.log.stream import ChangeStream, check_keyspace
from lsm.log.stream import Span as LogSpan
from lsm.pins import Pinned
from lsm.spark.feed.log import FeedLog
from lsm.spark.feed.offset import Offset
from lsm.spark.feed.options import FeedOptions
from lsm.spark.feed.planning import Span, cut
from lsm.spark.feed.rows import FeedRows
from lsm.spark.merge import read_range
from lsm.spark.partitions import parts_of

logger = logging.getLogger("lsm")

_CHUNK = 4096


@dataclass(slots=True)
class SpanPartition(InputPartition):  # type: ignore[misc]  # optional, so it has no type here
    """Changes of one log: what a task reads."""

    log: str
    span: Span
    value: object = field(default=None, repr=False)  # what the base class has


@dataclass(slots=True)
class HeldPartition(InputPartition):  # type: ignore[misc]  # optional, so it has no type here
    """A range of the content that a stream begins with."""

    pinned: Pinned
    start: bytes | None
    stop: bytes | None
    seq: int
    time_us: int
    value: object = field(default=None, repr=False)  # what the base class has


def span_partitions(log: FeedLog, options: FeedOptions, span: Span) -> list[InputPartition]:
    """Cut a span of the log for tasks; what is lost was found out before."""
    span = Span(max(span.since, min(log.earliest() - 1, span.until)), span.until)
    read = options.read
    # Values that were replaced are looked up from the start of a segment on, so tasks share none.
    whole = log.stretches(span, by_segment=True)
    total = sum(stretch.size_bytes for stretch in whole)
    parts = parts_of(total, target_bytes=read.target_bytes, parts=read.partitions)
    stretches = whole if parts == 1 or options.preimages else log.stretches(span)
    return [SpanPartition(log.id, one) for one in cut(span, stretches, parts)]


def check_keyspace_of(log: FeedLog, options: FeedOptions) -> None:
    """Raise unless the store has the keyspace."""
    check_keyspace(log.source, options.read.keyspace)


def read_partition(
    partition: InputPartition, options: FeedOptions, rows: FeedRows
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task."""
    if isinstance(partition, HeldPartition):
        wanted = Wanted(values=True, seqs=False)
        for arrays in read_range(
            partition.pinned, partition.start, partition.stop, wanted, verify=options.read.verify
        ):
            yield rows.of_snapshot(arrays, partition.seq, partition.time_us)
    elif isinstance(partition, SpanPartition):  # else it is Spark's own, in place of none
        if options.preimages:
            yield from _with_preimages(partition, options, rows)
        else:
            yield from rows.of_changes(_changes(partition, options))


def _changes(partition: SpanPartition, options: FeedOptions) -> Iterator[ChangeColumns]:
    """Yield exactly the changes of a span, or raise."""
    with FeedLog(options.path) as log:
        since, until = _still_there(log, partition, options)
        for is_settled in (False, True):
            if is_settled:
                # What the driver has made durable itself, the writer may not have published yet.
                log.source.settle()
            stream = ChangeStream(
                log.source,
                log.tables,
                LogSpan(since=since, until=until, keyspace=options.read.keyspace),
            )
            yield from stream.columns()
            since = max(since, stream.position)
            if since >= until:
                return
        log.check(Offset(log=partition.log, seq=until), since)


def _still_there(log: FeedLog, partition: SpanPartition, options: FeedOptions) -> Span:
    since, until = partition.span
    # The end is not asked for here: that costs a look at the log, and reading it will tell.
    log.check(Offset(log=partition.log, seq=until), until)
    lost = log.lost(partition.span)
    if lost:
        if options.fails_on_loss:
            log.refuse_loss(partition.span)
        logger.warning("%s: %d changes after %d have left the log meanwhile", options.path, lost, since)
    return Span(since + lost, until)


def _with_preimages(
    partition: SpanPartition, options: FeedOptions, rows: FeedRows
) -> Iterator[pa.RecordBatch]:
    with FeedLog(options.path) as log:
        since, until = _still_there(log, partition, options)
    with lsm.open(options.path, "r") as db:
        changes = db.changes(since, until, keyspace=options.read.keyspace, before=True)
        last = None
        for commits in chunks(changes, _CHUNK):
            last = commits[-1]
            batch = rows.of_pairs(commits)
            if batch is not None:
                yield batch
        if db.seq < until:
            raise ForeignLog(
                f"{options.path}: the log ends at {db.seq}, but was read up to {until} before"
                + ("" if last is None else f" ({last.seq} was the last change)")
            )


def chunks(changes: Iterator[Change], count: int) -> Iterator[list[Change]]:
    """Yield about `count` changes at a time, and whole commits."""
    waiting: list[Change] = []
    while taken := list(islice(changes, count)):
        waiting += taken
        at = _start_of_last(waiting)
        if at:
            yield waiting[:at]
            waiting = waiting[at:]
    if waiting:
        yield waiting


def _start_of_last(changes: list[Change]) -> int:
    """Return where the last commit begins, of which more may come."""
    first = changes[-1].batch_first_seq
    at = len(changes)
    while at and changes[at - 1].batch_first_seq == first:
        at -= 1
    return at
