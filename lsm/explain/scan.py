"""One scan with what it looked at: the real merge, on sources that count."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from lsm.caches import Tree
from lsm.cdc.json_bytes import to_json
from lsm.explain.page import Section, page_text
from lsm.explain.tally import CountedSource, CountedTable, Tally, count_tombstones
from lsm.explain.text import ShowKey, plural, python_key
from lsm.scan import LayerSource, RunSource, live, merged
from lsm.state import SpaceView


@dataclass(frozen=True, slots=True)
class ScanRange:
    """What is asked for: start <= key < stop, both ways, all or some."""

    start: bytes | None
    stop: bytes | None
    reverse: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRead:
    """What a scan did in one of the runs that it merges."""

    level: int | None
    """None for a layer of a memtable."""
    tables: int
    """Tables looked into, of those that the run has."""
    tables_of_run: int
    blocks_in_place: int
    blocks_from_cache: int
    blocks_from_file: int
    entries: int
    tombstones: int

    @property
    def blocks(self) -> int:
        """Blocks looked into, wherever they were."""
        return self.blocks_in_place + self.blocks_from_cache + self.blocks_from_file


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanExplanation:
    """What one scan looked at for what it returned.

    `entries` = `returned` + `overwritten` + `tombstones` + `ahead`.
    """

    range: ScanRange
    seq: int
    runs: tuple[RunRead, ...]
    """All that had to be merged, newest first: layers of memtables, tables of L0, deeper levels."""
    returned: int
    overwritten: int
    """Versions that a newer one hides, or that are newer than the moment which is read."""
    tombstones: int
    ahead: int
    """Loaded beyond the last pair that was wanted: sources are read in pieces."""

    @property
    def entries(self) -> int:
        """Entries looked at."""
        return sum(run.entries for run in self.runs)

    @property
    def runs_with_entries(self) -> int:
        """Runs that had anything in the range."""
        return sum(1 for run in self.runs if run.entries)

    @property
    def tables(self) -> int:
        """Tables looked into."""
        return sum(run.tables for run in self.runs)

    @property
    def blocks(self) -> int:
        """Blocks looked into, wherever they were."""
        return sum(run.blocks for run in self.runs)

    @property
    def skipped_per_entry(self) -> float | None:
        """Entries that are hidden or deleted, for each one returned; None if none was."""
        return (self.overwritten + self.tombstones) / self.returned if self.returned else None

    def to_json(self) -> dict[str, object]:
        """Return the same as plain dicts and lists."""
        wanted = self.range
        return {
            "start": None if wanted.start is None else to_json(wanted.start),
            "stop": None if wanted.stop is None else to_json(wanted.stop),
            "reverse": wanted.reverse,
            "limit": wanted.limit,
            "seq": self.seq,
            "returned": self.returned,
            "entries": self.entries,
            "overwritten": self.overwritten,
            "tombstones": self.tombstones,
            "ahead": self.ahead,
            "skipped_per_entry": self.skipped_per_entry,
            "tables": self.tables,
            "blocks": self.blocks,
            "runs": [asdict(run) for run in self.runs],
        }

    def section(self, show_key: ShowKey = python_key) -> Section:
        """Return it as a table to print; `show_key` writes keys."""
        return Section(
            title=f"scan {_range_text(self.range, show_key)}: {plural(self.returned, 'pair')}",
            columns=("run ", "tables", "of", "blocks", "entries", "tombstones"),
            rows=tuple(map(_cells, self.runs)),
            lines=tuple(self._lines()),
        )

    def _lines(self) -> Iterator[str]:
        yield (
            f"{plural(len(self.runs), 'run')} merged, of which {self.runs_with_entries:,} had any; "
            f"{plural(self.tables, 'table')} and {plural(self.blocks, 'block')} looked into"
        )
        yield (
            f"{plural(self.entries, 'entry', 'entries')} looked at: {self.returned:,} returned, "
            f"{self.overwritten:,} overwritten, {plural(self.tombstones, 'tombstone')}, "
            f"{self.ahead:,} loaded ahead"
        )

    def __str__(self) -> str:
        return page_text([self.section()])


def explain_scan(view: SpaceView, wanted: ScanRange, seq: int) -> ScanExplanation:
    """Scan a view at a snapshot that the caller holds, and tell what that took."""
    start, stop, reverse = wanted.start, wanted.stop, wanted.reverse
    layers = view.at(seq)
    tallies = [Tally(None) for _ in layers]
    sources = [
        CountedSource(LayerSource(layer, start, stop, reverse=reverse), tally)
        for layer, tally in zip(layers, tallies, strict=True)
    ]
    for level, run in zip(_levels_of_runs(view.tree), view.tree.runs(), strict=True):
        tally = Tally(level, tables_of_run=len(run))
        tables = [CountedTable(handle, tally) for handle in run]
        source = RunSource(tables, start, stop, reverse=reverse, seq_max=seq)
        tallies.append(tally)
        sources.append(CountedSource(source, tally))
    returned, last_key = 0, None
    for key in islice(_keys(sources, reverse=reverse), wanted.limit):
        returned, last_key = returned + 1, key
    is_cut = wanted.limit is not None and returned == wanted.limit
    return _summed(tallies, wanted, seq, returned, last_key if is_cut else None)


def _keys(sources: list[CountedSource], *, reverse: bool) -> Iterator[bytes]:
    """Yield the keys that the scan returns, in its order, and load no more than it would."""
    for keys, _ in live(merged(sources, reverse=reverse)):
        yield from reversed(keys) if reverse else keys


def _summed(
    tallies: list[Tally], wanted: ScanRange, seq: int, returned: int, last_key: bytes | None
) -> ScanExplanation:
    """Return the figures; `last_key` is where the limit has ended the scan."""
    ahead = ahead_tombstones = 0
    if last_key is not None:
        for tally in tallies:
            chunk = tally.ahead_of(last_key, reverse=wanted.reverse)
            ahead += len(chunk[0])
            ahead_tombstones += count_tombstones(chunk)
    entries = sum(tally.entries for tally in tallies)
    tombstones = sum(tally.tombstones for tally in tallies) - ahead_tombstones
    return ScanExplanation(
        range=wanted,
        seq=seq,
        runs=tuple(map(_run_read, tallies)),
        returned=returned,
        overwritten=entries - returned - tombstones - ahead,
        tombstones=tombstones,
        ahead=ahead,
    )


def _levels_of_runs(tree: Tree) -> list[int]:
    """Return the level of each of `tree.runs()`."""
    return [*(0 for _ in tree.l0), *(number for number, level in enumerate(tree.levels, start=1) if level)]


def _run_read(tally: Tally) -> RunRead:
    return RunRead(
        level=tally.level,
        tables=tally.tables,
        tables_of_run=tally.tables_of_run,
        blocks_in_place=tally.blocks["map"],
        blocks_from_cache=tally.blocks["cache"],
        blocks_from_file=tally.blocks["file"],
        entries=tally.entries,
        tombstones=tally.tombstones,
    )


def _range_text(wanted: ScanRange, show_key: ShowKey) -> str:
    first = "the first key" if wanted.start is None else show_key(wanted.start)
    stop = "the end" if wanted.stop is None else show_key(wanted.stop)
    parts = [f"from {first} to {stop}"]
    if wanted.reverse:
        parts.append("backwards")
    if wanted.limit is not None:
        parts.append(f"at most {wanted.limit:,}")
    return ", ".join(parts)


def _cells(run: RunRead) -> tuple[str, ...]:
    counts = f"{run.entries:,}", f"{run.tombstones:,}"
    if run.level is None:
        return "memtable", "", "", "", *counts
    return f"L{run.level}", f"{run.tables:,}", f"{run.tables_of_run:,}", f"{run.blocks:,}", *counts
