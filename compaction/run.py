"""Doing it: merge, retain, write, step by step over columns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from compaction.levels import KeyRange
from compaction.order import Ordered, merge, sort_columns
from compaction.outputs import Outputs, TableSink
from compaction.plan import CompactionPlan
from compaction.result import CompactionResult
from compaction.retain import Retention, Survivors
from compaction.windows import InputTable, windows
from sstable import Columns, TableMeta
from sstable.columns import BoolArray

WINDOW_BYTES = 1024 * 1024
"""What is held of each run at a time.  Larger windows are not faster, and steps would be longer."""


def do_nothing() -> None:
    """Between steps, by default."""


def run_plan(
    plan: CompactionPlan,
    open_table: Callable[[TableMeta], InputTable],
    *,
    create: Callable[[], TableSink],
    snapshots: Iterable[int],
    table_bytes_max: int,
    window_bytes: int = WINDOW_BYTES,
    between_steps: Callable[[], None] = do_nothing,
) -> CompactionResult:
    """Merge the inputs of `plan` into new tables, which are finished but not yet part of any tree.

    `between_steps` may sleep, or raise to give the job up.  Whatever is raised, what `create` made
    is for the caller to remove.
    """
    assert plan.kind == "merge", "a move writes nothing"
    runs = [[open_table(table) for table in run] for run in plan.inputs]
    retention = Retention(snapshots, plan.deeper)
    outputs = Outputs(create, table_bytes_max, plan.output_grandparents)
    return compact(runs, retention, outputs, window_bytes=window_bytes, between_steps=between_steps)


def compact(
    runs: Sequence[Sequence[InputTable]],
    retention: Retention,
    outputs: Outputs,
    *,
    window_bytes: int = WINDOW_BYTES,
    between_steps: Callable[[], None] = do_nothing,
) -> CompactionResult:
    """Merge `runs`, newest first, into `outputs`."""
    tally = _Tally()
    for window in windows(runs, window_bytes):
        ordered = merge(window)
        survivors = retention.survivors(ordered)
        outputs.add(ordered.take(survivors.kept))
        tally.count(survivors)
        between_steps()
    return tally.result(outputs, expected=sum(table.meta.entries for run in runs for table in run))


def flush_columns(
    columns: Columns,
    *,
    create: Callable[[], TableSink],
    snapshots: Iterable[int],
    table_bytes_max: int,
    deeper: Iterable[KeyRange] | None = None,
    between_steps: Callable[[], None] = do_nothing,
) -> CompactionResult:
    """Write entries that come in log order, with any number of versions of a key, as tables.

    Tombstones are kept unless `deeper` is given: the ranges of all tables that are older.
    """
    outputs = Outputs(create, table_bytes_max)
    ordered = sort_columns(columns)
    survivors = Retention(snapshots, deeper).survivors(ordered)
    for piece in _pieces(ordered, survivors.kept):
        outputs.add(piece)
        between_steps()
    tally = _Tally()
    tally.count(survivors)
    return tally.result(outputs, expected=len(columns))


def _pieces(ordered: Ordered, kept: BoolArray) -> Iterator[Columns]:
    """The entries marked in `kept`, in order, about `WINDOW_BYTES` at a time and cut between keys."""
    columns = ordered.columns
    positions = ordered.positions[kept]
    # A key's newest entry is kept if any is, so these are the starts of keys among what is kept.
    key_starts = np.flatnonzero(ordered.key_starts[kept])
    entries_max = WINDOW_BYTES * len(columns) // max(1, columns.key_bytes + columns.value_bytes)
    wanted = np.arange(0, len(positions), max(1, entries_max))
    cuts = np.unique(np.append(key_starts, len(positions))[np.searchsorted(key_starts, wanted)])
    for start, stop in pairwise([*cuts.tolist(), len(positions)]):
        yield columns.take(positions[start:stop])


class _Tally:
    """Where entries went."""

    def __init__(self) -> None:
        self._seen = self._shadowed = self._tombstones = 0

    def count(self, survivors: Survivors) -> None:
        self._seen += len(survivors.kept)
        self._shadowed += survivors.shadowed
        self._tombstones += survivors.tombstones

    def result(self, outputs: Outputs, *, expected: int) -> CompactionResult:
        """Finish the outputs and check that they account for all entries."""
        result = CompactionResult(
            tables=outputs.finish(),
            entries_in=self._seen,
            entries_out=outputs.entries,
            dropped_shadowed=self._shadowed,
            dropped_tombstones=self._tombstones,
        )
        result.check(expected)
        return result
