"""Reading runs side by side: complete, in order, and a little at a time."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from compaction.windows import windows
from sstable import Columns
from tests.compaction.memory import Entry, MemoryTable, entries_of, in_order, meta_of, put
from tests.compaction.test_order import histories

KEYS = st.binary(max_size=2)


class CountingTable(MemoryTable):
    """Knows how many of its batches were asked for."""

    asked = 0

    def columns(self):
        for batch in super().columns():
            self.asked += 1
            yield batch


def table_of(entries: list[Entry], keys_per_batch: int = 3) -> CountingTable:
    return CountingTable(meta_of(1, entries), entries, keys_per_batch)


@st.composite
def runs_of_tables(draw: st.DrawFn) -> list[list[CountingTable]]:
    runs = []
    for entries in draw(st.lists(histories(KEYS), max_size=4)):
        ordered = in_order(entries)
        keys = sorted({key for key, *_ in ordered})
        cuts = sorted(draw(st.sets(st.sampled_from(keys), max_size=2))) if keys else []
        bounds = [b"", *cuts, b"\xff\xff\xff"]
        parts = [[e for e in ordered if low <= e[0] < high] for low, high in pairwise(bounds)]
        runs.append([table_of(part, draw(st.integers(1, 4))) for part in parts if part])
    return runs


@given(runs_of_tables(), st.integers(1, 300))
def test_all_entries_come_once_and_no_key_in_two_windows(runs, window_bytes):
    seen = [[e for batch in window for e in entries_of(batch)] for window in windows(runs, window_bytes)]

    expected = [entry for run in runs for table in run for entry in table.entries]
    assert sorted(entry for window in seen for entry in window) == sorted(expected)
    for before, after in pairwise(seen):
        assert max(key for key, *_ in before) < min(key for key, *_ in after)


@given(runs_of_tables())
def test_every_window_is_a_row_of_sorted_runs(runs):
    for window in windows(runs, 100):
        entries = [entries_of(batch) for batch in window]
        assert all(batch == in_order(batch) for batch in entries)
        falls = sum(left[-1][0] >= right[0][0] for left, right in pairwise(entries))
        assert falls < max(1, len(runs))


def test_no_more_is_loaded_than_a_window_of_each_run():
    tables = [
        table_of([put(b"%04d" % key, 1, b"v" * 96) for key in range(start, 1000, 2)], 1) for start in (0, 1)
    ]
    steps = windows([[tables[0]], [tables[1]]], window_bytes=10 * 124)

    first = next(steps)

    assert [table.asked for table in tables] == [10, 10]
    assert sum(map(len, first)) == 19  # The last key of the second run is not covered by the first.


def test_a_run_that_is_far_ahead_waits():
    near = table_of([put(b"a%03d" % key, 1, b"v" * 100) for key in range(100)], 1)
    far = table_of([put(b"b%03d" % key, 1, b"v" * 100) for key in range(100)], 1)
    steps = windows([[far], [near]], window_bytes=1000)

    while not any(batch.key(0).startswith(b"b") for batch in next(steps)):
        assert far.asked < 10

    assert near.asked == 100


def test_tables_are_opened_one_after_the_other():
    first, second = (table_of([put(key, 1)]) for key in (b"a", b"b"))

    next(windows([[first, second]], window_bytes=1))

    assert (first.asked, second.asked) == (1, 0)


def test_empty_batches_and_empty_runs_are_passed_over():
    table = table_of([put(b"a", 1)])
    table.columns = lambda: iter([Columns.concat([]), *MemoryTable.columns(table), Columns.concat([])])

    assert [[entries_of(batch) for batch in window] for window in windows([[], [table]], 1)] == [
        [[put(b"a", 1)]]
    ]
    assert list(windows([], 1)) == []
