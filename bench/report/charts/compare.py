"""A comparison with peers: ratios, rates, latencies, and each engine's own amplification."""

from dataclasses import dataclass
from typing import Any

from bench.report.bars import swatch_of_mark
from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.dots import Dot, DotRow, draw_dots, shape_sample
from bench.report.frame import Swatch, legend
from bench.report.runs import Run
from bench.report.scale import logarithmic
from bench.report.svg import Canvas
from bench.report.theme import Style, series_style
from bench.report.units import short, show_rate, show_times, show_us
from bench.report.values import maybe_amount, part, rows, text

_WORKLOADS_MAX = 60
_ENGINES_MAX = 8
_SIDES = 16.0  # pixels above the rows for the words on both sides of one


@dataclass(frozen=True, slots=True)
class _Spread:
    median: float
    low: float
    high: float


def _spreads(workload: dict[str, Any], name: str) -> dict[str, _Spread]:
    found = {}
    for engine, value in list((part(workload, name) or {}).items())[:_ENGINES_MAX]:
        if isinstance(value, dict):
            median = maybe_amount(value.get("median"))
            if median:
                low, high = maybe_amount(value.get("low")), maybe_amount(value.get("high"))
                found[text(engine, 24)] = _Spread(median, low or median, high or median)
    return found


def _styles(run: Run) -> dict[str, Style]:
    """Return the look of every engine, the same in all charts."""
    names = [text(name, 24) for name in list(part(run.result, "engines") or {})[:_ENGINES_MAX]]
    return {name: series_style(at) for at, name in enumerate(names)}


def ratio_chart(run: Run) -> Chart | None:
    """Return our rate as a multiple of every peer's, workload by workload."""
    styles = _styles(run)
    lines, table = [], []
    for workload in rows(run.result, "workloads", _WORKLOADS_MAX):
        name, target = text(workload.get("name"), 32), maybe_amount(workload.get("target"))
        ratios = _spreads(workload, "ratios")
        dots = [_dot(name, peer, spread, styles, show_times) for peer, spread in ratios.items()]
        if dots:
            lines.append(DotRow(label=name, dots=dots, mark=target or None))
        for peer, spread in ratios.items():
            wanted = "–" if target is None else short(target)
            spans = [show_times(value) for value in (spread.median, spread.low, spread.high)]
            table.append([name, peer, *spans, wanted, "ahead" if spread.median >= 1 else "behind"])
    if not lines:
        return None
    behind = [f"{row[0]} ({row[1]} {row[2]})" for row in table if row[-1] == "behind"]
    verdict = f"Behind in {len(behind)}: {', '.join(behind[:12])}." if behind else "Behind nowhere."
    words = Words(
        title="This store's rate as a multiple of its peers'",
        summary=f"Right of 1× it is faster: {len(table) - len(behind)} of {len(table)} cases. {verdict}",
        table=Table(["workload", "peer", "median", "lowest", "highest", "target", "verdict"], table),
    )
    return make_chart(run.owner, "ratios", words, lambda canvas: _draw_ratios(canvas, lines, styles))


def _dot(name: str, engine: str, spread: _Spread, styles: dict[str, Style], show: Any) -> Dot:
    span = f"{show(spread.median)} ({show(spread.low)} to {show(spread.high)})"
    return Dot(
        value=spread.median,
        low=spread.low,
        high=spread.high,
        style=styles.get(engine, Style("neutral")),
        tip=f"{name}, {engine}: {span}",
    )


def _draw_ratios(canvas: Canvas, lines: list[DotRow], styles: dict[str, Style]) -> None:
    peers = {dot.style: None for line in lines for dot in line.dots}
    names = {style: name for name, style in styles.items()}
    items: list[tuple[Swatch, str]] = [
        (shape_sample(style), f"to {names.get(style, 'others')}") for style in peers
    ]
    if any(line.mark is not None for line in lines):
        items.append((swatch_of_mark, "target against RocksDB"))
    top = legend(canvas, items) + _SIDES
    values = [
        value for line in lines for dot in line.dots for value in (dot.low, dot.high, line.mark) if value
    ]
    scale = logarithmic(min(*values, 0.8), max(*values, 1.25), show_times, tight=True)
    x = draw_dots(canvas, lines, scale, "times the peer's rate, by logarithm", top)
    one = x.at(1.0)
    canvas.line((one, one), (top - _SIDES + 2, canvas.height - 42), "axis")
    canvas.text(one - 8, top - 5, "peer is faster", "soft small", anchor="end")
    canvas.text(one + 8, top - 5, "this store is faster", "soft small")


def rates_chart(run: Run) -> Chart | None:
    """Return operations a second of every engine, workload by workload."""
    styles = _styles(run)
    lines, table = [], []
    for workload in rows(run.result, "workloads", _WORKLOADS_MAX):
        name = text(workload.get("name"), 32)
        rates = _spreads(workload, "rates")
        if rates:
            dots = [_dot(name, engine, spread, styles, show_rate) for engine, spread in rates.items()]
            lines.append(DotRow(label=name, dots=dots))
        table += [
            [name, engine, *(show_rate(value) for value in (spread.median, spread.low, spread.high))]
            for engine, spread in rates.items()
        ]
    if not lines:
        return None
    words = Words(
        title="Operations a second, by engine",
        summary="Median of all rounds, with a line from the slowest to the fastest. "
        + "; ".join(f"{line.label} {show_rate(line.dots[0].value)}" for line in lines[:12])
        + f" ({table[0][1]}).",
        table=Table(["workload", "engine", "median", "lowest", "highest"], table),
    )
    label = "operations a second, by logarithm"
    return make_chart(
        run.owner, "engine-rates", words, lambda canvas: _draw_dots(canvas, lines, styles, (label, show_rate))
    )


def tails_chart(run: Run) -> Chart | None:
    """Return the latency of single operations: p99 with a line from p50 to p99.9."""
    styles = _styles(run)
    lines, table = [], []
    for workload in rows(run.result, "workloads", _WORKLOADS_MAX):
        name, found = text(workload.get("name"), 32), part(workload, "latencies_us") or {}
        dots = []
        for engine, value in list(found.items())[:_ENGINES_MAX]:
            percentiles = value if isinstance(value, dict) else {}
            times = [maybe_amount(percentiles.get(key)) for key in ("p50", "p99", "p999", "max")]
            if all(times):
                p50, p99, p999, longest_us = (time or 0.0 for time in times)
                dots.append(_dot(name, text(engine, 24), _Spread(p99, p50, p999), styles, show_us))
                shown = [show_us(time) for time in (p50, p99, p999, longest_us)]
                table.append([name, text(engine, 24), *shown])
        if dots:
            lines.append(DotRow(label=name, dots=dots))
    if not lines:
        return None
    words = Words(
        title="Latency of single operations, by engine",
        summary="The shape is p99; its line goes from p50 to p99.9. "
        + "; ".join(f"{row[0]} {row[1]} p99 {row[3]}" for row in table[:8])
        + ".",
        table=Table(["workload", "engine", "p50", "p99", "p99.9", "max"], table),
    )
    label = "time of one operation, by logarithm"
    return make_chart(
        run.owner, "engine-latency", words, lambda canvas: _draw_dots(canvas, lines, styles, (label, show_us))
    )


def _draw_dots(canvas: Canvas, lines: list[DotRow], styles: dict[str, Style], axis: tuple[str, Any]) -> None:
    used = {dot.style for line in lines for dot in line.dots}
    top = legend(canvas, [(shape_sample(style), name) for name, style in styles.items() if style in used])
    values = [value for line in lines for dot in line.dots for value in (dot.low, dot.high) if value]
    scale = logarithmic(min(values), max(values), axis[1], tight=True)
    draw_dots(canvas, lines, scale, axis[0], top)
