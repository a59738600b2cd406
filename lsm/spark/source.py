"""What Spark asks for when it meets the format "lsm"."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from lsm.errors import Error
from lsm.pins import Pinned
from lsm.spark.batch import LsmReader, pin_all
from lsm.spark.catalog import for_catalog, from_catalog, is_for_catalog
from lsm.spark.errors import one_line
from lsm.spark.feed.batch import FeedReader
from lsm.spark.feed.options import feed_options, is_feed, without_feed
from lsm.spark.feed.rows import feed_schema
from lsm.spark.feed.stream import FeedStreamReader, RefusedStream
from lsm.spark.formats import schema_of
from lsm.spark.load.options import write_options
from lsm.spark.load.sink import LsmSink
from lsm.spark.load.writer import LsmWriter
from lsm.spark.options import TIMESTAMP, read_options


class LsmDataSource(DataSource):  # type: ignore[misc]  # optional, so it has no type here
    """Stores as tables: `spark.read.format("lsm").load(path)`.

    Spark makes one of these for every load, asks it for the schema, and keeps it, pickled, with the
    DataFrame.  So the moment that is pinned with the schema is the one that every query of it shows.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._pins: tuple[Pinned, ...] | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "lsm"

    @one_line
    def schema(self) -> StructType:
        """Return the columns of a load, and hold the moment it shows."""
        if is_feed(self.options):
            return self._noted(feed_schema(feed_options(self.options).read))
        options = read_options(without_feed(self.options))
        schema = schema_of(options)
        if is_for_catalog(self.options):
            return self._noted(schema)
        self._pins = pin_all(options, with_times=TIMESTAMP in schema.names)
        return schema

    @one_line
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        options = from_catalog(schema) | dict(self.options)
        if is_feed(options):
            return FeedReader(schema, feed_options(options, is_stream=False))
        return LsmReader(schema, read_options(without_feed(options)), self._pins)

    @one_line
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """Return the reader of a stream, which is one of changes."""
        options = from_catalog(schema) | dict(self.options)
        try:
            return FeedStreamReader(schema, feed_options(options, is_stream=True))
        except Error as error:
            return RefusedStream(error)

    def _noted(self, schema: StructType) -> StructType:
        return for_catalog(schema, self.options) if is_for_catalog(self.options) else schema

    @one_line
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return the writer of a batch."""
        options = write_options(from_catalog(schema) | dict(self.options))
        return LsmWriter(schema, options, overwrite=overwrite)

    @one_line
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802  # Spark's name
        """Return the writer of one batch of a stream."""
        return LsmSink(schema, write_options(self.options, is_stream=True), overwrite=overwrite)
