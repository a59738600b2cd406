"""Read cost: what lookups and scans go through, measured on sampled keys, beside what formulas say."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from compaction import theory
from lsm.caches import TableHandle, naming
from lsm.explain.facts import StoreFacts, TreeFacts
from lsm.explain.get import GetExplanation, explain_get
from lsm.explain.text import plural
from sstable import key_hashes

LOOKUPS = 300
"""Of each kind, explained in full."""
TREES_MAX = 8
"""Keyspaces that are looked at level by level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCost:
    """What lookups of one kind cost in tables, on average."""

    lookups: int
    blocks: float
    tables: float
    filters: float
    """Filters asked."""
    predicted_blocks: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelReads:
    """What one level has to do with lookups."""

    keyspace: str
    level: int
    runs: int
    """How many of its tables a lookup has to ask: in L0 all, below one."""
    found_share: float | None
    """How many of the keys that are there were found here."""
    bits_per_key: float
    """0 without filters."""
    probes: int
    """Keys that are not there, tried on its filters."""
    false_positive_rate: float | None
    """Of those, how many the filters let pass; None if none was tried."""
    predicted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadExplanation:
    """What reading costs; only of tables, as memory costs next to nothing."""

    runs: int
    """What a scan merges in the largest keyspace, memory aside: tables of L0 and levels."""
    hits: LookupCost | None
    misses: LookupCost | None
    skipped_per_entry: float | None
    """What a scan passes over, hidden or deleted, for each entry that it returns."""
    levels: tuple[LevelReads, ...]
    """Of the largest keyspaces."""
    asks_filters: bool
    """Whether lookups ask filters; with a hash index they do not."""
    notes: tuple[str, ...]


def explain_reads(facts: StoreFacts) -> ReadExplanation:
    """Say what reading costs, and why."""
    asks_filters = _asks_filters(facts)
    if not facts.trees:
        return ReadExplanation(
            runs=0,
            hits=None,
            misses=None,
            skipped_per_entry=None,
            levels=(),
            asks_filters=asks_filters,
            notes=("There are no tables: reads are answered from memory.",),
        )
    largest = facts.trees[0]
    hits = {tree.name: _explained_hits(tree) for tree in facts.trees[:TREES_MAX]}
    levels = tuple(reads for tree in facts.trees[:TREES_MAX] for reads in _level_reads(tree, hits[tree.name]))
    return ReadExplanation(
        runs=largest.runs,
        hits=_hits(largest, hits[largest.name], asks_filters=asks_filters),
        misses=_misses(largest, asks_filters=asks_filters),
        skipped_per_entry=_skipped_per_entry(facts),
        levels=levels,
        asks_filters=asks_filters,
        notes=tuple(_notes(facts, largest, asks_filters=asks_filters)),
    )


def _skipped_per_entry(facts: StoreFacts) -> float | None:
    counts = facts.counts
    return (counts.overwritten + counts.tombstones) / counts.live if counts.live else None


def _asks_filters(facts: StoreFacts) -> bool:
    """Tell what lookups do in the tables there are; the option is about those to come."""
    if not facts.trees:
        return not facts.options.hash_index
    return not all(handle.table().has_hash_index for handle in facts.trees[0].tree.handles())


def _explained_hits(tree: TreeFacts) -> list[GetExplanation]:
    return [explain_get((), tree.tree, key) for key in _some(tree.census.keys)]


def _hits(tree: TreeFacts, explained: Sequence[GetExplanation], *, asks_filters: bool) -> LookupCost | None:
    expected = 1.0
    if asks_filters and explained:
        # The filters above the level in which it lies, each of which may let it pass in vain.
        rates = {level.level: level.false_positive_rate for level in tree.levels}
        expected += fmean(
            sum(rates[probe.level] for probe in one.table_probes if not probe.is_found) for one in explained
        )
    return _cost(explained, expected)


def _misses(tree: TreeFacts, *, asks_filters: bool) -> LookupCost | None:
    absent = [key + b"\0" for key in _some(tree.census.keys)]
    explained = [one for one in (explain_get((), tree.tree, key) for key in absent) if one.value is None]
    expected = theory_of_misses(tree) if asks_filters else 0.0
    return _cost(explained, expected)


def theory_of_misses(tree: TreeFacts) -> float:
    """Return the blocks that the lookup of an absent key reads: the wrong answers of all runs."""
    return sum((level.tables if level.level == 0 else 1) * level.false_positive_rate for level in tree.levels)


def _some(keys: Sequence[bytes]) -> Sequence[bytes]:
    return keys[:: 1 + len(keys) // LOOKUPS]


def _cost(explained: Sequence[GetExplanation], predicted: float | None) -> LookupCost | None:
    if not explained:
        return None
    return LookupCost(
        lookups=len(explained),
        blocks=fmean(one.block_reads for one in explained),
        tables=fmean(one.tables for one in explained),
        filters=fmean(one.filter_probes for one in explained),
        predicted_blocks=predicted,
    )


def _level_reads(tree: TreeFacts, hits: Sequence[GetExplanation]) -> Iterator[LevelReads]:
    # A key with a zero byte behind it is most likely not there, and lies where keys lie.
    absent = sorted(key + b"\0" for key in tree.census.keys)
    ends = [one.table_probes[-1].level for one in hits if one.value is not None]
    for level in tree.levels:
        handles = tree.tree.l0 if level.level == 0 else tree.tree.levels[level.level - 1]
        answers = [_false_positives(handle, absent) for handle in handles] if level.bits_per_key else []
        probes, passed = sum(asked for asked, _ in answers), sum(wrong for _, wrong in answers)
        yield LevelReads(
            keyspace=tree.name,
            level=level.level,
            runs=level.tables if level.level == 0 else 1,
            found_share=ends.count(level.level) / len(ends) if ends else None,
            bits_per_key=level.bits_per_key,
            probes=probes,
            false_positive_rate=passed / probes if probes else None,
            predicted=level.false_positive_rate,
        )


def _false_positives(handle: TableHandle, absent: Sequence[bytes]) -> tuple[int, int]:
    """Return how many absent keys lie in a table's range, and how many its filter lets pass."""
    meta = handle.meta
    first, stop = bisect_left(absent, meta.smallest), bisect_right(absent, meta.largest)
    if first >= stop:
        return 0, 0
    with naming(handle.path):
        table = handle.table()
        passed = table.may_contain_many(*key_hashes(absent[first:stop]))
        # Those that are there after all have not passed in vain.
        there = sum(
            table.get_entry(key) is not None
            for key, has_passed in zip(absent[first:stop], passed.tolist(), strict=True)
            if has_passed
        )
    return stop - first - there, int(passed.sum()) - there


def _notes(facts: StoreFacts, largest: TreeFacts, *, asks_filters: bool) -> Iterator[str]:
    l0 = len(largest.tree.l0)
    parts = [plural(l0, "table") + " of L0"] if l0 else []
    if largest.runs > l0:
        parts.append(plural(largest.runs - l0, "level"))
    yield f"A scan merges {' and '.join(parts)}, whatever it returns; filters do not help it."
    if (skipped := _skipped_per_entry(facts)) is not None and skipped >= 0.005:
        yield f"It passes over {skipped:.2f} hidden or deleted entries for each one that it returns."
    bits = facts.options.bloom_bits_per_key
    if not asks_filters:
        yield "Lookups ask the hash index, which knows the place of a key; only multi_get asks filters."
    elif not any(level.bits_per_key for level in largest.levels):
        yield "There are no filters: a lookup reads a block of every run that reaches as far as the key."
    else:
        yield "Formula: a filter of b bits a key lets 0.6185^b of absent keys pass; a miss asks every run."
        if facts.options.bloom_sharing == "monkey":
            uniform = theory.miss_uniform(largest.runs, bits)
            yield (
                f"Bits are shared out by size: a miss should read {theory_of_misses(largest):.4f} blocks; "
                f"with {bits:g} bits for every run it would be {uniform:.4f}."
            )
