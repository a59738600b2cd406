"""Disk use: where every byte is, and why there are more of them than live ones."""

from collections.abc import Iterator
from dataclasses import dataclass

from compaction import theory
from compaction.predict import level_sizes
from lsm.explain.census import Counts
from lsm.explain.facts import StoreFacts
from lsm.explain.text import plural, size


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePart:
    """Bytes that are there for one reason."""

    name: str
    size_bytes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceExplanation:
    """Where the bytes of the directory are."""

    parts: tuple[SpacePart, ...]
    live_bytes: int
    """Keys and values that are the newest of their key in tables."""
    total_bytes: int
    space_amp: float | None
    """Bytes in tables over live ones; None without live ones."""
    space_amp_with_log: float | None
    """All bytes on disk over live ones."""
    predicted: float | None
    is_sample: bool
    """Whether live and overwritten bytes are estimates from a sample of key ranges."""
    notes: tuple[str, ...]


def explain_space(facts: StoreFacts) -> SpaceExplanation:
    """Say where the bytes are, and why."""
    counts, disk = facts.counts, facts.disk
    live_bytes, formula = counts.live_bytes, _formula(facts)
    return SpaceExplanation(
        parts=tuple(part for part in _parts(facts, counts) if part.size_bytes),
        live_bytes=live_bytes,
        total_bytes=disk.total,
        space_amp=facts.table_bytes / live_bytes if live_bytes else None,
        space_amp_with_log=disk.total / live_bytes if live_bytes else None,
        predicted=formula[0] * facts.format_share if live_bytes and formula is not None else None,
        is_sample=facts.is_sample,
        notes=tuple(_notes(facts, counts)),
    )


def _parts(facts: StoreFacts, counts: Counts) -> Iterator[SpacePart]:
    def part(name: str, size_bytes: int, why: str) -> SpacePart:
        return SpacePart(name=name, size_bytes=size_bytes, why=why)

    disk, about = facts.disk, "about " if facts.is_sample else ""
    yield part("live", counts.live_bytes, f"{about}{plural(counts.live, 'key')} with their newest values")
    entries = plural(counts.overwritten, "older version")
    yield part("overwritten", counts.overwritten_bytes, f"{about}{entries}, hidden by newer ones above them")
    tombstones = plural(counts.tombstones, "deletion")
    yield part("tombstones", counts.tombstone_bytes, f"{about}{tombstones} on the way to what they delete")
    # What files hold beside keys and values; tables that came or went meanwhile are in neither figure.
    yield part("format", facts.table_bytes - counts.user_bytes, _why_format(facts))
    yield part("log", disk.log_needed, "not in tables yet, and room reserved for the next writes")
    yield part(
        "log kept", disk.log_retained, "nothing that tables lack: kept by retention, consumers or followers"
    )
    yield part("waiting", disk.waiting, "tables being written, or still read by somebody")
    yield part("pins, inbox", disk.pinned, "held for readers in other processes, or to be taken over")
    yield part("manifest", disk.manifest, "which files belong to the store, and what they have cost")
    yield part("other", disk.other, "small files of the store, and what is not its own")


def _why_format(facts: StoreFacts) -> str:
    added = (facts.table_bytes - facts.user_bytes) / max(1, facts.entries)
    codec = facts.options.compression
    if codec != "none":
        return f"{added:+.1f} bytes an entry: index, filter and headers, less what {codec} saves"
    what = "hash index, filter, numbers" if facts.options.hash_index else "filter, numbers, index"
    return f"{added:.1f} bytes an entry: {what} and headers"


def _formula(facts: StoreFacts) -> tuple[float, str] | None:
    """Return what the policy makes of live bytes, before the format, and how; None before any compaction."""
    shape = facts.shape
    ratio = shape.level_ratio
    compacted = [tree for tree in facts.trees if tree.is_compacted and tree.data_bytes]
    if not compacted:
        return None
    if shape.policy == "tiered":
        return theory.tiered_space_amp(ratio), f"at most one copy of everything for each of {ratio} runs"
    if shape.policy == "lazy":
        return theory.lazy_space_amp(ratio), f"1 + 1/ratio = {theory.lazy_space_amp(ratio):.2f} at most"
    sizes = level_sizes(shape, compacted[0].data_bytes)
    if len(sizes) == 1:
        return 1.0, "one level below L0, in which nothing is hidden"
    amp, ideal = sum(sizes) / sizes[-1], theory.leveled_space_amp(ratio)
    return (
        amp,
        f"{len(sizes)} levels at their targets are {amp:.2f} of the last, ratio/(ratio - 1) = {ideal:.2f}",
    )


def _notes(facts: StoreFacts, counts: Counts) -> Iterator[str]:
    if not facts.table_bytes:
        return
    formula = _formula(facts)
    if counts.live_bytes and formula is not None:
        amp, words = formula
        share = facts.format_share
        yield f"Formula: {words}, times {share:.2f} for the format: {amp * share:.2f}."
    garbage_bytes = counts.overwritten_bytes + counts.tombstone_bytes
    if counts.user_bytes and garbage_bytes / counts.user_bytes >= 0.02:
        yield (
            f"{garbage_bytes / counts.user_bytes:.0%} of the bytes in tables are of no use any more; "
            f"`db.compact()` or `lsm compact` would free about {size(garbage_bytes * facts.format_share)}."
        )
    worst = max(facts.disk.log_retained, facts.disk.log_needed)
    if worst > facts.table_bytes and facts.disk.log_retained == worst:
        yield "Most of it is log that is kept: log_retention_bytes and consumers decide how much."
    if facts.memory_keys:
        yield (
            f"What {plural(facts.memory_keys, 'key')} in memory will hide or delete in tables is not counted "
            "before it is flushed."
        )
    if facts.is_sample:
        yield "Live, overwritten and deleted were estimated from a sample of key ranges."
