"""Merges by text tables: runs in, tables out."""

from compaction import Outputs, Retention, compact, merge
from tests.compaction.datadriven import Case, run_file
from tests.compaction.memory import (
    Entry,
    MemoryTable,
    MemoryTree,
    columns_of,
    entries_of,
    in_order,
    meta_of,
)
from tests.compaction.test_retain import format_entry, parse_entry, parse_ranges, parse_seqs


class Runs:
    """Keeps the runs from case to case."""

    def __init__(self) -> None:
        self.runs: list[list[Entry]] = []

    def handle(self, case: Case) -> str:
        answer: str = getattr(self, f"on_{case.command}")(case)
        return answer

    def on_runs(self, case: Case) -> str:
        self.runs = []
        for line in case.lines:
            if line.startswith(" "):
                self.runs[-1].append(parse_entry(line))
            else:
                self.runs.append([])
        assert all(run == in_order(run) for run in self.runs)
        return ""

    def on_order(self, case: Case) -> str:
        ordered = merge([columns_of(run) for run in self.runs])
        entries = entries_of(ordered.columns.take(ordered.positions))
        marks = ["+ " if starts else "  " for starts in ordered.key_starts]
        return "\n".join(mark + format_entry(entry) for mark, entry in zip(marks, entries, strict=True))

    def on_compact(self, case: Case) -> str:
        arguments = case.arguments
        tree = MemoryTree()
        retention = Retention(
            parse_seqs(arguments.get("snapshots", "")), parse_ranges(arguments.get("deeper", ""))
        )
        outputs = Outputs(tree.create, int(arguments.get("table_bytes", "1000")))
        runs = [[MemoryTable(meta_of(number, run), run, 1)] for number, run in enumerate(self.runs)]

        result = compact(runs, retention, outputs, window_bytes=int(arguments.get("window_bytes", "1000")))

        lines = []
        for meta in result.tables:
            lines += [
                f"table {meta.number}",
                *(f" {format_entry(e)}" for e in tree.tables[meta.number].entries),
            ]
        dropped = f"dropped: {result.dropped_shadowed} shadowed, {result.dropped_tombstones} tombstones"
        return "\n".join([*lines, dropped])


def test_merge_by_tables():
    run_file("merge.txt", Runs().handle)
