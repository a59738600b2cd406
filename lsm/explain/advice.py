"""Which single change would help most: the present settings and others, tried by the simulator."""

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.simulate import Costs, Filters, Settings
from compaction.whatif import Advice, Facts, Figure, Outcome, what_if
from lsm.explain.facts import StoreFacts, TreeFacts

FIGURES: dict[Figure, str] = {
    "write_amp": "write amp",
    "space_amp": "space amp",
    "miss_blocks": "blocks of a miss",
    "scan_runs": "runs of a scan",
}


_DELETES_MAX = 0.5
"""In the long run nothing is deleted that was not put."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One changed option, and the figures with it."""

    option: str
    value: int | float | str
    text: str
    """Such as "memtable of 64 MiB instead of 16 MiB"."""
    figures: dict[str, float]
    helps: str
    """Which figure it was chosen for, or "" for all of them weighed together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceExplanation:
    """What a stream like the store's own would cost now, and with single changes."""

    how: str
    """ "simulated"; "predicted" by formulas if the store is too large for that; "too small" for either."""
    present: dict[str, float]
    best: Suggestion | None
    """The change that helps most on the whole; None if none does."""
    others: tuple[Suggestion, ...]
    """For single figures, whatever else they cost."""


def explain_advice(facts: StoreFacts) -> AdviceExplanation | None:
    """Try single changes; None if there is nothing to go by."""
    stream = _stream(facts)
    if stream is None:
        return None
    settings = _settings(facts)
    log_bytes = stream.keys * (stream.entry_bytes + settings.log_bytes_per_write)
    if log_bytes < settings.shape.memtable_bytes:  # hardly a tree, whatever its settings
        return AdviceExplanation(how="too small", present={}, best=None, others=())
    advice = what_if(settings, stream)
    best = advice.best
    return AdviceExplanation(
        how=advice.present.how,
        present=_figures(advice, None),
        best=None if best is None else _suggestion(advice, best, ""),
        others=tuple(_others(advice, best)),
    )


def _settings(facts: StoreFacts) -> Settings:
    options = facts.options
    share = min(1.0, facts.format_share) if options.compression != "none" else 1.0
    return Settings(
        shape=facts.shape,
        filters=Filters(bits_per_key=options.bloom_bits_per_key, sharing=options.bloom_sharing),
        costs=Costs(hash_index=options.hash_index, block_bytes=options.block_bytes, compressed_share=share),
    )


def _stream(facts: StoreFacts) -> Facts | None:
    """Return what is known of the writes to the largest keyspace; None if it has no live key."""
    if not facts.trees:
        return None
    largest, work = facts.trees[0], facts.work
    counts = largest.census.whole
    if not counts.live or not work.user_bytes:
        return None
    key_bytes = sum(map(len, largest.census.keys)) / max(1, len(largest.census.keys))
    entry_bytes = counts.live_bytes / counts.live
    came = (work.flush_bytes + work.load_bytes) / facts.format_share
    return Facts(
        keys=counts.live,
        key_bytes=min(key_bytes, entry_bytes),
        value_bytes=max(0.0, entry_bytes - key_bytes),
        delete_share=_delete_share(largest),
        flushed_share=min(1.0, came / work.user_bytes),
        is_rising=facts.is_rising,
    )


def _delete_share(tree: TreeFacts) -> float:
    """Return how many of the newest entries are deletions: those that have not been compacted yet."""
    newest = tree.levels[0]
    if newest.level != 0:
        return 0.0
    share = sum(handle.meta.tombstones for handle in tree.tree.l0) / newest.entries
    return min(_DELETES_MAX, share)


def _others(advice: Advice, best: Outcome | None) -> Iterator[Suggestion]:
    named = {best.change.text} if best is not None else set()
    for figure in FIGURES:
        outcome = advice.best_for(figure)
        if outcome is not None and outcome.change.text not in named:
            named.add(outcome.change.text)
            yield _suggestion(advice, outcome, figure)


def _suggestion(advice: Advice, outcome: Outcome, helps: str) -> Suggestion:
    change = outcome.change
    return Suggestion(
        option=change.option,
        value=change.value,
        text=change.text,
        figures=_figures(advice, outcome),
        helps=helps,
    )


def _figures(advice: Advice, outcome: Outcome | None) -> dict[str, float]:
    cost = advice.present if outcome is None else outcome.cost
    return {figure: cost.figure(figure) for figure in FIGURES}
