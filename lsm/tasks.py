"""Flush and compaction as tasks: a plain description goes in, facts of new tables come out.

A task touches nothing but files: it reads immutable ones and makes new ones.  So it runs as well in another
process (`lsm.worker`), and only its result is installed here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace

import compaction
from compaction import CompactionResult, KeyRange
from lsm.caches import naming
from lsm.clock import Clock
from lsm.filenames import table_name
from lsm.fs_types import AppendFile, Cause, FileSystem
from lsm.log_columns import columns_by_keyspace
from lsm.segments import read_segment
from lsm.version import SegmentMeta, Version
from sstable import Columns, Table, TableMeta, TableOptions, TableWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How and as what new tables are written."""

    store_id: bytes
    first_number: int
    number_count: int
    options: TableOptions
    table_bytes_max: int
    snapshots: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushTask:
    """Turn one closed log segment into tables, one or more a keyspace."""

    segment: SegmentMeta
    keyspaces: tuple[int, ...]
    output: Output


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTask:
    """Merge runs of tables, newest run first."""

    keyspace: int
    runs: tuple[tuple[TableMeta, ...], ...]
    deeper: tuple[KeyRange, ...]
    grandparents: tuple[TableMeta, ...]
    oldest_tombstone_time: int
    output: Output


@dataclass(frozen=True, slots=True)
class TaskResult:
    """New tables by keyspace; they are durable, but the manifest does not know them."""

    tables: tuple[tuple[int, TableMeta], ...]
    entries_in: int = 0
    entries_out: int = 0
    user_bytes: int = 0
    """Keys and values that a flush found in the log."""

    @property
    def table_bytes(self) -> int:
        """The size of all new tables."""
        return sum(meta.size_bytes for _, meta in self.tables)


class OutOfNumbers(Exception):
    """A task made more tables than numbers were set aside for it: a mistake of ours."""


@dataclass(slots=True)
class _Outputs:
    """Makes the files of one task, and takes them all back if the task fails."""

    fs: FileSystem
    clock: Clock
    output: Output
    cause: Cause
    tombstone_time: int = 0
    used: int = 0
    open_file: AppendFile | None = None
    names: list[str] = field(default_factory=list)

    def create(self) -> "_Sink":
        """Start the next table."""
        if self.used == self.output.number_count:
            raise OutOfNumbers(f"more than {self.used} tables")
        number = self.output.first_number + self.used
        self.used += 1
        self.open_file = self.fs.create(table_name(number), self.cause)
        self.names.append(table_name(number))
        writer = TableWriter(
            self.open_file,
            self.output.options,
            number=number,
            store_id=self.output.store_id,
            # A rewrite must not make a deletion look young.
            time_us=self.tombstone_time or self.clock.now_us(),
        )
        return _Sink(self.fs, self.open_file, writer, table_name(number))

    def remove(self) -> None:
        """Remove everything this task made."""
        with suppress(
            OSError
        ):  # the first error is the one to report; what stays is removed at the next opening
            if self.open_file is not None:
                self.open_file.close()
        for name in self.names:
            with suppress(OSError):
                self.fs.unlink(name)


class _Sink:
    """One table on its way to disk."""

    def __init__(self, fs: FileSystem, file: AppendFile, writer: TableWriter, name: str) -> None:
        self._fs = fs
        self._file = file
        self._name = name
        self.add = writer.add
        self._writer = writer

    @property
    def size_estimate(self) -> int:
        """About how large the table would be if it ended here."""
        return self._writer.size_estimate

    def finish(self) -> TableMeta:
        """End the table, make it durable, and read it back once before anybody relies on it."""
        meta = self._writer.finish()
        self._file.sync()
        self._file.close()
        with _opened(self._fs, meta) as table, naming(f"{self._fs.name}/{self._name}"):
            table.verify_checksums()
        return meta


@contextmanager
def _outputs(
    fs: FileSystem, clock: Clock, output: Output, cause: Cause, *, tombstone_time: int = 0
) -> Iterator[_Outputs]:
    outputs = _Outputs(fs, clock, output, cause, tombstone_time)
    try:
        yield outputs
        # A manifest that survives a crash may never point at a file that did not: names first.
        fs.sync_dir(cause)
    except BaseException:
        outputs.remove()
        raise


def run_flush(fs: FileSystem, clock: Clock, task: FlushTask, between: Callable[[], None]) -> TaskResult:
    """Write the newest versions of what a segment holds, and the older ones that a snapshot needs."""
    segment = read_segment(fs, Version(store_id=task.output.store_id), task.segment)
    results: list[tuple[int, CompactionResult]] = []
    user_bytes = 0
    with _outputs(fs, clock, task.output, Cause.FLUSH) as outputs:
        for keyspace, columns in columns_by_keyspace(segment).items():
            user_bytes += columns.key_bytes + columns.value_bytes
            if keyspace not in task.keyspaces:
                continue  # dropped meanwhile
            result = compaction.flush_columns(
                columns,
                create=outputs.create,
                snapshots=task.output.snapshots,
                table_bytes_max=task.output.table_bytes_max,
                between_steps=between,
            )
            results.append((keyspace, result))
    return replace(_task_result(results), user_bytes=user_bytes)


def run_compaction(
    fs: FileSystem, clock: Clock, task: CompactionTask, between: Callable[[], None]
) -> TaskResult:
    """Merge the task's tables into new ones."""
    tombstone_time = task.oldest_tombstone_time
    with (
        ExitStack() as stack,
        _outputs(fs, clock, task.output, Cause.COMPACTION, tombstone_time=tombstone_time) as outputs,
    ):
        runs = [
            [_NamedTable(stack.enter_context(_opened(fs, meta)), fs) for meta in run] for run in task.runs
        ]
        result = compaction.compact(
            runs,
            compaction.Retention(task.output.snapshots, task.deeper),
            compaction.Outputs(outputs.create, task.output.table_bytes_max, task.grandparents),
            between_steps=between,
        )
    return _task_result([(task.keyspace, result)])


@contextmanager
def _opened(fs: FileSystem, meta: TableMeta) -> Iterator[Table]:
    path = f"{fs.name}/{table_name(meta.number)}"
    with naming(path):
        file = fs.open(table_name(meta.number), Cause.COMPACTION)
        try:
            table = Table(file, meta, name=path)
        except BaseException:
            file.close()
            raise
    try:
        yield table
    finally:
        table.close()


class _NamedTable:
    """A table as a merge reads it, whose errors name its file: a merge reads many."""

    def __init__(self, table: Table, fs: FileSystem) -> None:
        self.meta = table.meta
        self._table = table
        self._path = f"{fs.name}/{table_name(table.meta.number)}"

    def columns(self) -> Iterator[Columns]:
        """Yield all entries in batches."""
        with naming(self._path):
            yield from self._table.columns()


def _task_result(results: Sequence[tuple[int, CompactionResult]]) -> TaskResult:
    tables: Iterable[tuple[int, TableMeta]] = (
        (keyspace, meta) for keyspace, result in results for meta in result.tables
    )
    return TaskResult(
        tuple(tables),
        sum(result.entries_in for _, result in results),
        sum(result.entries_out for _, result in results),
    )
