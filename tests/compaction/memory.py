"""Tables in memory, with facts counted entry by entry, and a tree of them that reads can be tried on."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from compaction import (
    CompactionPlan,
    CompactionResult,
    Levels,
    check_levels,
    flush_columns,
    replaced,
    run_plan,
)
from sstable import MAX_SEQ, Columns, Kind, TableMeta

Entry = tuple[bytes, int, Kind, bytes]

# What a table has beside its entries.
TABLE_BYTES = 50


def put(key: bytes, seq: int, value: bytes = b"") -> Entry:
    return key, seq, Kind.PUT, value


def delete(key: bytes, seq: int) -> Entry:
    return key, seq, Kind.DELETE, b""


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """By key, newest first."""
    return sorted(entries, key=lambda entry: (entry[0], -entry[1]))


def columns_of(entries: Iterable[Entry]) -> Columns:
    keys, seqs, kinds, values = zip(*entries, strict=True) if (entries := list(entries)) else ((), (), (), ())
    return Columns.from_lists(keys, seqs, kinds, values)


def entries_of(columns: Columns) -> list[Entry]:
    kinds = map(Kind, columns.kinds.tolist())
    return list(zip(columns.keys(), columns.seqs.tolist(), kinds, columns.values(), strict=True))


def size_of(entries: Iterable[Entry]) -> int:
    return sum(len(key) + len(value) for key, _, _, value in entries)


def visible(entries: Iterable[Entry], snapshot: int = MAX_SEQ) -> dict[bytes, bytes]:
    """What a reader at `snapshot` finds, by the definition."""
    seen = {}
    for key, seq, kind, value in sorted(entries, key=lambda entry: entry[1]):
        if seq <= snapshot:
            seen[key] = (kind, value)
    return {key: value for key, (kind, value) in seen.items() if kind == Kind.PUT}


def meta_of(number: int, entries: list[Entry], *, tombstone_time: int = 0) -> TableMeta:
    keys = [key for key, *_ in entries]
    seqs = [seq for _, seq, *_ in entries]
    tombstones = sum(kind == Kind.DELETE for _, _, kind, _ in entries)
    return TableMeta(
        number=number,
        size_bytes=TABLE_BYTES + size_of(entries),
        entries=len(entries),
        tombstones=tombstones,
        distinct_keys=len(set(keys)),
        smallest=min(keys),
        largest=max(keys),
        min_seq=min(seqs),
        max_seq=max(seqs),
        key_bytes=sum(map(len, keys)),
        value_bytes=sum(len(value) for *_, value in entries),
        oldest_tombstone_time=tombstone_time if tombstones else 0,
        crc=0,
    )


class MemoryTable:
    """Hands out its entries a few keys at a time, as a table does its blocks."""

    def __init__(self, meta: TableMeta, entries: list[Entry], keys_per_batch: int = 3) -> None:
        self.meta = meta
        self.entries = entries
        self._keys_per_batch = keys_per_batch

    def columns(self) -> Iterator[Columns]:
        keys = [list(group) for _, group in groupby(self.entries, key=lambda entry: entry[0])]
        for start in range(0, len(keys), self._keys_per_batch):
            yield columns_of(entry for key in keys[start : start + self._keys_per_batch] for entry in key)


class MemorySink:
    """Collects entries; `finished` is called with them at the end."""

    def __init__(self, finished: Callable[[list[Entry]], TableMeta]) -> None:
        self.entries: list[Entry] = []
        self._finished = finished

    @property
    def size_estimate(self) -> int:
        return size_of(self.entries)

    def add(self, columns: Columns) -> None:
        assert len(columns)
        self.entries += entries_of(columns)

    def finish(self) -> TableMeta:
        return self._finished(self.entries)


class MemoryTree:
    """Levels whose tables hold entries: what a plan does to them can be read back."""

    def __init__(self, *, levels_max: int = 7, table_bytes_max: int = 80) -> None:
        self.levels: Levels = ((),) * levels_max
        self.tables: dict[int, MemoryTable] = {}
        self.table_bytes_max = table_bytes_max
        self.tombstone_time = 0
        self._numbers = 0

    def add_table(self, entries: list[Entry]) -> TableMeta:
        """A new table, not yet in any level."""
        assert entries == in_order(entries)
        self._numbers += 1
        meta = meta_of(self._numbers, entries, tombstone_time=self.tombstone_time)
        self.tables[meta.number] = MemoryTable(meta, entries)
        return meta

    def create(self) -> MemorySink:
        return MemorySink(self.add_table)

    def flush(self, entries: list[Entry], snapshots: Iterable[int] = ()) -> CompactionResult:
        """Entries in log order become the newest table of L0."""
        result = flush_columns(
            columns_of(entries), create=self.create, snapshots=snapshots, table_bytes_max=2**40
        )
        self.levels = (result.tables + self.levels[0], *self.levels[1:])
        return result

    def apply(self, plan: CompactionPlan, snapshots: Iterable[int] = ()) -> None:
        """Carry out a plan, and check that the result is a tree."""
        added = plan.tables
        if plan.kind == "merge":
            self.tombstone_time = plan.oldest_tombstone_time
            added = self.run(plan, snapshots).tables
        self.levels = replaced(self.levels, plan.input_numbers, plan.output_level, added)
        check_levels(self.levels)

    def run(
        self, plan: CompactionPlan, snapshots: Iterable[int] = (), window_bytes: int = 200
    ) -> CompactionResult:
        return run_plan(
            plan,
            lambda meta: self.tables[meta.number],
            create=self.create,
            snapshots=snapshots,
            table_bytes_max=self.table_bytes_max,
            window_bytes=window_bytes,
        )

    def entries(self) -> list[Entry]:
        return [
            entry for tables in self.levels for table in tables for entry in self.tables[table.number].entries
        ]

    @property
    def tombstones(self) -> int:
        return sum(table.tombstones for tables in self.levels for table in tables)

    def get(self, key: bytes, snapshot: int = MAX_SEQ) -> bytes | None:
        """Read as a reader does: the first table from the top that has the key decides."""
        for tables in self.levels:
            for table in tables:
                for found, seq, kind, value in self.tables[table.number].entries:
                    if found == key and seq <= snapshot:
                        return value if kind == Kind.PUT else None
        return None
