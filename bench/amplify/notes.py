"""What must be said beside the figures: how they came about, and where theory is known to be off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.amplify.stream import is_uniform
from compaction.simulate import predict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.amplify.amplification import Amplification
    from bench.amplify.moment import Moment
    from bench.amplify.write_rows import Row, WriteCosts
    from bench.counting.os_counters import OsCounters

_FAR = 0.2
"""A prediction further off than this is pointed out."""
_OS_FAR = 0.05
_SMALL_ROW = 0.1
"""Rows below this many bytes a user byte are not."""
_SMALL_FILTER_KEYS = 1000


def notes_of(found: Amplification) -> list[str]:
    """Return all notes on a run."""
    return [*_on_stream(found), *_on_writes(found), *_on_reads(found), *_on_space(found)]


def _on_stream(found: Amplification) -> Iterator[str]:
    settings, options = found.settings, found.options
    if not settings.is_steady:
        yield (
            "fewer than three data sets were overwritten: this is no steady state, and the formulas mean one"
        )
    if not is_uniform(settings):
        yield f"no formula holds for {settings.dist} overwrites: only the simulator's figures stand beside"
    if settings.free:
        yield (
            "the store ran free: where the background lags behind, L0 is merged in larger parts than formula "
            "and simulator know, and less is written"
        )
    if options.compression != "none":
        yield "values are random bytes: compression finds little, and formula and simulator expect nothing"
    if options.sync == "always":
        yield "every write was synced: the system counts a whole page of the log for each"


def _on_writes(found: Amplification) -> Iterator[str]:
    costs = found.costs()
    if costs is None:
        return
    if not found.tables:
        yield "stopped while writing: what the last writes would still have cost in compaction is missing"
    yield _os_note(costs.spent.os)
    yield from _os_difference(costs.spent)
    if costs.formula is not None and found.options.policy == "leveled":
        yield (
            f"formula: a table that goes down is merged with {predict.OVERLAP_SHARE:g} of the level ratio "
            "times its bytes; that share comes from experience, the rest from sizes"
        )
    yield from _far_rows(costs)


def _os_note(counters: OsCounters | None) -> str:
    if counters is None:
        return "the operating system shows no counter of bytes written here"
    if not counters.stored_bytes:
        return (
            "the system's counter is wchar, what this process and its workers handed to write(): the file "
            "system of the store counts no bytes as sent to a disk (write_bytes is 0)"
        )
    return (
        "the system's counter is write_bytes of this process and its workers: whole pages, and what the file "
        "system writes for itself at a sync; wchar, what was handed to write(), has pipes in it"
    )


def _os_difference(spent: Moment) -> Iterator[str]:
    if spent.os is None or not spent.os.stored_bytes or not spent.total_bytes:
        return
    more = spent.os.stored_bytes / spent.total_bytes - 1
    if abs(more) > _OS_FAR:
        yield (
            f"write_bytes is {more:+.0%} against the file system layer: a page that went to disk half full "
            "counts again, and where files are small the file system's own blocks weigh more; wchar has only "
            "the bytes"
        )


def _far_rows(costs: WriteCosts) -> Iterator[str]:
    for row in costs.rows():
        for source, figure in (("formula", row.predicted), ("simulator", row.simulated)):
            if figure is not None and _is_far(row, figure):
                yield f"{row.name}: the {source} is off by {figure / row.measured - 1:+.0%}"


def _is_far(row: Row, figure: float) -> bool:
    return row.measured >= _SMALL_ROW and abs(figure / row.measured - 1) > _FAR


def _on_reads(found: Amplification) -> Iterator[str]:
    if found.reads is None:
        return
    yield "blocks are counted wherever they come from: the map, a cache or the disk"
    if found.options.hash_index:
        yield (
            "gets go by the hash index and ask no filter: false positives are what the filters would have "
            "answered; hash_index=false lets gets ask them"
        )
    filters = found.reads.misses.all_filters
    if filters.probes and filters.false_positives < 400:
        yield (
            f"{filters.false_positives} false positives were seen: the rate is known to "
            f"{filters.error / max(filters.predicted, 1e-12):.0%} or so; more --samples make it sharper"
        )
    small = min((table.distinct_keys for table in found.tables), default=_SMALL_FILTER_KEYS)
    if small < _SMALL_FILTER_KEYS:
        yield (
            f"filters over few keys (the smallest table has {small:,}) are wrong more often than theory, "
            "which takes a filter's bits for independent: with 100 keys and 19 bits a key, about 2.5 times"
        )
    gain = found.monkey
    if gain is not None and gain.predicted_ratio is not None:
        yield (
            f"Monkey's theory means {gain.levels} full levels, each {found.options.level_ratio} times "
            "the one above; where a level is nearly empty, it has bits to spare and the gain is another"
        )


def _on_space(found: Amplification) -> Iterator[str]:
    space = found.space
    if space is None:
        return
    live = max(1, space.live)
    pairs = space.live + space.overwritten + space.tombstones
    yield (
        f"space: keys and values in tables are {pairs / live:.3f} of the live ones; index, filters and "
        f"headers of tables add {space.format / live:.3f}"
    )
    yield (
        "peak: tables before a job and its outputs beside them, the highest over all jobs while measuring, "
        "without the log"
    )
    if found.left_bytes is not None:
        yield "left: all files, in blocks of the disk; the open store reserves room for its log"
