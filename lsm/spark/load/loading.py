"""What a batch write and a stream sink share: a job in the inbox, staged tables, one handing over."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from lsm.adoption.job import Job, Outcome
from lsm.adoption.sorting import Run, Sorter, Staging, merged
from lsm.adoption.submit import Target, hand_over, look_at
from lsm.clock import SystemClock
from lsm.errors import Error, typed_errors
from lsm.fs import OsFileSystem, open_directory
from lsm.fs_inbox import give_up, make_job, sweep_jobs
from lsm.fs_pins import renew
from lsm.spark.batch import freeze_once
from lsm.spark.load.options import WriteOptions
from lsm.spark.load.rows import RowEncoder

_CHUNK_BYTES: Final = 128 * 1024 * 1024
"""What a task holds of its rows before it sorts and writes them."""


class LoadGone(Error, LookupError):
    """The place of a load was removed while it was being written."""


@dataclass(frozen=True, slots=True)
class StagedPart(WriterCommitMessage):  # type: ignore[misc]  # optional, so it has no type here
    """What one task has staged."""

    directory: str
    partition: int
    tables: Run
    query: str | None
    """Of a stream: its id, the same after a restart."""


class Loading:
    """One load.  The driver makes it; it travels to the tasks, and back to the driver."""

    def __init__(self, schema: StructType, options: WriteOptions, *, replaces: bool) -> None:
        """Check what was asked for, and make the place where tasks write to."""
        self.options = options
        self._schema = schema
        self._replaces = replaces
        self._is_ordered = RowEncoder(schema, options).is_ordered
        self._target: Target = look_at(options.path)
        mark, transaction = options.query_mark, options.transaction
        self.is_repeated = (
            transaction is not None and self._target.transactions.get(transaction[0], -1) >= transaction[1]
        )
        sweep_jobs(options.path)
        self._prefix = f"stream-{mark}-" if mark else f"load-{token_hex(8)}"
        with typed_errors(options.path, "making a place for a load"):
            made = make_job(options.path, self._prefix + (token_hex(8) if mark else ""), owned_by="java")
        self._directory = made.name
        made.close()

    def write(self, batches: Iterator[pa.RecordBatch]) -> StagedPart:
        """Stage the rows of one task."""
        freeze_once()
        context = TaskContext.get()
        partition, attempt = context.partitionId(), context.taskAttemptId()
        query = context.getLocalProperty("sql.streaming.queryId")
        tables: Run = ()
        if self.is_repeated:
            for _ in batches:
                pass
        else:
            with typed_errors(self.options.path, "staging tables"):
                tables = self._stage(batches, f"{partition:05d}-{attempt}")
        return StagedPart(self._directory, partition, tables, query)

    def _stage(self, batches: Iterator[pa.RecordBatch], name: str) -> Run:
        directory = self._open(self._directory)
        try:
            renew(self._directory)
            encoder = RowEncoder(self._schema, self.options)
            sorter = Sorter(self._staging(directory, name), _CHUNK_BYTES)
            for batch in batches:
                sorter.add(encoder.columns(batch))
            return sorter.finish(is_final=not self._is_ordered)
        finally:
            directory.close()

    def _staging(self, directory: OsFileSystem, name: str) -> Staging:
        options, target = self.options, self._target
        numbers = count()
        return Staging(
            directory=directory,
            new_name=lambda: f"{name}-{next(numbers)}.sst",
            store_id=target.store_id,
            options=target.options.table_options(),
            table_bytes_max=options.table_bytes or target.options.table_bytes,
            time_us=SystemClock().now_us(),
            duplicates=options.duplicates or ("last" if self._is_ordered else "error"),
            is_ordered=self._is_ordered,
        )

    def _open(self, directory: str) -> OsFileSystem:
        try:
            return open_directory(directory, create=False, read_only=False)
        except FileNotFoundError as error:
            raise LoadGone(f"{directory} is gone: this load was given up") from error

    def hand_over(self, parts: Sequence[StagedPart], transaction: tuple[str, int] | None) -> Outcome | None:
        """Have everything that tasks have staged taken over at once; None if there was nothing to do."""
        if self.is_repeated or not (parts or self._replaces):
            return None
        where = {part.directory for part in parts} or {self._directory}
        assert len(where) == 1, "all tasks of a load write to one place"
        (name,) = where
        directory = self._open(name)
        try:
            runs = [part.tables for part in sorted(parts, key=lambda part: part.partition)]
            with typed_errors(self.options.path, "merging staged tables"):
                tables = merged(self._staging(directory, "merged"), runs)
            if not (tables or self._replaces or self.options.transaction):
                return None
            job = Job(
                store_id=self._target.store_id.hex(),
                keyspace=self.options.keyspace,
                names=tuple(table.name for table in tables),
                replaces=self._replaces,
                transaction=transaction,
            )
            return hand_over(self.options.path, directory, job, timeout=self.options.timeout_seconds)
        finally:
            directory.close()

    def clean_up(self, parts: Sequence[StagedPart | None] = ()) -> None:
        """Remove what is left of the load, unless a writer still has to take it over."""
        give_up(self.options.path, self._prefix)
        for part in parts:
            if part is not None:
                give_up(self.options.path, part.directory.rpartition("/")[2])
