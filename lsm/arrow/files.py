"""Files of Arrow and Parquet: batches of pairs are written to them, and read from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from lsm.arrow.batches import SCHEMA

_GROUP_BYTES: Final = 16 * 1024 * 1024
"""What is put together to a row group, and about what is in memory."""
_BATCH_BYTES: Final = 4 * 1024 * 1024
_BATCH_ROWS_MAX: Final = 64 * 1024
BAD_FILE: Final = (pa.ArrowException, OSError, ValueError)
"""What pyarrow raises of a file that is none, or half of one."""


def write_file(
    out: BinaryIO, kind: str, columns_of_text: dict[str, bool], batches: Iterable[list[pa.Array]]
) -> None:
    """Write batches, each a column of keys and one of values, to a file; names say which are text."""
    names = columns_of_text.items()
    schema = pa.schema([(name, pa.string() if is_text else pa.binary()) for name, is_text in names])
    with _new_writer(out, kind, schema) as writer:
        waiting: list[pa.RecordBatch] = []
        size_bytes = 0
        for columns in batches:
            waiting.append(pa.RecordBatch.from_arrays(columns, schema=schema))
            size_bytes += waiting[-1].nbytes
            if size_bytes >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, size_bytes = [], 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


def _new_writer(out: BinaryIO, kind: str, schema: pa.Schema) -> Any:
    if kind == "parquet":
        # A dictionary of keys, which are all different, would be built and thrown away.
        return pq.ParquetWriter(out, schema, use_dictionary=False, write_page_checksum=True)
    return ipc.new_file(out, schema)


def text_array(texts: list[str]) -> pa.Array:
    """Return a column of text."""
    return pa.array(texts, pa.string())


class FileRows:
    """Batches of key and value of a file; made, its columns are checked by `check`."""

    def __init__(self, file: BinaryIO, kind: str) -> None:
        self._is_parquet = kind == "parquet"
        self._file: Any = (
            pq.ParquetFile(file, pre_buffer=False, buffer_size=1024 * 1024, page_checksum_verification=True)
            if self._is_parquet
            else ipc.open_file(file)
        )
        self.schema: pa.Schema = self._file.schema_arrow if self._is_parquet else self._file.schema

    def type_problem(self, at: int) -> str | None:
        """Return why a column cannot be keys or values; None if it can."""
        found = self.schema.field(at).type
        inner = found.value_type if pa.types.is_dictionary(found) else found
        is_fit = (
            pa.types.is_binary(inner)
            or pa.types.is_large_binary(inner)
            or pa.types.is_string(inner)
            or pa.types.is_large_string(inner)
            or pa.types.is_fixed_size_binary(inner)
            or inner in (pa.binary_view(), pa.string_view())
        )
        return None if is_fit else f"is of type {found}; keys and values are bytes or text"

    def batches(self, key_at: int, value_at: int) -> Iterator[list[pa.Array]]:
        """Yield keys and values as columns of byte strings, checked; nulls are left in."""
        for batch in self._parquet(key_at, value_at) if self._is_parquet else self._arrow():
            batch.validate(full=True)
            names = self.schema.names
            yield [_plain(batch.column(names[at])) for at in (key_at, value_at)]

    def _parquet(self, key_at: int, value_at: int) -> Iterator[pa.RecordBatch]:
        names = [self.schema.names[at] for at in (key_at, value_at)]
        for group in range(self._file.num_row_groups):
            meta = self._file.metadata.row_group(group)
            row_bytes = max(1, meta.total_byte_size // max(1, meta.num_rows))
            rows = min(_BATCH_ROWS_MAX, max(1, _BATCH_BYTES // row_bytes))
            yield from self._file.iter_batches(rows, row_groups=[group], columns=names)

    def _arrow(self) -> Iterator[pa.RecordBatch]:
        for number in range(self._file.num_record_batches):
            batch = self._file.get_batch(number)
            rows = max(1, _BATCH_BYTES * batch.num_rows // max(1, batch.nbytes))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def _plain(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array if array.type == pa.binary() else array.cast(pa.binary())


def null_at(array: pa.Array) -> int | None:
    """Return the place of the first null; None without one."""
    return int(pc.index(array.is_null(), True).as_py()) if array.null_count else None


def stream_of(batches: Iterator[list[pa.Array]]) -> pa.RecordBatchReader:
    """Return columns of keys and values as a stream."""
    return pa.RecordBatchReader.from_batches(
        SCHEMA, (pa.RecordBatch.from_arrays(columns, schema=SCHEMA) for columns in batches)
    )


def bytes_array(strings: list[bytes]) -> pa.Array:
    """Return a column of byte strings."""
    return pa.array(strings, pa.binary())
