"""Explains a whole store: writing, space, reading, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsm.explain.advice import explain_advice
from lsm.explain.explanation import Explanation, LevelExplanation
from lsm.explain.facts import LevelFacts, StoreFacts, TreeFacts, collect_facts
from lsm.explain.reads import explain_reads
from lsm.explain.space import explain_space
from lsm.explain.text import plural
from lsm.explain.writing import explain_writing

if TYPE_CHECKING:
    from compaction.shape import Shape
    from lsm.state import State


def explain_store(state: State, *, advice: bool) -> Explanation:
    """Look at a store and explain it; with `advice`, other settings are tried by the simulator."""
    facts = collect_facts(state)
    return Explanation(
        path=facts.path,
        settings=_settings(facts),
        writing=explain_writing(facts),
        space=explain_space(facts),
        levels=tuple(_level(facts.shape, tree, level) for tree in facts.trees for level in tree.levels),
        reads=explain_reads(facts),
        advice=explain_advice(facts) if advice else None,
    )


def _settings(facts: StoreFacts) -> dict[str, int | float | str | bool]:
    options = facts.options
    return {
        "policy": options.policy,
        "level_ratio": options.level_ratio,
        "memtable_bytes_max": options.seal_bytes,
        "l0_tables_max": options.l0_tables_max,
        "bloom_bits_per_key": options.bloom_bits_per_key,
        "bloom_sharing": options.bloom_sharing,
        "hash_index": options.hash_index,
        "compression": options.compression,
    }


def _level(shape: Shape, tree: TreeFacts, facts: LevelFacts) -> LevelExplanation:
    return LevelExplanation(
        keyspace=tree.name,
        level=facts.level,
        tables=facts.tables,
        size_bytes=facts.size_bytes,
        target_bytes=facts.target_bytes,
        entries=facts.entries,
        live=facts.counts.live,
        overwritten=facts.counts.overwritten,
        tombstones=facts.counts.tombstones,
        why=_why_level(shape, tree, facts),
    )


def _why_level(shape: Shape, tree: TreeFacts, facts: LevelFacts) -> str:
    is_last = facts.level == tree.levels[-1].level
    if facts.level == 0:
        return f"merged down once there are {plural(shape.l0_tables_max, 'table')}"
    if shape.policy == "tiered" or (shape.policy == "lazy" and not is_last):
        return f"one run; {shape.level_ratio} of similar size become one"
    if shape.policy == "lazy":
        return f"the last run, rewritten when what is above it comes to 1/{shape.level_ratio} of it"
    if facts.target_bytes:
        return f"kept at about 1/{shape.level_ratio} of the level below; what is over goes down"
    return (
        "the last level, from which the targets of all others follow"
        if is_last
        else "not needed, to be emptied"
    )
