"""One immutable sorted file: columnar blocks, bloom filter, hash index, block index, footer.

Entries move as `Columns`.  A `TableWriter` takes them, by key and newest first, and leaves a table in a
file; a `Table` reads it, by key, by range or block by block.  `TableMeta` holds the facts of a table that
a manifest keeps; what a table says is believed only as far as it agrees with them.

- Files are handed in as objects (`AppendFile`, `ReadFile`); this package opens, syncs and removes none.
- A block, filter or hash index is checksummed when it is first touched.  Whatever the bytes are, a
  reader gives right answers or raises `CorruptTable` or `UnsupportedTable`.
- All versions of one key are in one block.
- A mapped, uncompressed table is read in place: `columns()` copies neither keys nor values, and its
  offsets are those of Arrow's binary type.

The bytes are described in FORMAT.md.
"""

from sstable.block import Block
from sstable.block_reader import BlockCache
from sstable.columns import Columns
from sstable.errors import CorruptTable, UnsupportedTable
from sstable.hashing import key_hash, key_hashes
from sstable.kind import DELETED, MAX_SEQ, Deleted, Kind
from sstable.meta import TableMeta
from sstable.options import TableOptions
from sstable.reader import Table
from sstable.sections import read_meta
from sstable.source import ReadFile
from sstable.writer import AppendFile, TableWriter

__all__ = [
    "DELETED",
    "MAX_SEQ",
    "AppendFile",
    "Block",
    "BlockCache",
    "Columns",
    "CorruptTable",
    "Deleted",
    "Kind",
    "ReadFile",
    "Table",
    "TableMeta",
    "TableOptions",
    "TableWriter",
    "UnsupportedTable",
    "key_hash",
    "key_hashes",
    "read_meta",
]
