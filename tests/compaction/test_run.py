"""Whole jobs: on tables in memory against the model, and on real tables."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import (
    CompactionError,
    CompactionPlan,
    CompactionResult,
    LeveledPolicy,
    Levels,
    Outputs,
    Retention,
    compact,
    flush_columns,
    plan_full,
    replaced,
    run_plan,
)
from compaction.run import WINDOW_BYTES
from sstable import MAX_SEQ, Columns, Table, TableMeta, TableOptions, TableWriter
from tests.compaction.memory import (
    Entry,
    MemorySink,
    MemoryTable,
    MemoryTree,
    columns_of,
    delete,
    entries_of,
    in_order,
    meta_of,
    put,
    visible,
)
from tests.compaction.test_order import histories
from tests.compaction.trees import trees

KEYS = st.sampled_from([b"", b"\0", b"a", b"a\0", b"b", b"c" * 9, b"c" * 10])
SNAPSHOTS = st.lists(st.integers(0, 130), max_size=3)


def full_plan(tree: MemoryTree) -> CompactionPlan:
    plan = plan_full(tree.levels)
    assert plan is not None and plan.kind == "merge"
    return plan


@given(trees(), SNAPSHOTS, st.integers(1, 500), st.integers(1, 500))
def test_a_merge_keeps_what_can_be_seen(tree, snapshots, window_bytes, table_bytes_max):
    plan = plan_full(tree.levels)
    if plan is None or plan.kind == "move":
        return
    tree.table_bytes_max = table_bytes_max
    inputs = [entry for table in plan.tables for entry in tree.tables[table.number].entries]

    result = tree.run(plan, snapshots, window_bytes)

    outputs = [entry for table in result.tables for entry in tree.tables[table.number].entries]
    assert outputs == in_order(outputs)
    for snapshot in [*snapshots, MAX_SEQ]:
        assert visible(outputs, snapshot) == visible(inputs, snapshot)
    assert result.entries_in == len(inputs)
    assert (
        result.entries_out
        == len(outputs)
        == len(inputs) - result.dropped_shadowed - result.dropped_tombstones
    )


@given(histories(KEYS), SNAPSHOTS, st.integers(1, 300))
def test_a_flush_keeps_what_can_be_seen(entries, snapshots, table_bytes_max):
    tree = MemoryTree()

    result = flush_columns(
        columns_of(entries), create=tree.create, snapshots=snapshots, table_bytes_max=table_bytes_max
    )

    outputs = [entry for table in result.tables for entry in tree.tables[table.number].entries]
    assert outputs == in_order(outputs)
    for snapshot in [*snapshots, MAX_SEQ]:
        assert visible(outputs, snapshot) == visible(entries, snapshot)
    assert {key for key, *_ in outputs} == {key for key, *_ in entries}
    assert result.dropped_tombstones == 0


def test_a_flush_drops_tombstones_where_nothing_is_below():
    tree = MemoryTree()
    entries = [put(b"a", 1), delete(b"b", 2), delete(b"m", 3), delete(b"a", 4)]

    result = flush_columns(
        columns_of(entries), create=tree.create, snapshots=(), table_bytes_max=100, deeper=[(b"k", b"n")]
    )

    assert [tree.tables[meta.number].entries for meta in result.tables] == [[delete(b"m", 3)]]
    assert (result.dropped_shadowed, result.dropped_tombstones) == (1, 2)


def test_a_large_flush_goes_in_steps_that_never_part_a_key(seed):
    rng = random.Random(seed)
    entries = [put(b"%04d" % rng.randrange(300), seq, b"v" * 3000) for seq in range(1, 2000)]
    snapshots = range(0, 2000, 7)
    tree, sizes = MemoryTree(), []

    class Sink(MemorySink):
        def add(self, columns):
            sizes.append(columns.key_bytes + columns.value_bytes)
            super().add(columns)

    steps = []
    result = flush_columns(
        columns_of(entries),
        create=lambda: Sink(tree.add_table),
        snapshots=snapshots,
        table_bytes_max=10**9,
        between_steps=lambda: steps.append(1),
    )

    (table,) = result.tables
    assert len(steps) == len(sizes) > 3
    assert max(sizes) < 2 * WINDOW_BYTES
    assert all(
        visible(tree.tables[table.number].entries, s) == visible(entries, s)
        for s in [*snapshots, MAX_SEQ][::20]
    )


def test_nothing_to_write_makes_no_table():
    tree = MemoryTree()
    table = MemoryTable(meta_of(1, [delete(b"a", 1)]), [delete(b"a", 1)])

    result = compact([[table]], Retention((), ()), Outputs(tree.create, 100))

    assert (result.tables, result.entries_in, result.dropped_tombstones) == ((), 1, 1)
    assert flush_columns(columns_of([]), create=tree.create, snapshots=(), table_bytes_max=9).tables == ()


def test_a_lone_batch_of_which_all_is_kept_is_handed_on_as_it_is():
    seen = []

    class Sink(MemorySink):
        def add(self, columns):
            seen.append(columns)
            super().add(columns)

    entries = [put(b"a", 1), put(b"b", 2)]
    table = MemoryTable(meta_of(1, entries), entries)
    batch = columns_of(entries)
    table.columns = lambda: iter([batch])

    compact([[table]], Retention((), ()), Outputs(lambda: Sink(lambda e: meta_of(2, e)), 1000))

    assert [columns.key_data is batch.key_data for columns in seen] == [True]


def two_runs() -> MemoryTree:
    tree = MemoryTree()
    for start in (0, 1):
        tree.flush([put(b"%03d" % key, key + 1000 * start) for key in range(start, 100, 2)])
    return tree


def test_steps_come_between_windows_and_may_give_the_job_up():
    class GivenUp(Exception):
        pass

    steps = []

    def between_steps():
        steps.append(1)
        if len(steps) == 3:
            raise GivenUp

    tree = two_runs()
    plan = full_plan(tree)
    runs = [[tree.tables[table.number] for table in run] for run in plan.inputs]

    with pytest.raises(GivenUp):
        compact(
            runs, Retention((), ()), Outputs(tree.create, 100), window_bytes=100, between_steps=between_steps
        )

    assert len(steps) == 3


def test_an_input_that_gives_fewer_entries_than_it_has_fails_the_job():
    tree = two_runs()
    plan = full_plan(tree)
    del tree.tables[plan.tables[0].number].entries[7]

    with pytest.raises(CompactionError, match="gave 99 entries, not 100"):
        tree.run(plan)


def test_an_output_that_loses_entries_fails_the_job():
    tree = two_runs()

    def create():
        return MemorySink(lambda entries: tree.add_table(entries[1:]))

    with pytest.raises(CompactionError, match="do not hold"):
        run_plan(
            full_plan(tree),
            lambda m: tree.tables[m.number],
            create=create,
            snapshots=(),
            table_bytes_max=10**6,
        )


@pytest.mark.parametrize("window_bytes", [1, 100, 300, 1000])
def test_an_input_out_of_order_fails_the_job(window_bytes):
    tree = two_runs()
    plan = full_plan(tree)
    tree.tables[plan.tables[0].number].entries.reverse()

    with pytest.raises(CompactionError, match=r"comes after|do not rise"):
        tree.run(plan, window_bytes=window_bytes)


def test_outputs_that_overlap_fail_the_job():
    tree = two_runs()

    def create():
        return MemorySink(lambda entries: replace(tree.add_table(entries), largest=b"zzz"))

    with pytest.raises(CompactionError, match="ends after"):
        run_plan(
            full_plan(tree), lambda m: tree.tables[m.number], create=create, snapshots=(), table_bytes_max=100
        )


def test_entries_are_accounted_for():
    tree = two_runs()
    result = tree.run(full_plan(tree))

    with pytest.raises(CompactionError, match="99 were written and 0 dropped"):
        replace(result, entries_out=99).check(100)


class MemoryFile:
    """A file of a real table."""

    def __init__(self) -> None:
        self.content = bytearray()

    def append(self, data) -> None:
        self.content += data

    @property
    def size(self) -> int:
        return len(self.content)

    def pread(self, offset: int, size: int) -> bytes:
        return bytes(self.content[offset : offset + size])

    def buffer(self) -> bytes:
        return bytes(self.content)

    def close(self) -> None:
        pass


class RealTables:
    """Makes real tables in memory, as a store makes them in files."""

    def __init__(self, *, compression: str, block_bytes: int = 1024) -> None:
        self.options = TableOptions(block_bytes=block_bytes, compression=compression)
        self.tables: dict[int, Table] = {}

    def create(self) -> "RealSink":
        return RealSink(self, len(self.tables) + 1)

    def run(self, plan: CompactionPlan, table_bytes_max: int) -> CompactionResult:
        return run_plan(
            plan,
            lambda meta: self.tables[meta.number],
            create=self.create,
            snapshots=(),
            table_bytes_max=table_bytes_max,
        )

    def read(self, metas: tuple[TableMeta, ...]) -> list[Entry]:
        batches = [batch for meta in metas for batch in self.tables[meta.number].columns()]
        return entries_of(Columns.concat(batches))


class RealSink:
    def __init__(self, owner: RealTables, number: int) -> None:
        self._owner = owner
        self._file = MemoryFile()
        self._writer = TableWriter(self._file, owner.options, number=number, store_id=bytes(16), time_us=1)

    @property
    def size_estimate(self) -> int:
        return self._writer.size_estimate

    def add(self, columns: Columns) -> None:
        self._writer.add(columns)

    def finish(self) -> TableMeta:
        meta = self._writer.finish()
        self._owner.tables[meta.number] = Table(self._file, meta)
        return meta


@pytest.mark.parametrize("table_bytes_max", [8_000, 20_000])
def test_tables_that_are_small_only_on_disk_are_not_rewritten_for_ever(table_bytes_max):
    store = RealTables(compression="zlib", block_bytes=64 * 1024)
    policy = LeveledPolicy(l0_tables_max=1, table_bytes_max=table_bytes_max)
    levels: Levels = ((),) * policy.levels_max
    plans = 0
    for start in range(0, 1600, 20):
        entries = [put(b"%06d" % seq, seq, b"v" * 400) for seq in range(start, start + 20)]
        flushed = flush_columns(columns_of(entries), create=store.create, snapshots=(), table_bytes_max=10**6)
        levels = (flushed.tables + levels[0], *levels[1:])
        while plan := policy.choose(levels, frozenset(), 0):
            plans += 1
            assert plans < 200
            tables = plan.tables if plan.kind == "move" else store.run(plan, table_bytes_max).tables
            levels = replaced(levels, plan.input_numbers, plan.output_level, tables)


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_real_tables_are_flushed_and_merged(seed, compression):
    rng = random.Random(seed)
    store = RealTables(compression=compression)
    history: list[Entry] = []
    runs = []
    snapshots = [1500, 3100]
    for _ in range(4):
        batch = []
        for _ in range(1000):
            seq = len(history) + len(batch) + 1
            key = b"key-%05d" % rng.randrange(2000)
            batch.append(
                delete(key, seq) if rng.random() < 0.2 else put(key, seq, rng.randbytes(rng.randrange(60)))
            )
        history += batch
        flushed = flush_columns(
            columns_of(batch), create=store.create, snapshots=snapshots, table_bytes_max=10**6
        )
        runs.insert(0, [store.tables[meta.number] for meta in flushed.tables])

    result = compact(runs, Retention(snapshots, ()), Outputs(store.create, 20_000), window_bytes=5000)

    entries = store.read(result.tables)
    assert len(result.tables) > 3
    assert entries == in_order(entries)
    for snapshot in [*snapshots, MAX_SEQ]:
        assert visible(entries, snapshot) == visible(history, snapshot)
    for meta in result.tables:
        store.tables[meta.number].verify()
