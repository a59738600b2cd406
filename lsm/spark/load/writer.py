"""`df.write.format("lsm").mode("append" | "overwrite").save(path)`."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lsm.spark.errors import one_line
from lsm.spark.load.loading import Loading, StagedPart
from lsm.spark.load.options import WriteOptions


class LsmWriter(DataSourceArrowWriter):  # type: ignore[misc]  # optional, so it has no type here
    """Writes one DataFrame into a store, all of it or nothing."""

    def __init__(self, schema: StructType, options: WriteOptions, *, overwrite: bool) -> None:
        self._loading = Loading(schema, options, replaces=overwrite)

    @one_line
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage the rows of one partition; runs in an executor."""
        return self._loading.write(iterator)

    @one_line
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Have everything taken over; runs in the driver when every task has succeeded."""
        parts = [message for message in messages if isinstance(message, StagedPart)]
        self._loading.hand_over(parts, self._loading.options.transaction)
        self._loading.clean_up()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what was staged; runs in the driver, also after a commit that failed."""
        self._loading.clean_up()
