"""An explanation in words and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsm.explain.advice import FIGURES, AdviceExplanation, Suggestion
from lsm.explain.page import Section, without_empty_columns
from lsm.explain.text import plural, size

if TYPE_CHECKING:
    from lsm.explain.explanation import Explanation, LevelExplanation
    from lsm.explain.reads import LookupCost, ReadExplanation
    from lsm.explain.space import SpaceExplanation
    from lsm.explain.writing import WriteExplanation

_LEVELS_SHOWN = 24


def sections_of(explained: Explanation) -> tuple[Section, ...]:
    """Return the sections of the page."""
    return tuple(_sections(explained))


def _sections(explained: Explanation) -> Iterator[Section]:
    yield Section(title=f"Store {_printable(explained.path)}", lines=(_settings_line(explained.settings),))
    yield _writing(explained.writing)
    yield _space(explained.space)
    if explained.levels:
        yield _levels(explained.levels)
    yield _reads(explained.reads)
    if explained.reads.levels:
        yield _lookups_by_level(explained.reads)
    if explained.advice is not None:
        yield _advice(explained.advice)


def _settings_line(settings: dict[str, int | float | str | bool]) -> str:
    bits = f"{settings['bloom_bits_per_key']:g} filter bits a key"
    if settings["bloom_sharing"] == "monkey":
        bits += ", more for small levels"
    parts = [
        f"policy {settings['policy']}",
        f"level ratio {settings['level_ratio']}",
        f"memtable {size(float(settings['memtable_bytes_max']))} of log",
        f"L0 of {plural(int(settings['l0_tables_max']), 'table')}",
        bits,
        "hash index" if settings["hash_index"] else "no hash index",
        f"compression {settings['compression']}",
    ]
    return "; ".join(parts)


def _writing(writing: WriteExplanation) -> Section:
    if writing.write_amp is None:
        return Section(title="Write amplification: nothing to go by", lines=writing.notes)
    rows = [
        (row.name, size(row.written_bytes), f"{row.write_amp:.2f}", _number(row.predicted), row.why)
        for row in writing.rows
    ]
    total = sum(row.written_bytes for row in writing.rows)
    what = f"all of these over {size(writing.user_bytes)} of keys and values; without the manifest"
    rows.append(("total", size(total), f"{writing.write_amp:.2f}", _number(writing.predicted), what))
    rows.append(
        (
            "tree only",
            "",
            _number(writing.tree_write_amp),
            _number(writing.predicted_tree),
            "(flush + compaction) / flush, as RocksDB counts",
        )
    )
    return Section(
        title=f"Write amplification {writing.write_amp:.2f}: bytes written for each byte handed in, so far",
        columns=("cause ", "written", "amp", "formula", "why "),
        rows=tuple(rows),
        bold_rows=2,
        lines=writing.notes,
    )


def _space(space: SpaceExplanation) -> Section:
    whole = space.total_bytes
    # Where compression saves more than the format adds, parts are no shares of a whole.
    has_shares = whole and all(part.size_bytes >= 0 for part in space.parts)
    rows = [
        (part.name, size(part.size_bytes), f"{part.size_bytes / whole:.0%}" if has_shares else "", part.why)
        for part in space.parts
    ]
    rows.append(("total", size(whole), "", "on disk"))
    title = f"Disk use {size(whole)}"
    if space.space_amp is not None and space.space_amp_with_log is not None:
        title = (
            f"Space amplification {space.space_amp:.2f}: bytes in tables over {size(space.live_bytes)} of "
            f"live keys and values; {space.space_amp_with_log:.2f} with the log and all else"
        )
    else:
        title += ": no live key in tables"
    return Section(
        title=title,
        columns=("what ", "bytes", "share", "why "),
        rows=tuple(rows),
        bold_rows=1,
        lines=space.notes,
    )


def _levels(levels: tuple[LevelExplanation, ...]) -> Section:
    with_names = len({level.keyspace for level in levels}) > 1
    rows = []
    for level in levels[:_LEVELS_SHOWN]:
        whole = max(1, level.live + level.overwritten + level.tombstones)
        cells = (
            f"L{level.level}",
            f"{level.tables:,}",
            size(level.size_bytes),
            f"{level.size_bytes / level.target_bytes:.0%}" if level.target_bytes else "",
            f"{level.entries:,}",
            f"{level.live / whole:.0%}",
            f"{level.overwritten / whole:.0%}",
            f"{level.tombstones / whole:.0%}",
        )
        rows.append((_printable(level.keyspace), *cells) if with_names else cells)
    columns = ("level ", "tables", "size", "of target", "entries", "live", "hidden", "deletions")
    section = Section(
        title="Levels, from the newest to the oldest data",
        columns=("keyspace ", *columns) if with_names else columns,
        rows=tuple(rows),
        lines=(*_more(len(levels)), *_level_lines(levels)),
    )
    return without_empty_columns(section)


def _level_lines(levels: tuple[LevelExplanation, ...]) -> Iterator[str]:
    """Yield what levels are for, once for all that are alike."""
    numbers: dict[str, set[int]] = {}
    for level in levels:
        numbers.setdefault(level.why, set()).add(level.level)
    for why, alike in sorted(numbers.items(), key=lambda pair: min(pair[1])):
        first, last = min(alike), max(alike)
        yield f"L{first}: {why}." if first == last else f"L{first} to L{last}: {why}."


def _more(count: int) -> tuple[str, ...]:
    left = count - _LEVELS_SHOWN
    return (f"and {plural(left, 'level')} more",) if left > 0 else ()


def _reads(reads: ReadExplanation) -> Section:
    rows = [
        *_lookup_row("hit", reads.hits, "a key that is there, in tables"),
        *_lookup_row("miss", reads.misses, "a key that is not there, between those that are"),
    ]
    title = "Read cost"
    if reads.hits is not None and reads.misses is not None:
        title += f": {reads.hits.blocks:.2f} blocks for a hit, {reads.misses.blocks:.3f} for a miss, "
        title += f"{plural(reads.runs, 'run')} for a scan"
    return Section(
        title=title,
        columns=("lookup ", "blocks", "formula", "tables", "filters", "of "),
        rows=tuple(rows),
        lines=reads.notes,
    )


def _lookup_row(name: str, cost: LookupCost | None, what: str) -> Iterator[tuple[str, ...]]:
    if cost is not None:
        yield (
            name,
            f"{cost.blocks:.3f}",
            "" if cost.predicted_blocks is None else f"{cost.predicted_blocks:.3f}",
            f"{cost.tables:.2f}",
            f"{cost.filters:.2f}",
            f"{what}; {plural(cost.lookups, 'lookup')}",
        )


def _lookups_by_level(reads: ReadExplanation) -> Section:
    with_names = len({level.keyspace for level in reads.levels}) > 1
    rows = []
    for level in reads.levels[:_LEVELS_SHOWN]:
        rate, has_filters = level.false_positive_rate, bool(level.bits_per_key)
        cells = (
            f"L{level.level}",
            f"{level.runs:,}",
            "" if level.found_share is None else f"{level.found_share:.0%}",
            f"{level.bits_per_key:.1f}" if has_filters else "none",
            f"{level.probes:,}" if has_filters else "",
            "" if rate is None else f"{rate:.3%}",
            f"{level.predicted:.3%}" if has_filters else "",
        )
        rows.append((_printable(level.keyspace), *cells) if with_names else cells)
    columns = ("level ", "tables", "hits here", "filter bits", "tried", "let pass", "formula")
    return Section(
        title="Lookups by level: tables to ask, where hits end, and how many absent keys filters "
        + ("let pass" if reads.asks_filters else "would let pass"),
        columns=("keyspace ", *columns) if with_names else columns,
        rows=tuple(rows),
        lines=_more(len(reads.levels)),
    )


def _advice(advice: AdviceExplanation) -> Section:
    if advice.how == "too small":
        why = "All live data fits into one memtable: settings of levels and filters change little."
        return Section(title="What would help most: nothing at this size", lines=(why,))
    rows = [("as it is", *_figure_cells(advice.present))]
    lines = []
    title = "What would help most: nothing on the whole, each change costs about as much as it gains"
    if advice.best is not None:
        title = f"What would help most: {advice.best.text}"
        rows.append((advice.best.text, *_figure_cells(advice.best.figures)))
        lines.append(f"To have it: lsm.open(path, {_argument(advice.best)}); the store keeps its options.")
    rows += [(other.text, *_figure_cells(other.figures)) for other in advice.others]
    how = "are simulated" if advice.how == "simulated" else "are by formula, as a simulation would take long"
    lines.append(f"These figures {how}: of more writes like those so far, in a steady state.")
    return Section(title=title, columns=("change ", *FIGURES.values()), rows=tuple(rows), lines=tuple(lines))


def _figure_cells(figures: dict[str, float]) -> list[str]:
    return [f"{figures[name]:.4f}" if name == "miss_blocks" else f"{figures[name]:.2f}" for name in FIGURES]


def _argument(suggestion: Suggestion) -> str:
    value = suggestion.value
    if suggestion.option.endswith("_bytes_max") and isinstance(value, int):
        for unit, power in (("MiB", 2), ("KiB", 1)):
            if value % 1024**power == 0:
                return f'{suggestion.option}="{value // 1024**power}{unit}"'
    return f"{suggestion.option}={value!r}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _printable(text: str) -> str:
    """Return text in which nothing can command a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
