"""The sheets of `simulate`."""

from collections.abc import Sequence

from bench.ranges import size_text
from bench.sheet import Sheet
from bench.simulate.doing import Done
from bench.simulate.outcome import Outcome, unbeaten
from bench.simulate.source import Source

FRONTIER_NOTE = (
    "* on the frontier: no other is as good in write, space, miss and scan figures, and better in one"
)
_HEAD = [
    "policy",
    "ratio",
    "memtable",
    "bits",
    "sharing",
    "write amp",
    "tree only",
    "space amp",
    "peak",
    "miss blocks",
    "scan runs",
    "flushes",
    "merges",
    "frontier",
]


def outcome_sheet(source: Source, outcomes: Sequence[Outcome]) -> Sheet:
    """Show what every variant costs."""
    best = unbeaten([outcome.cost for outcome in outcomes])
    sheet = Sheet(source.title, _HEAD)
    sheet.rows = [_row(outcome, is_best) for outcome, is_best in zip(outcomes, best, strict=True)]
    sheet.notes = [
        "write amp: log, flush and compaction over user bytes; tree only: flush and compaction over flush",
        "space amp: tables over live bytes, on average; peak: with the outputs of the merge that ran",
        "miss blocks: read by the lookup of an absent key; with hash_index=True that is asked, and no filter",
        FRONTIER_NOTE,
        "simulated: a background that keeps up; no snapshots, no compression, no age of tombstones",
        *source.notes,
    ]
    if source.trace.sample > 1:
        sheet.notes.append(
            f"one key in {source.trace.sample} was simulated: {len(source.trace.writes):,} "
            f"of {source.trace.count:,} writes"
        )
    return sheet


def _row(outcome: Outcome, is_best: bool) -> list[str]:
    options, cost, figures = outcome.variant.options, outcome.cost, outcome.to_figures()
    return [
        options.policy,
        str(options.level_ratio),
        size_text(options.seal_bytes),
        f"{options.bloom_bits_per_key:g}",
        options.bloom_sharing,
        f"{cost.write_amp:.2f}",
        f"{figures['tree_write_amp']:.2f}",
        f"{cost.space_amp:.2f}",
        f"{figures['space_amp_peak']:.2f}",
        f"{cost.miss_blocks:.3f}",
        f"{cost.scan_runs:.1f}",
        f"{outcome.figures.flushes:,}",
        f"{outcome.figures.merges:,}",
        "*" if is_best else "",
    ]


def speed_sheet(source: Source, outcomes: Sequence[Outcome], done: Done | None) -> Sheet:
    """Show how long it took, and how long doing it would take."""
    total = source.seconds + sum(outcome.seconds for outcome in outcomes)
    sheet = Sheet("Time", ["what", "seconds", "times faster"])
    sheet.rows = [
        ["read or make the stream, once", f"{source.seconds:.3f}", ""],
        [f"simulate one variant (mean of {len(outcomes)})", f"{each_seconds(outcomes):.4f}", ""],
        ["all of that", f"{total:.3f}", ""],
    ]
    if done is None:
        return sheet
    one, all_ = doing_seconds(source, done), doing_seconds(source, done) * len(outcomes)
    sheet.rows += [
        ["do one variant to a real store", f"{one:.1f}", f"{times_faster(source, outcomes, done):,.0f}"],
        ["do all of that", f"{all_:.1f}", f"{all_ / max(total, 1e-9):,.0f}"],
    ]
    is_whole = done.writes >= source.trace.count
    sheet.notes.append(
        "all of one variant was done"
        if is_whole
        else f"{done.writes:,} of {source.trace.count:,} writes were done in {done.seconds:.1f} s, "
        "and the rest is in proportion; a store that has grown takes longer still"
    )
    return sheet


def each_seconds(outcomes: Sequence[Outcome]) -> float:
    """Return how long one variant took to simulate, on average."""
    return sum(outcome.seconds for outcome in outcomes) / len(outcomes)


def doing_seconds(source: Source, done: Done) -> float:
    """Return how long all of it takes, in proportion to what was done."""
    return done.seconds * source.trace.count / max(1, done.writes)


def times_faster(source: Source, outcomes: Sequence[Outcome], done: Done) -> float:
    """Return how often one variant is simulated while it is done once."""
    return doing_seconds(source, done) / max(each_seconds(outcomes), 1e-9)


def check_sheet(outcome: Outcome, done: Done) -> Sheet:
    """Show simulated beside measured figures of the same stream."""
    rows = [("tree write amplification", outcome.figures.tree_write_amp, done.tree_write_amp)]
    rows.append(("space amplification", outcome.figures.space_amp, done.space_amp))
    return Sheet(
        f"The simulator beside a real store, on the same stream: {outcome.variant.label}",
        ["figure", "simulated", "measured", "off by"],
        [
            [name, f"{simulated:.3f}", f"{measured:.3f}", f"{simulated / measured - 1:+.1%}"]
            for name, simulated, measured in rows
            if measured is not None
        ],
    )
