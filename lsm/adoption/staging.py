"""Tables on their way into a store: written by anybody, numbered by nobody, checked before they are taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lsm.errors import InvalidArgument, TableCorrupt, UnsupportedFormat
from lsm.filenames import table_name
from lsm.fs_types import Cause
from lsm.payload import KEY_BYTES_MAX, VALUE_BYTES_MAX
from sstable import (
    Columns,
    CorruptTable,
    Table,
    TableMeta,
    TableOptions,
    TableWriter,
    UnsupportedTable,
    read_meta,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lsm.fs_types import FileSystem

STAGED_NUMBER = 0
"""The number in the footer of a staged table: it gets its own when a store takes it in."""


@dataclass(frozen=True, slots=True)
class StagedTables:
    """Staged tables under their numbers in the store, checked; in key order, without overlap."""

    metas: tuple[TableMeta, ...]

    @property
    def entries(self) -> int:
        """Rows of all tables."""
        return sum(meta.entries for meta in self.metas)

    def numbered_from(self, first_seq: int) -> StagedTables:
        """Return them with the sequence numbers from `first_seq` on, table after table."""
        metas, base = [], first_seq - 1
        for meta in self.metas:
            metas.append(replace(meta, seq_base=base))
            base += meta.entries
        return StagedTables(tuple(metas))


def stage_columns(
    fs: FileSystem,
    name: str,
    batches: Iterable[Columns],
    options: TableOptions,
    *,
    store_id: bytes,
    time_us: int,
) -> TableMeta | None:
    """Write sorted rows, one of every key, as one staged table; durable but for its name.  None: no rows.

    The sequence numbers of the rows are replaced by 1, 2, 3 and so on.
    """
    file = fs.create(name, Cause.FLUSH)
    try:
        writer = TableWriter(file, options, number=STAGED_NUMBER, store_id=store_id, time_us=time_us)
        next_seq = 1
        for columns in batches:
            writer.add(numbered(columns, next_seq))
            next_seq += len(columns)
        if next_seq == 1:
            return None
        meta = writer.finish()
        file.sync()
        return meta
    finally:
        file.close()


def numbered(columns: Columns, first_seq: int) -> Columns:
    """Return the same rows with the sequence numbers from `first_seq` on."""
    seqs = np.arange(first_seq, first_seq + len(columns), dtype=np.uint64)
    return replace(columns, seqs=seqs)


def take_in(
    source: FileSystem, names: Sequence[str], target: FileSystem, numbers: Sequence[int], store_id: bytes
) -> StagedTables:
    """Link staged tables into the store under its numbers, and check every byte of what is there now.

    Their bytes are durable, their new names not yet.  What it refuses leaves nothing behind.
    """
    made: list[str] = []
    try:
        metas = []
        for name, number in zip(names, numbers, strict=True):
            made.append(table_name(number))
            source.link(name, target, table_name(number))
            # Checked under its final name: what is checked is what will be read, whoever swaps files.
            metas.append(_checked(target, number, store_id, f"{source.name}/{name}"))
        metas.sort(key=lambda meta: meta.smallest)
        for left, right in pairwise(metas):
            if left.largest >= right.smallest:
                raise InvalidArgument(
                    f"staged tables overlap at key {right.smallest!r:.60}: a key comes twice, "
                    "or the rows were not split by key ranges"
                )
    except BaseException:
        for name in made:
            if target.exists(name):
                target.unlink(name)
        raise
    return StagedTables(tuple(metas))


def _checked(fs: FileSystem, number: int, store_id: bytes, path: str) -> TableMeta:
    """Return the facts of a table after reading all of it."""
    file = fs.open(table_name(number))
    try:
        meta = replace(read_meta(file), number=number)
        table = Table(file, meta, name=path)
        if table.store_id != store_id:
            raise CorruptTable("table was written for another store", offset=meta.size_bytes)
        table.verify()
        _check_rows(table, meta)
        return meta
    except CorruptTable as error:
        raise TableCorrupt(path, error.what, offset=error.offset) from error
    except UnsupportedTable as error:
        raise UnsupportedFormat(f"{path}: {error}; upgrade this software") from error
    finally:
        file.close()


def _check_rows(table: Table, meta: TableMeta) -> None:
    if meta.distinct_keys != meta.entries or (meta.min_seq, meta.max_seq) != (1, meta.entries):
        raise CorruptTable("a staged table has one row of every key, numbered from 1", offset=meta.size_bytes)
    next_seq = 1
    for columns in table.columns():
        # In key order: the change feed gives rows in the order of their numbers.
        if columns.seqs.tolist() != list(range(next_seq, next_seq + len(columns))):
            raise CorruptTable("the rows of a staged table are not numbered in order", offset=0)
        if int((columns.key_offsets[1:] - columns.key_offsets[:-1]).max()) > KEY_BYTES_MAX:
            raise CorruptTable(f"a key is longer than {KEY_BYTES_MAX} bytes", offset=0)
        if int((columns.value_offsets[1:] - columns.value_offsets[:-1]).max()) > VALUE_BYTES_MAX:
            raise CorruptTable(f"a value is longer than {VALUE_BYTES_MAX} bytes", offset=0)
        next_seq += len(columns)
