"""Tables in memory, entries as tuples, and what a reader must find by the definition."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hypothesis import strategies as st

from sstable import (
    DELETED,
    MAX_SEQ,
    Block,
    Columns,
    Deleted,
    Kind,
    Table,
    TableMeta,
    TableOptions,
    TableWriter,
)

STORE_ID = bytes(range(16))
TIME_US = 1_700_000_000_000_000
NUMBER = 12


class Entry(NamedTuple):
    key: bytes
    seq: int
    kind: Kind
    value: bytes


def put(key: bytes, seq: int, value: bytes = b"") -> Entry:
    return Entry(key, seq, Kind.PUT, value)


def delete(key: bytes, seq: int) -> Entry:
    return Entry(key, seq, Kind.DELETE, b"")


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """By key, newest first."""
    return sorted(entries, key=lambda entry: (entry.key, -entry.seq))


def columns_of(entries: Iterable[Entry]) -> Columns:
    keys, seqs, kinds, values = zip(*entries, strict=True) if (entries := list(entries)) else ((), (), (), ())
    return Columns.from_lists(keys, seqs, kinds, values)


def entries_of(columns: Columns) -> list[Entry]:
    kinds = map(Kind, columns.kinds.tolist())
    return list(map(Entry, columns.keys(), columns.seqs.tolist(), kinds, columns.values()))


def visible(entries: Iterable[Entry], seq_max: int = MAX_SEQ) -> dict[bytes, bytes | Deleted]:
    """The newest entry of each key that is not newer than `seq_max`, by key."""
    newest = {}
    for entry in sorted(entries, key=lambda entry: entry.seq):
        if entry.seq <= seq_max:
            newest[entry.key] = DELETED if entry.kind == Kind.DELETE else entry.value
    return dict(sorted(newest.items()))


class MemoryFile:
    """A file for writer and reader; counts reads, and is as long as it is."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = bytearray(data)
        self.reads: list[tuple[int, int]] = []
        self.is_closed = False

    @property
    def size(self) -> int:
        return len(self.data)

    def append(self, data: bytes) -> None:
        self.data += data

    def pread(self, offset: int, size: int) -> bytes:
        assert 0 <= offset <= offset + size <= len(self.data), "reader asks beyond the end of the file"
        self.reads.append((offset, size))
        return bytes(self.data[offset : offset + size])

    def buffer(self) -> bytes:
        return bytes(self.data)

    def close(self) -> None:
        self.is_closed = True


class MemoryCache:
    """Keeps every block."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, int], Block] = {}
        self.cost_bytes = 0

    def get(self, key: tuple[int, int]) -> Block | None:
        return self.blocks.get(key)

    def put(self, key: tuple[int, int], block: Block, cost_bytes: int) -> None:
        self.blocks[key] = block
        self.cost_bytes += cost_bytes


@dataclass
class Written:
    """A table as the writer left it."""

    data: bytes
    meta: TableMeta
    entries: list[Entry] = field(default_factory=list)

    def open(self, **how: object) -> Table:
        return Table(MemoryFile(self.data), self.meta, **how)

    def adopted(self, seq_base: int) -> "Written":
        """The same file, its seqs counted from `seq_base`."""
        moved = [entry._replace(seq=entry.seq + seq_base) for entry in self.entries]
        return Written(self.data, replace(self.meta, seq_base=seq_base), moved)


def write(
    entries: Iterable[Entry], *, batch: int | None = None, number: int = NUMBER, **options: object
) -> Written:
    """A table of `entries`, handed to the writer `batch` at a time."""
    entries = in_order(entries)
    file = MemoryFile()
    writer = TableWriter(file, TableOptions(**options), number=number, store_id=STORE_ID, time_us=TIME_US)
    step = batch or len(entries)
    for start in range(0, len(entries), step):
        writer.add(columns_of(entries[start : start + step]))
    meta = writer.finish()
    return Written(bytes(file.data), meta, entries)


# Short keys over few letters, so that versions, prefixes and neighbours are common.
keys = st.one_of(
    st.text("ab", max_size=3).map(str.encode), st.binary(max_size=3), st.binary(min_size=4, max_size=4)
)
seqs = st.one_of(st.integers(0, 20), st.integers(0, 2**17), st.integers(0, MAX_SEQ))
values = st.one_of(st.just(b""), st.just(b"four"), st.binary(max_size=40), st.binary(min_size=4, max_size=4))
changes = st.one_of(
    values.map(lambda value: (Kind.PUT, value)),
    values.map(lambda value: (Kind.PUT, value)),
    st.just((Kind.DELETE, b"")),
)


def some_entries(min_size: int = 1, max_size: int = 40) -> st.SearchStrategy[list[Entry]]:
    """Entries in order, no two of the same key and seq."""
    return st.dictionaries(st.tuples(keys, seqs), changes, min_size=min_size, max_size=max_size).map(
        lambda chosen: in_order(Entry(*who, *what) for who, what in chosen.items())
    )
