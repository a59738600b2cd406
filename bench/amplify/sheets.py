"""The sheets of `amplify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.amplify.write_rows import checks
from bench.counting.engine_line import engine_line
from bench.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.amplify.advice import Choice
    from bench.amplify.amplification import Amplification
    from bench.amplify.lookups import LookupTally, Reads
    from bench.amplify.monkey_twin import MonkeyGain
    from bench.amplify.space import Space
    from bench.amplify.write_rows import WriteCosts

_NONE = "–"
_MIB = 1024 * 1024


def amplify_sheets(found: Amplification) -> list[Sheet]:
    """Return what a reader wants to see, in order."""
    sheets = []
    costs = found.costs()
    if costs is not None:
        sheets += [write_sheet(costs, found.title), check_sheet(costs)]
        sheets[0].notes.append(engine_line(found.options, found.settings.place))
    if found.reads is not None:
        sheets += [read_sheet(found.reads), filter_sheet(found.reads)]
    if found.monkey is not None:
        sheets.append(monkey_sheet(found.monkey))
    if found.space is not None:
        sheets.append(space_sheet(found.space, found.figures()))
    if found.choices:
        sheets.append(advice_sheet(found.choices))
    if not sheets:
        sheets.append(Sheet(found.title, ["nothing was measured"]))
    sheets[-1].notes += found.notes()
    return sheets


def write_sheet(costs: WriteCosts, title: str) -> Sheet:
    """Show write amplification by cause and level."""
    sheet = Sheet(
        f"{title}\nWrite amplification: bytes written for each user byte",
        ["", "measured", "formula", "simulated", "what it is"],
        [
            [row.name, _ratio(row.measured), _ratio(row.predicted), _ratio(row.simulated), row.what]
            for row in costs.rows()
        ],
        is_last_text=True,
    )
    counters, user = costs.spent.os, max(1, costs.spent.user_bytes)
    if counters is not None:
        what = f"the system's {counters.best_name} / user bytes"
        sheet.rows.append(["system", _ratio(counters.best_bytes / user), _NONE, _NONE, what])
    return sheet


def check_sheet(costs: WriteCosts) -> Sheet:
    """Show what was counted twice."""
    return Sheet(
        "Bytes counted twice while measuring",
        ["", "bytes", "and", "ratio", "counted by"],
        [
            [
                check.name,
                f"{check.one:,}",
                f"{check.other:,}",
                f"{check.ratio:.4f}",
                f"{check.one_is}; {check.other_is}",
            ]
            for check in checks(costs.spent)
        ],
        is_last_text=True,
    )


def read_sheet(reads: Reads) -> Sheet:
    """Show read amplification: figures for each lookup, or for each scan."""
    scans = reads.scans
    sheet = Sheet(
        "Read amplification: for each lookup, or each scan",
        ["", "samples", "blocks", "predicted", "tables asked", "filters asked", "skipped an entry"],
        [_lookup_row("hit", reads.hits), _lookup_row("miss", reads.misses)],
    )
    sheet.rows.append(
        [
            "scan",
            f"{scans.scans:,}",
            f"{scans.blocks / max(1, scans.scans):.3f}",
            _NONE,
            f"{scans.mean_runs:.2f} runs",
            _NONE,
            f"{scans.skipped_per_entry:.3f}",
        ]
    )
    return sheet


def _lookup_row(name: str, tally: LookupTally) -> list[str]:
    predicted = f"{tally.predicted_blocks:.4f}" if tally.filter_probes else _NONE
    return [
        name,
        f"{tally.lookups:,}",
        f"{tally.mean_blocks:.4f}",
        predicted,
        f"{tally.mean_tables:.3f}",
        f"{tally.mean_filter_probes:.3f}",
        _NONE,
    ]


def filter_sheet(reads: Reads) -> Sheet:
    """Show false positives by level."""
    levels = [(f"L{level}", tally) for level, tally in sorted(reads.misses.filters.items())]
    return Sheet(
        "Filters, asked for keys that are not there: false positives / probes",
        ["level", "bits a key", "probes", "false positives", "measured", "predicted", "by chance"],
        [
            [
                name,
                f"{tally.bits_per_key:.1f}",
                f"{tally.probes:,}",
                f"{tally.false_positives:,}",
                f"{tally.measured:.4%}",
                f"{tally.predicted:.4%}",
                f"± {tally.error:.4%}",
            ]
            for name, tally in [*levels, ("all", reads.misses.all_filters)]
        ],
    )


def monkey_sheet(gain: MonkeyGain) -> Sheet:
    """Show what sharing out the bits has saved."""
    return Sheet(
        "Monkey: blocks read for a key that is not there, two stores from one stream",
        ["uniform", "monkey", "times fewer", "by their bits", "theory"],
        [
            [
                f"{gain.uniform_miss_blocks:.4f}",
                f"{gain.monkey_miss_blocks:.4f}",
                _ratio(gain.ratio),
                _ratio(gain.expected_ratio),
                _ratio(gain.predicted_ratio),
            ]
        ],
    )


def space_sheet(space: Space, figures: Mapping[str, float]) -> Sheet:
    """Show where every byte is."""
    live = max(1, space.live)
    parts = [
        ("live", space.live, "keys and values that a scan returns"),
        ("overwritten", space.overwritten, "keys and values in tables that nobody sees any more"),
        ("tombstones", space.tombstones, "keys of deletions"),
        ("format", space.format, "index, filters, sequence numbers and headers of tables"),
        ("settled", space.tables, f"tables / live; formula: {_ratio(figures.get('predicted_space_amp'))}"),
        ("log", space.log, "retained for readers of the log, and reserved for more"),
        ("temporary", space.temporary, "tables that no version has"),
        ("manifest", space.manifest, "and other small files"),
        ("total", space.total, "all files / live"),
        ("on average", space.mean, "tables / live, over all looks while measuring"),
        ("peak", space.peak, "tables and outputs of a running job / live"),
    ]
    for name, key in (("left open", "left_open_bytes"), ("left", "left_bytes")):
        if key in figures:
            what = "with the log's reserve" if name == "left open" else "closed"
            parts.append((name, int(figures[key]), f"all files after deleting all and compact(), {what}"))
    return Sheet(
        "Space amplification: bytes on disk for each live byte",
        ["", "MiB", "of live", "what it is"],
        [[name, f"{count / _MIB:,.2f}", f"{count / live:.3f}", what] for name, count, what in parts],
        is_last_text=True,
    )


def advice_sheet(choices: Sequence[Choice]) -> Sheet:
    """Show what other options would make of the store."""
    names = {
        "write_amp": "write amp",
        "space_amp": "space amp",
        "miss_blocks": "blocks of a miss",
        "scan_runs": "runs of a scan",
    }
    return Sheet(
        f"Why not better? Writes like these with one option changed, {choices[0].how}",
        ["", *names.values()],
        [[choice.text, *(_figure(choice.figures.get(name)) for name in names)] for choice in choices],
        ["write amp here is without the manifest; space amp and runs are means over time, not of the end"],
    )


def _figure(figure: float | None) -> str:
    return _NONE if figure is None else f"{figure:.3g}"


def _ratio(figure: float | None) -> str:
    return _NONE if figure is None else f"{figure:.2f}"
