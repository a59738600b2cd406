"""A file becomes rows of a store: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from lsm.errors import Error, MalformedFile, StorageError
from lsm.fs_transfer import as_path, input_file, size_of
from lsm.transfer.codes import BadCode, from_text
from lsm.transfer.exporting import need_pyarrow
from lsm.transfer.lines import CsvRows, JsonRows, column_of
from lsm.transfer.options import FileOptions
from lsm.transfer.tally import Progress, Tally

if TYPE_CHECKING:
    from os import PathLike

    from lsm.db import DB
    from lsm.transfer.options import Code, Kind

Duplicates: TypeAlias = Literal["error", "last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import has loaded."""

    rows: int
    """Rows of the file."""
    last_seq: int
    """Sequence number of the last row in the store; 0 without any."""


def import_file(
    db: DB,
    path: str | PathLike[str],
    *,
    keyspace: str = "default",
    replace: bool = False,
    duplicates: Duplicates = "error",
    options: FileOptions | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Load a file of keys and values, .parquet, .arrow, .csv or .jsonl, into a store: all of it or nothing.

    Rows may be in any order; a key that comes twice is an error, or the last one counts.  With `replace`, all
    other keys of the keyspace are deleted.  Rows pass in pieces, as `DB.bulk_load` has them.
    """
    with open_import(path, options, progress) as found:
        return found.load_into(db, keyspace=keyspace, replace=replace, duplicates=duplicates)


@contextmanager
def open_import(
    path: str | PathLike[str], options: FileOptions | None = None, progress: Progress | None = None
) -> Iterator[ImportFile]:
    """Open a file to import, and check what can be checked of it before it is read."""
    place, how = as_path(path), options or FileOptions()
    kind = how.kind_of(place)
    with ExitStack() as stack:
        with _typed(place):
            file = stack.enter_context(input_file(place))
        yield ImportFile(place, file, kind, how, Tally(progress, size_of(file)))


class ImportFile:
    """An open file that can be loaded once."""

    def __init__(self, path: str, file: BinaryIO, kind: Kind, how: FileOptions, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._rows: CsvRows | JsonRows | _ArrowRows
        if kind == "csv":
            self._rows = CsvRows(path, file, how, tally)
        elif kind == "jsonl":
            self._rows = JsonRows(path, file, how, tally)
        else:
            self._rows = _ArrowRows(path, file, kind, how, tally)

    def load_into(
        self, db: DB, *, keyspace: str = "default", replace: bool = False, duplicates: Duplicates = "error"
    ) -> Imported:
        """Load all rows."""
        rows = self._rows
        try:
            source = rows.stream() if isinstance(rows, _ArrowRows) else self._pairs(rows)
            done = db.bulk_load(source, keyspace=keyspace, replace=replace, duplicates=duplicates)
        except BaseException:
            # Arrow's stream interface hands on the text of an error, and nothing else of it.
            if isinstance(rows, _ArrowRows) and rows.failure is not None:
                raise rows.failure from None
            raise
        return Imported(rows=self._tally.rows, last_seq=done.last_seq)

    def _pairs(self, rows: CsvRows | JsonRows) -> Iterator[tuple[bytes, bytes]]:
        with _typed(self._path):
            yield from rows


class _ArrowRows:
    """A file of Parquet or Arrow to read; made, its columns are checked."""

    def __init__(self, path: str, file: BinaryIO, kind: Kind, how: FileOptions, tally: Tally) -> None:
        need_pyarrow(f"a file of {kind}")
        from lsm.arrow.files import BAD_FILE, FileRows

        self.failure: BaseException | None = None
        self._path = path
        self._file = file
        self._tally = tally
        self._done_bytes = 0
        self._kind = kind
        self._codes = (how.key_format, how.value_format)
        self._names = (how.key_column, how.value_column)
        try:
            self._rows = FileRows(file, kind)
        except BAD_FILE as error:
            raise self._no_such_file(error) from error
        names = list(self._rows.schema.names)
        self._at = column_of(path, names, how.key_column), column_of(path, names, how.value_column)
        for at in self._at:
            problem = self._rows.type_problem(at)
            if problem is not None:
                raise MalformedFile(path, f"column {names[at]!r} {problem}")

    def _no_such_file(self, error: Exception) -> MalformedFile:
        reason = str(error).partition("\n")[0]
        return MalformedFile(self._path, f"no file of {self._kind}, or half of one ({reason:.200})")

    def stream(self) -> Any:
        """Return all rows as an Arrow stream; what goes wrong on the way is in `failure`."""
        from lsm.arrow.files import stream_of

        return stream_of(self._batches())

    def _batches(self) -> Iterator[list[Any]]:
        try:
            yield from self._checked()
        except BaseException as error:
            self.failure = error
            raise

    def _checked(self) -> Iterator[list[Any]]:
        from lsm.arrow.files import BAD_FILE

        batches = self._rows.batches(*self._at)
        while True:
            try:
                columns = next(batches, None)
            except BAD_FILE as error:
                raise self._no_such_file(error) from error
            if columns is None:
                return
            self._refuse_nulls(columns)
            yield [
                array if code == "auto" else self._decoded(array, code)
                for array, code in zip(columns, self._codes, strict=True)
            ]
            self._tally.add(len(columns[0]), self._bytes_since())

    def _refuse_nulls(self, columns: list[Any]) -> None:
        from lsm.arrow.files import null_at

        for name, array in zip(self._names, columns, strict=True):
            at = null_at(array)
            if at is not None:
                raise MalformedFile(self._path, f"{name!r} is null in row {self._tally.rows + at + 1:,}")

    def _decoded(self, array: Any, code: Code) -> Any:
        from lsm.arrow.files import bytes_array

        decode = from_text(code)
        found: list[bytes] = []
        try:
            found.extend(decode(text) for text in array.to_pylist())
        except BadCode as error:
            row = self._tally.rows + len(found) + 1
            raise MalformedFile(self._path, f"row {row:,}: {error}") from error
        return bytes_array(found)

    def _bytes_since(self) -> int:
        before, self._done_bytes = self._done_bytes, self._file.tell()
        return max(0, self._done_bytes - before)


@contextmanager
def _typed(path: str) -> Iterator[None]:
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise StorageError(error.errno, f"{path}: {error.strerror or error} while importing it") from error
