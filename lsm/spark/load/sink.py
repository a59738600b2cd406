"""`df.writeStream.format("lsm").start(path)`: every batch once, whatever crashes.

Spark may give a batch again after a crash, under the same number.  The id of the query and that number are
part of the edit that takes the batch over, so the second time adds nothing.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lsm.spark.errors import one_line
from lsm.spark.load.loading import Loading, StagedPart
from lsm.spark.load.options import WriteOptions


class LsmSink(DataSourceStreamArrowWriter):  # type: ignore[misc]  # optional, so it has no type here
    """Writes one batch of a stream.  Spark makes one for the tasks, and another for `commit` or `abort`."""

    def __init__(self, schema: StructType, options: WriteOptions, *, overwrite: bool) -> None:
        self._loading = Loading(schema, options, replaces=overwrite)

    @one_line
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one partition; runs in an executor."""
        return self._loading.write(iterator)

    @one_line
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Have the batch taken over, unless it was there before; runs in the driver."""
        parts = [message for message in messages if isinstance(message, StagedPart)]
        query = self._loading.options.app_id or next((part.query for part in parts if part.query), None)
        if query is not None:  # else no task has run
            self._loading.hand_over(parts, (query, batchId))
        self._loading.clean_up(parts)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  # Spark's name
        """Remove what was staged; runs in the driver."""
        self._loading.clean_up([message for message in messages if isinstance(message, StagedPart)])
