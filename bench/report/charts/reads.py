"""Read amplification: what a lookup costs, and how often it costs more."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.report.bars import Row, Segment, draw_rows, longest, swatch_of_mark
from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.frame import Axes, filled, framed, legend
from bench.report.runs import Run, require
from bench.report.scale import Scale, linear, linear_to
from bench.report.svg import Canvas
from bench.report.theme import Style
from bench.report.units import short, show_count, show_share
from bench.report.values import Unusable, amount, maybe_amount, part

HIT, MISS = Style("s0"), Style("s4", texture="hatch")
_COSTS = {"blocks": "blocks read", "tables": "tables looked into", "filter_probes": "filters asked"}
_COLUMNS_MAX = 12
_KINDS = {"hit": HIT, "miss": MISS}


def cost_chart(run: Run) -> Chart | None:
    """Return what a lookup costs on the mean, of keys that are there and of keys that are not."""
    found = _kinds(run)
    bars: list[Row] = []
    for key, what in _COSTS.items():
        values = {kind: maybe_amount(value.get(key)) for kind, value in found.items()}
        known = {kind: value for kind, value in values.items() if value is not None}
        for number, (kind, value) in enumerate(known.items()):
            bars.append(
                Row(
                    label=f"{what}, {kind}",
                    segments=[Segment(value, _KINDS[kind], f"{kind}: {short(value)} {what}")],
                    text=short(value),
                    mark=run.figure(f"predicted_{kind}_{key}"),
                    apart=not number,
                )
            )
    if not bars:
        return None
    said = [f"{row.label} {row.text}" for row in bars]
    words = Words(
        title="What a lookup costs",
        summary=f"Mean of one get: {'; '.join(said)}.",
        table=Table(
            ["cost", "mean", "predicted"],
            [[row.label, row.text, "–" if row.mark is None else short(row.mark)] for row in bars],
        ),
        notes=_scan_notes(run),
    )
    return make_chart(run.owner, "reads", words, lambda canvas: _draw_costs(canvas, bars))


def _kinds(run: Run) -> dict[str, dict[str, Any]]:
    reads = part(run.result, "reads") or {}
    return {kind: found for kind in _KINDS if (found := part(reads, kind)) is not None}


def _scan_notes(run: Run) -> list[str]:
    scan = part(part(run.result, "reads") or {}, "scan") or {}
    names = {
        "runs": "runs merged",
        "skipped_per_entry": "entries skipped for each returned",
        "blocks": "blocks",
    }
    said = [
        f"{short(value)} {what}"
        for key, what in names.items()
        if (value := maybe_amount(scan.get(key))) is not None
    ]
    return [f"A scan: {', '.join(said)}."] if said else []


def _draw_costs(canvas: Canvas, bars: list[Row]) -> None:
    items = [(filled(HIT), "key is there"), (filled(MISS), "key is not there")]
    if any(row.mark is not None for row in bars):
        items.append((swatch_of_mark, "predicted"))
    top = legend(canvas, items)
    draw_rows(canvas, bars, linear_to(longest(bars), count=4 if canvas.is_narrow else 6), "for one get", top)


@dataclass(frozen=True, slots=True)
class _Histogram:
    """Lookups by the number of blocks that they read; the last column is that many or more."""

    columns: list[str]
    shares: dict[str, list[float]]
    counts: dict[str, list[float]]


def blocks_chart(run: Run) -> Chart | None:
    """Return how many lookups read how many blocks."""
    counts = {
        kind: _counts(histogram, f"reads: {kind}: histogram")
        for kind, value in _kinds(run).items()
        if (histogram := part(value, "histogram")) is not None
    }
    if not counts:
        return None
    most = max(max(found) for found in counts.values())
    last = min(most, _COLUMNS_MAX - 1)
    columns = [str(at) for at in range(last + 1)]
    if most > last:
        columns[-1] += " or more"
    folded = {kind: _folded(found, last) for kind, found in counts.items()}
    sums = {kind: sum(values) for kind, values in folded.items()}
    if not all(sums.values()):
        raise Unusable("reads: a histogram has no lookups")
    shares = {kind: [value / sums[kind] for value in values] for kind, values in folded.items()}
    drawn = _Histogram(columns, shares, folded)
    said = [f"{show_share(values[0])} of {kind} lookups read no block" for kind, values in shares.items()]
    words = Words(
        title="Blocks read by a lookup",
        summary="; ".join(said) + ".",
        table=Table(
            ["blocks", *(f"{kind}, {what}" for kind in shares for what in ("lookups", "share"))],
            [
                [column, *(cell for kind in shares for cell in _cells(drawn, kind, at))]
                for at, column in enumerate(columns)
            ],
        ),
    )
    return make_chart(run.owner, "read-blocks", words, lambda canvas: _draw_blocks(canvas, drawn))


def _counts(histogram: dict[str, Any], what: str) -> dict[int, float]:
    found = {}
    for key, value in histogram.items():
        if not (key.isascii() and key.isdigit() and len(key) <= 9):
            raise Unusable(f"{what} has keys that are not counts of blocks")
        found[int(key)] = amount(value, what)
    require(len(found), 1, f"columns in {what}")
    return found


def _folded(counts: dict[int, float], last: int) -> list[float]:
    values = [counts.get(at, 0.0) for at in range(last)]
    return [*values, sum(value for at, value in counts.items() if at >= last)]


def _cells(histogram: _Histogram, kind: str, at: int) -> tuple[str, str]:
    return show_count(histogram.counts[kind][at]), show_share(histogram.shares[kind][at])


def _draw_blocks(canvas: Canvas, histogram: _Histogram) -> None:
    top = legend(canvas, [(filled(_KINDS[kind]), kind) for kind in histogram.shares])
    count = len(histogram.columns)
    ticks = [(at + 0.5, text) for at, text in enumerate(histogram.columns)]
    highest = max(max(values) for values in histogram.shares.values())
    percent = [(at / 100, f"{at} %") for at in np.arange(0, 101, 20).tolist()]
    axes = Axes(
        x=Scale(low=0.0, high=float(count), ticks=ticks),
        y=Scale(low=0.0, high=1.0, ticks=percent) if highest > 0.4 else linear(highest),
        x_label="blocks read by one get",
        y_label="share of lookups",
        height=190.0,
    )
    plot = framed(canvas, axes, top)
    kinds = list(histogram.shares)
    width = 0.76 / len(kinds)
    for number, kind in enumerate(kinds):
        for at, share in enumerate(histogram.shares[kind]):
            left = at + 0.12 + number * width
            span = (plot.x.at(left), plot.x.at(left + width))
            lookups = show_count(histogram.counts[kind][at])
            tip = f"{kind}: {histogram.columns[at]} blocks, {lookups} lookups, {show_share(share)}"
            style = _KINDS[kind]
            if share:
                y = min(plot.y.at(share), plot.bottom - 1)
                canvas.rect(span, (y, plot.bottom), f"box {style.colour} {style.texture}".strip(), tip)
                middle = (span[0] + span[1]) / 2
                if span[1] - span[0] > 36:
                    canvas.text(middle, y - 4, show_share(share), "halo small", anchor="middle")


def monkey_chart(run: Run) -> Chart | None:
    """Return the block reads of misses with bits shared out by size, against the same bits for all."""
    found = part(part(run.result, "reads") or {}, "monkey")
    if found is None:
        return None
    uniform = amount(found.get("uniform_miss_blocks"), "monkey: uniform_miss_blocks")
    shared = amount(found.get("monkey_miss_blocks"), "monkey: monkey_miss_blocks")
    ratio, predicted = maybe_amount(found.get("ratio")), maybe_amount(found.get("predicted_ratio"))
    bars = [
        Row(label="same bits everywhere", segments=[Segment(uniform, MISS)], text=short(uniform)),
        Row(label="bits by level (Monkey)", segments=[Segment(shared, HIT)], text=short(shared)),
    ]
    said = "–" if predicted is None else short(predicted)
    gain = "" if ratio is None else f" {short(ratio)} times fewer, predicted {said}."
    words = Words(
        title="Filter bits shared out by level, from one budget",
        summary=f"Block reads of a miss: {short(uniform)} with the same bits a key everywhere, "
        f"{short(shared)} with more bits for smaller levels.{gain}",
        table=Table(
            ["filters", "blocks of a miss"],
            [["uniform", short(uniform)], ["Monkey", short(shared)]],
            note=gain.strip(),
        ),
    )
    scale = linear_to(longest(bars))
    return make_chart(
        run.owner, "monkey", words, lambda canvas: draw_rows(canvas, bars, scale, "blocks read by a miss")
    )
