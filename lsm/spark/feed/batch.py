"""A batch of changes: from one version to another."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lsm.errors import InvalidArgument
from lsm.spark.errors import one_line, one_line_each
from lsm.spark.feed.log import FeedLog
from lsm.spark.feed.options import FeedOptions
from lsm.spark.feed.planning import Span
from lsm.spark.feed.reading import check_keyspace_of, read_partition, span_partitions
from lsm.spark.feed.rows import FeedRows, check_feed_schema


class FeedReader(DataSourceReader):  # type: ignore[misc]  # optional, so it has no type here
    """Reads the changes of a range of versions, both ends included."""

    def __init__(self, schema: StructType, options: FeedOptions) -> None:
        check_feed_schema(schema, options.read)
        self._schema = schema
        self._options = options

    @one_line
    def partitions(self) -> list[InputPartition]:
        """Cut the range that was asked for; asked once for every load, so the end stays what it is now."""
        options = self._options
        assert options.start is not None
        with FeedLog(options.path) as log:
            check_keyspace_of(log, options)
            span = Span(log.since(options.start, fails_on_loss=options.fails_on_loss), log.until(options.end))
            if span.until < span.since and options.end is not None and not isinstance(options.start, str):
                raise InvalidArgument(f"the end, {options.end}, lies before the start, {options.start}")
            return span_partitions(log, options, span)

    @one_line_each
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the changes of one span."""
        yield from read_partition(partition, self._options, FeedRows(self._schema, self._options.read))
