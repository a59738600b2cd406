"""Write amplification: what was written for each byte handed in, level by level, beside what formulas say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compaction.predict import OVERLAP_SHARE, Predicted, predict
from compaction.simulate import Settings
from lsm.explain.facts import StoreFacts, TreeFacts
from lsm.explain.text import plural, size
from lsm.work import LevelWork

_LESS, _MORE = 0.85, 1.2
"""Where measured and predicted differ by more, a sentence says why that may be."""
_LATE = 1.5
"""So many times more tables of L0 at a time than it may have, and merges come late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRow:
    """One cause of writing."""

    name: str
    written_bytes: int
    write_amp: float
    """Bytes written for each byte of key and value handed in."""
    predicted: float | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteExplanation:
    """What writing has cost since the store was made, as the manifest has counted it."""

    user_bytes: int
    """Keys and values handed in, of everything that is in tables by now."""
    rows: tuple[WriteRow, ...]
    write_amp: float | None
    """All rows together; None while nothing is in tables."""
    predicted: float | None
    tree_write_amp: float | None
    """(flush + compaction) / flush."""
    predicted_tree: float | None
    notes: tuple[str, ...]


def explain_writing(facts: StoreFacts) -> WriteExplanation:
    """Say what writing has cost, and why."""
    work = facts.work
    if not work.user_bytes:
        return WriteExplanation(
            user_bytes=0,
            rows=(),
            write_amp=None,
            predicted=None,
            tree_write_amp=None,
            predicted_tree=None,
            notes=tuple(_notes_without_work(facts)),
        )
    by_level = _predicted_by_level(facts)
    rows = tuple(_rows(facts, by_level))
    came = (work.flush_bytes + work.load_bytes) / work.user_bytes
    compaction = _predicted_compaction(facts)
    log = _predicted_log(facts)
    predicted = None if compaction is None or log is None else log + came * (1 + compaction)
    return WriteExplanation(
        user_bytes=work.user_bytes,
        rows=rows,
        write_amp=sum(row.write_amp for row in rows),
        predicted=predicted,
        tree_write_amp=work.tree_write_amp,
        predicted_tree=None if compaction is None else 1 + compaction,
        notes=tuple(_notes(facts)),
    )


def _rows(facts: StoreFacts, predicted: Mapping[int, float]) -> Iterator[WriteRow]:
    work = facts.work

    def row(name: str, written_bytes: int, expected: float | None, why: str) -> WriteRow:
        return WriteRow(
            name=name,
            written_bytes=written_bytes,
            write_amp=written_bytes / work.user_bytes,
            predicted=expected,
            why=why,
        )

    if work.log_bytes:
        yield row("log", work.log_bytes, _predicted_log(facts), _why_log())
    if work.flushes:
        yield row("flush", work.flush_bytes, None, _why_flush(facts))
    if work.loads:
        why = f"{plural(work.loads, 'load')} of tables that were taken over whole"
        yield row("load", work.load_bytes, None, why)
    came = (work.flush_bytes + work.load_bytes) / work.user_bytes
    for level in work.levels:
        expected = predicted.get(level.level)
        name = f"into L{level.level}"
        yield row(name, level.written_bytes, None if expected is None else came * expected, _why_level(level))


def _why_log() -> str:
    added = Settings().log_bytes_per_write
    return f"every write goes to the log first, with {added:.0f} bytes around it; fewer in batches"


def _why_flush(facts: StoreFacts) -> str:
    work = facts.work
    mean_bytes = work.flush_bytes / work.flushes
    share = work.flush_bytes / facts.format_share / work.user_bytes
    why = f"{plural(work.flushes, 'memtable')} became tables, {size(mean_bytes)} each on average"
    if share < 0.98 and not work.loads:
        why += f"; {1 - share:.0%} was overwritten while in memory"
    return why


def _why_level(work: LevelWork) -> str:
    parts = []
    if work.merges:
        ratio = work.rewritten_bytes / work.read_bytes if work.read_bytes else 0.0
        part = f": each byte that came was merged with {ratio:.1f} of L{work.level}"
        if not work.read_bytes:
            part = f" of L{work.level} with itself"
        elif not work.rewritten_bytes:
            part = " of what is above into a run of its own"
        parts.append(f"{plural(work.merges, 'merge')}{part}")
        dropped = 1 - work.entries_out / work.entries_in if work.entries_in else 0.0
        if dropped >= 0.01:
            parts.append(f"{dropped:.0%} of the entries dropped, overwritten or deleted")
    if work.moves:
        parts.append(f"{size(work.moved_bytes)} moved here without being written again")
    return "; ".join(parts)


def _predicted_log(facts: StoreFacts) -> float | None:
    """Each write once, and what frames it, if writes come one by one; None if their sizes are not known."""
    if not facts.user_bytes:
        return None
    return 1 + Settings().log_bytes_per_write * facts.entries / facts.user_bytes


def _predicted_compaction(facts: StoreFacts) -> float | None:
    """Bytes that compaction writes for each byte flushed: all keyspaces, each by its share of the data."""
    predictions = [(share, found) for _, share, found in _predictions(facts)]
    if not predictions:
        return None
    return sum(share * (found.tree_write_amp - found.flush) for share, found in predictions)


def _predicted_by_level(facts: StoreFacts) -> dict[int, float]:
    """The same by output level, for leveled trees: levels are counted from the last one upwards."""
    by_level: dict[int, float] = {}
    if facts.shape.policy != "leveled":
        return by_level
    for tree, share, found in _predictions(facts):
        steps = (found.l0, *found.deeper)
        last = max(tree.levels[-1].level, facts.shape.levels_max - 1)
        for level, step in enumerate(steps, start=last + 1 - len(steps)):
            by_level[level] = by_level.get(level, 0.0) + share * step
    return by_level


def _predictions(facts: StoreFacts) -> Iterator[tuple[TreeFacts, float, Predicted]]:
    work = facts.work
    if facts.is_rising:
        return
    settled = [tree for tree in facts.trees if tree.is_compacted and tree.data_bytes]
    whole = sum(tree.data_bytes for tree in settled)
    for tree in settled:
        share = tree.data_bytes / whole
        flush_bytes = share * work.flush_bytes / work.flushes if work.flushes else 0.0
        if flush_bytes:
            yield tree, share, predict(facts.shape, tree.data_bytes, flush_bytes)


def _notes_without_work(facts: StoreFacts) -> Iterator[str]:
    if facts.table_bytes:
        yield "The tables were written before this was counted: what they have cost is not known."
    elif facts.memory_keys:
        yield (
            f"Nothing was flushed yet: {plural(facts.memory_keys, 'key')} in memory and in the log, which is "
            f"flushed at {size(facts.options.seal_bytes)}."
        )
    else:
        yield "Nothing was written yet."


def _notes(facts: StoreFacts) -> Iterator[str]:
    work, shape = facts.work, facts.shape
    counted = work.flush_bytes + work.load_bytes + work.compaction_bytes
    if facts.table_bytes > counted:
        yield "Some tables were written before this was counted: figures are of what came since."
    if not work.levels:
        yield f"Nothing was compacted yet: that begins with {plural(shape.l0_tables_max, 'table')} in L0."
        return
    if facts.is_rising:
        yield (
            "Keys came in rising order: tables moved down as they were, so that nothing was written twice. "
            "Formulas of overwriting do not hold for that."
        )
    compaction = _predicted_compaction(facts)
    if work.tree_write_amp is None or compaction is None:
        return
    yield _formula(facts)
    if work.tree_write_amp < _LESS * (1 + compaction):
        yield _why_less(facts)
    elif work.tree_write_amp > _MORE * (1 + compaction):
        yield (
            "More than the formula: calls of compact(), deletions, uneven keys, or settings that were others "
            "before, add to it."
        )


def _why_less(facts: StoreFacts) -> str:
    work, l0_tables_max = facts.work, facts.shape.l0_tables_max
    first = min(work.levels, key=lambda level: level.level)  # fed by nothing but L0
    if facts.shape.policy == "leveled" and first.merges and work.flush_bytes:
        at_once = first.read_bytes / first.merges / (work.flush_bytes / work.flushes)
        if at_once >= _LATE * l0_tables_max:
            return (
                f"Less than the formula: L0 was merged about {at_once:.0f} tables at a time instead of "
                f"{l0_tables_max}, as the background was busy, so that less was rewritten for each of them."
            )
    return (
        "Less than the formula: totals are since the store was made, and while it was filling it wrote less "
        "than in the steady state that formulas are of."
    )


def _formula(facts: StoreFacts) -> str:
    shape = facts.shape
    ratio = shape.level_ratio
    if shape.policy == "leveled":
        return (
            "Formula, for uniform overwrites: L0 into the base level 1 + base/L0; each further level about "
            f"1 + {OVERLAP_SHARE} x how much larger it is than the one above, less what was overwritten on "
            "the way; the last one does not grow by what comes."
        )
    if shape.policy == "lazy":
        return (
            "Formula: every tier writes a byte once; the last run is rewritten when what is above it has "
            f"grown to one part in {ratio} of it: (tiers - 1) + {ratio} at most."
        )
    return f"Formula: every tier of {ratio} runs writes a byte once, less what is overwritten on the way."
