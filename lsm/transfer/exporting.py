"""A range of a store becomes a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from lsm.errors import Error, MissingExtra, StorageError
from lsm.fs_transfer import as_path, new_file
from lsm.transfer.codes import BadCode, to_text
from lsm.transfer.lines import unfit, write_csv, write_jsonl
from lsm.transfer.options import OF_PYARROW, FileOptions
from lsm.transfer.tally import Progress, Tally

if TYPE_CHECKING:
    from os import PathLike

    from lsm.reading import ViewReadable
    from lsm.transfer.options import Code, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export has written."""

    rows: int
    size_bytes: int
    """Length of the file."""


def export_store(
    source: ViewReadable,
    path: str | PathLike[str],
    start: bytes | None = None,
    stop: bytes | None = None,
    *,
    prefix: bytes | None = None,
    options: FileOptions | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the pairs that `source.scan` would give to a file: .parquet, .arrow, .csv or .jsonl.

    `source` is a store, a keyspace or a snapshot; the file shows this moment of it.  It has its name only
    when it is whole and durable.  Rows pass in pieces of some MiB.  Parquet and Arrow need the extra "arrow".
    """
    place, how = as_path(path), options or FileOptions()
    export = _Export(how, how.kind_of(place), Tally(progress))
    rows = export.open(source, start, stop, prefix)
    try:
        with new_file(place, overwrite=how.overwrite) as out:
            export.write(out, rows)
            size_bytes = out.tell()
    except OSError as error:
        if isinstance(error, Error):  # of the store, or of the place
            raise
        reason = error.strerror or error
        raise StorageError(error.errno, f"{place}: {reason} while exporting to it") from error
    finally:
        rows.close()
    return Exported(rows=export.tally.rows, size_bytes=size_bytes)


class _Export:
    def __init__(self, how: FileOptions, kind: Kind, tally: Tally) -> None:
        self._how = how
        self._kind = kind
        self.tally = tally
        if kind in OF_PYARROW:
            need_pyarrow(f"a file of {kind}")

    def open(
        self, source: ViewReadable, start: bytes | None, stop: bytes | None, prefix: bytes | None
    ) -> Any:
        """Return the rows of this moment: batches or pairs, as the kind of file wants them."""
        if self._kind in OF_PYARROW:
            return source.to_arrow(start, stop, prefix=prefix)
        return source.scan(start, stop, prefix=prefix)

    def write(self, out: BinaryIO, rows: Any) -> None:
        """Write all rows."""
        if self._kind == "csv":
            write_csv(out, rows, self._how, self.tally)
        elif self._kind == "jsonl":
            write_jsonl(out, rows, self._how, self.tally)
        else:
            self._write_batches(out, rows)

    def _write_batches(self, out: BinaryIO, batches: Iterable[Any]) -> None:
        from lsm.arrow.files import write_file

        codes = (self._how.key_format, self._how.value_format)
        names = (self._how.key_column, self._how.value_column)
        is_text = {name: code != "auto" for name, code in zip(names, codes, strict=True)}
        write_file(out, self._kind, is_text, self._recoded(batches, codes))

    def _recoded(self, batches: Iterable[Any], codes: tuple[Code, Code]) -> Iterator[Any]:
        """Yield the columns of every batch, as bytes or as text."""
        for batch in batches:
            keys = batch.column(0)
            columns = zip(batch.columns, codes, strict=True)
            yield [array if code == "auto" else _as_text(array, code, keys) for array, code in columns]
            self.tally.add(batch.num_rows, batch.nbytes)


def _as_text(array: Any, code: Code, keys: Any) -> Any:
    from lsm.arrow.files import text_array

    encode = to_text(code)
    texts: list[str] = []
    try:
        texts.extend(encode(data).decode() for data in array.to_pylist())
    except BadCode as error:
        raise unfit(keys[len(texts)].as_py(), error) from error
    return text_array(texts)


def need_pyarrow(what: str) -> None:
    """Raise if pyarrow is not there."""
    try:
        import lsm.arrow.files  # noqa: F401  # to see whether it can be
    except ImportError as error:
        raise MissingExtra(f"{what} needs pyarrow: pip install 'lsmlog[arrow]' ({error})") from error
