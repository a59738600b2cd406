"""The stream of changes, as Spark drives it: offsets in a process of the driver, reading in executors.

Spark writes the end of a micro-batch into its checkpoint before it runs, and after a crash asks for the same
range again.  What we keep for that, besides the log: the named consumer, and the content that the stream
begins with.
"""

import logging
from collections.abc import Iterator
from typing import Final, Literal, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from lsm.clock import SystemClock
from lsm.errors import Error
from lsm.spark.errors import one_line, one_line_each
from lsm.spark.feed import snapshot
from lsm.spark.feed.log import FeedLog, Limits
from lsm.spark.feed.offset import Offset
from lsm.spark.feed.options import FeedOptions
from lsm.spark.feed.planning import Span
from lsm.spark.feed.reading import HeldPartition, check_keyspace_of, read_partition, span_partitions
from lsm.spark.feed.rows import FeedRows, check_feed_schema
from lsm.spark.feed.slot import Slot

logger = logging.getLogger("lsm")

_LOOK_AGAIN_SECONDS: Final = 5.0
"""While nothing comes: the directory may have been replaced by another one."""
_ALL: Final = Limits(None, None)

Json = dict[str, object]


class RefusedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # optional, so it has no type here
    """A stream that cannot be: raises at the first question.

    What is raised while a reader is made, Spark 4.3 replaces by an error of its own about a variable.
    """

    def __init__(self, error: Error) -> None:
        self._error = error

    @one_line
    def _refuse(self, *args: object) -> NoReturn:
        raise self._error

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: N802 - Spark's name
        """Raise."""
        self._refuse()

    initialOffset = prepareForTriggerAvailableNow = partitions = read = _refuse  # noqa: N815 - Spark's names


class FeedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]  # optional, so it has no type here
    """Hands out ranges of a log, and before them, if no start was named, the content of the store."""

    def __init__(self, schema: StructType, options: FeedOptions) -> None:
        check_feed_schema(schema, options.read)
        self._schema = schema
        self._options = options
        # Nothing is opened here: Spark also makes readers only to send them to executors.
        self._log: FeedLog | None = None
        self._opened_at = 0.0
        self._slot: Slot | None = None
        self._first: Offset | None = None
        self._last_of_run: int | None = None

    # Offsets

    @one_line
    def initialOffset(self) -> Json:  # noqa: N802 - Spark's name
        """Return where a new query begins; asked twice for one."""
        if self._first is None:
            self._first = self._begin()
        return self._first.to_json()

    def _begin(self) -> Offset:
        options = self._options
        log = self._opened()
        check_keyspace_of(log, options)
        if options.start is None:
            # First: what comes after the moment must be in the log when it is asked for.
            self._claim("latest")
            return snapshot.hold(options, log.id)
        since = log.since(options.start, fails_on_loss=options.fails_on_loss)
        self._claim(since)
        return Offset(log=log.id, seq=since)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return what the options say; Spark knows one kind at a time, so the other is looked at here."""
        if self._options.rows_max is not None:
            return ReadMaxRows(self._options.rows_max)
        if self._options.bytes_max is not None:
            return ReadMaxBytes(self._options.bytes_max)
        return ReadAllAvailable()

    @one_line
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Note what is there: this run reads that and no more."""
        self._last_of_run = self._opened().latest()

    @one_line
    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # noqa: N802 - Spark's name
        """Return where the next micro-batch ends; `start` itself if there is nothing new."""
        offset = Offset.of(start)
        last = self._checked(offset)
        limits = self._limits(limit)
        if offset.is_in_snapshot:
            return snapshot.next_offset(self._options, offset, limits).to_json()
        if self._last_of_run is not None:
            last = min(last, self._last_of_run)
        if last <= offset.seq:
            self._look_again_soon()
            return start
        log = self._opened()
        span = self._retained(log, Span(offset.seq, last))
        return Offset(log=log.id, seq=log.limited(span, limits)).to_json()

    def _limits(self, limit: ReadLimit) -> Limits:
        if isinstance(limit, ReadAllAvailable):
            return _ALL
        rows_max, bytes_max = self._options.rows_max, self._options.bytes_max
        if isinstance(limit, ReadMaxRows):
            rows_max = limit.max_rows
        if isinstance(limit, ReadMaxBytes):
            bytes_max = limit.max_bytes
        return Limits(rows_max, bytes_max)

    @one_line
    def reportLatestOffset(self) -> Json:  # noqa: N802 - Spark's name
        """Return how far the log goes now, for reports of progress."""
        log = self._opened()
        last = log.latest()
        return Offset(log=log.id, seq=last).to_json()

    @one_line
    def commit(self, end: Json) -> None:
        """Hear that Spark is done with everything up to `end`: what was held for it can go."""
        offset = Offset.of(end)
        if self._slot is not None:
            self._slot.commit(offset.seq, self._opened().epoch_of(offset.seq))
        if offset.held is not None and offset.held.is_done:
            snapshot.let_go(self._options, offset)

    def stop(self) -> None:
        """Give back what is open; Spark may also just end the process."""
        if self._slot is not None:
            self._slot.close()
        if self._log is not None:
            self._log.close()
        self._slot = self._log = None

    # Reading

    @one_line
    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        """Return what tasks read of one micro-batch."""
        begin, stop = Offset.of(start), Offset.of(end)
        self._checked(begin)
        log = self._opened()
        last = log.latest()
        log.check(stop, last)
        check_keyspace_of(log, self._options)
        found: list[InputPartition] = []
        for pinned, keys in snapshot.ranges(self._options, begin, stop):
            assert begin.held is not None
            part = pinned.within(keys.start, keys.stop)
            found.append(HeldPartition(part, keys.start, keys.stop, begin.seq, begin.held.time_us))
        span = Span(begin.seq, stop.seq)
        kept = self._retained(log, span)
        if kept.since > span.since:
            logger.warning(
                "%s: %d changes were lost, %d to %d: they are no longer in the log, which holds %d to %d",
                self._options.path,
                kept.since - span.since,
                span.since + 1,
                kept.since,
                log.earliest(),
                last,
            )
        return found + span_partitions(log, self._options, kept)

    @one_line_each
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        yield from read_partition(partition, self._options, FeedRows(self._schema, self._options.read))

    # What is held

    def _opened(self) -> FeedLog:
        if self._log is None:
            self._log = FeedLog(self._options.path)
            self._opened_at = SystemClock().monotonic()
        return self._log

    def _look_again_soon(self) -> None:
        if self._log is not None and SystemClock().monotonic() > self._opened_at + _LOOK_AGAIN_SECONDS:
            self._log.close()
            self._log = None

    def _checked(self, offset: Offset) -> int:
        """Make sure that an offset belongs to this log, and that the log waits for us; return its end."""
        log = self._opened()
        last = log.latest()
        log.check(offset, last)
        if self._slot is None and self._options.consumer is not None:
            kept = self._retained(log, Span(offset.seq, last))
            self._claim(kept.since)
        return last

    def _claim(self, position: int | Literal["latest"]) -> None:
        if self._options.consumer is not None and self._slot is None:
            self._slot = Slot(self._options.path, self._options.consumer, position)

    def _retained(self, log: FeedLog, span: Span) -> Span:
        """Return what of a span is still in the log; raise if not all is, unless that is wanted."""
        if self._options.fails_on_loss:
            log.refuse_loss(span)
        return Span(span.since + log.lost(span), span.until)
