"""Several runs side by side: what each wrote, how fast each was, how long its slow operations took."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np

from bench.report.bars import Row, Segment, draw_rows, longest, swatch_of_mark
from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.charts.latency import percentile_chart, percentiles_of
from bench.report.charts.rate import Rates, rates_of
from bench.report.charts.write_amp import cause_style
from bench.report.frame import Axes, EndLabel, end_labels, filled, framed, label_room, legend, stroked
from bench.report.marks import line
from bench.report.runs import ALL_RUNS, Run
from bench.report.scale import linear_to
from bench.report.svg import Canvas
from bench.report.theme import series_style
from bench.report.timeline import timeline_of
from bench.report.units import count_unit, short, show_rate, show_seconds, time_unit
from bench.report.values import Unusable

T = TypeVar("T")
_RUNS_MAX = 12
_LINES_MAX = 8
_POINTS = 120
_CAUSES = {
    "log": "log_write_amp",
    "flush": "flush_write_amp",
    "compaction": "compaction_write_amp",
    "manifest": "manifest_write_amp",
}
_UNSPLIT = "total, not by cause"
_UNSPLIT_STYLE = series_style(0)


def write_amp_together(runs: Sequence[Run]) -> Chart | None:
    """Return what every run wrote for each byte of users, by cause."""
    bars, table = [], []
    for run in runs[:_RUNS_MAX]:
        causes = {cause: run.figure(name) for cause, name in _CAUSES.items()}
        known = {cause: value for cause, value in causes.items() if value is not None}
        total, predicted = run.figure("write_amp"), run.figure("predicted_write_amp")
        if total is None:
            total = sum(known.values()) if known else None
        if total is None:
            continue
        segments = [
            Segment(value, cause_style(cause), f"{run.label}, {cause}: {short(value)}")
            for cause, value in known.items()
        ] or [Segment(total, _UNSPLIT_STYLE, f"{run.label}: {short(total)}")]
        bars.append(Row(label=run.label, segments=segments, text=short(total), mark=predicted))
        cells = ["–" if value is None else short(value) for value in (*causes.values(), total, predicted)]
        table.append([run.label, *cells])
    if len(bars) < 2:
        return None
    words = Words(
        title="Write amplification of each run",
        summary="Bytes written for each byte of users: "
        + "; ".join(f"{row.label} {row.text}" for row in bars)
        + ".",
        table=Table(["run", *_CAUSES, "total", "predicted"], table),
    )
    return make_chart(ALL_RUNS, "write-amp", words, lambda canvas: _draw_causes(canvas, bars))


def _draw_causes(canvas: Canvas, bars: list[Row]) -> None:
    items = [(filled(cause_style(cause)), cause) for cause in _CAUSES]
    if any(segment.style == _UNSPLIT_STYLE for row in bars for segment in row.segments):
        items.append((filled(_UNSPLIT_STYLE), _UNSPLIT))
    if any(row.mark is not None for row in bars):
        items.append((swatch_of_mark, "predicted"))
    top = legend(canvas, items)
    scale = linear_to(longest(bars), count=4 if canvas.is_narrow else 6)
    draw_rows(canvas, bars, scale, "bytes written for each byte of users", top)


def _simple(name: str, title: str, figure: str, label: str) -> Callable[[Sequence[Run]], Chart | None]:
    """Return the maker of a chart with one bar a run."""

    def make(runs: Sequence[Run]) -> Chart | None:
        found = [(run, value) for run in runs[:_RUNS_MAX] if (value := run.figure(figure)) is not None]
        if len(found) < 2:
            return None
        bars = [
            Row(
                label=run.label,
                segments=[Segment(value, series_style(0), f"{run.label}: {short(value)}")],
                text=short(value),
                mark=run.figure(f"predicted_{figure}"),
            )
            for run, value in found
        ]
        words = Words(
            title=title,
            summary="; ".join(f"{row.label} {row.text}" for row in bars) + ".",
            table=Table(["run", label], [[row.label, row.text] for row in bars]),
        )
        scale = linear_to(longest(bars))
        return make_chart(ALL_RUNS, name, words, lambda canvas: draw_rows(canvas, bars, scale, label))

    return make


space_together = _simple(
    "space", "Space amplification of each run", "space_amp", "bytes on disk for each live byte"
)
misses_together = _simple(
    "misses", "Blocks of a miss in each run", "miss_blocks", "blocks read by a get of a missing key"
)


def _each(runs: Sequence[Run], read: Callable[[Run], T | None]) -> list[tuple[Run, T]]:
    """Return what can be read of each run; one that has nothing usable does not stop the others."""
    found = []
    for run in runs:
        with suppress(Unusable):
            value = read(run)
            if value is not None:
                found.append((run, value))
    return found


def _rates(run: Run) -> Rates | None:
    timeline = timeline_of(run)
    if timeline is None or "operations" not in timeline.values:
        return None
    return rates_of(timeline, _POINTS)


def rate_together(runs: Sequence[Run]) -> Chart | None:
    """Return operations a second of all runs over the same clock."""
    found = _each(runs, _rates)[:_LINES_MAX]
    if len(found) < 2:
        return None
    words = Words(
        title="Operations a second of each run",
        summary="; ".join(f"{run.label} {show_rate(rates.overall)} on the whole" for run, rates in found)
        + ".",
        table=Table(
            ["run", "mean", "slowest interval", "length"],
            [
                [
                    run.label,
                    show_rate(rates.overall),
                    show_rate(rates.worst[1]),
                    show_seconds(float(rates.edges[-1])),
                ]
                for run, rates in found
            ],
        ),
    )
    return make_chart(ALL_RUNS, "rate", words, lambda canvas: _draw_rates(canvas, found))


def _draw_rates(canvas: Canvas, found: list[tuple[Run, Rates]]) -> None:
    styles = [series_style(at) for at in range(len(found))]
    highest = max(float(rates.mean.max()) for _, rates in found)
    end = max(float(rates.edges[-1]) for _, rates in found)
    unit, clock = count_unit(highest, "operations/s"), time_unit(end)
    ends = [f"{run.label} {show_rate(rates.overall)}" for run, rates in found]
    top = 0.0
    if canvas.is_narrow:
        looks = [f"stroke {style.colour} {style.dash}".strip() for style in styles]
        top = legend(canvas, [(stroked(look), text) for look, text in zip(looks, ends, strict=True)])
    axes = Axes(
        x=linear_to(end, clock, count=4 if canvas.is_narrow else 8),
        y=linear_to(highest * 1.05, unit),
        x_label=f"time, {clock.name}",
        y_label=unit.name,
        room=0.0 if canvas.is_narrow else label_room(ends),
    )
    plot = framed(canvas, axes, top)
    for (_, rates), style in zip(found, styles, strict=True):
        line(canvas, plot, rates.middles, rates.mean, f"stroke {style.colour} {style.dash} thin")
    if not canvas.is_narrow:
        labels = [
            EndLabel(plot.y.at(float(np.median(rates.mean[-5:]))), text, style.colour)
            for (_, rates), text, style in zip(found, ends, styles, strict=True)
        ]
        end_labels(canvas, plot, labels)


def latency_together(runs: Sequence[Run]) -> Chart | None:
    """Return the percentiles of the operation that most runs have in common."""
    found = {
        run.label: {one.name: one for one in percentiles} for run, percentiles in _each(runs, percentiles_of)
    }
    names = [name for kinds in found.values() for name in kinds]
    if not names:
        return None
    common = max(dict.fromkeys(names), key=names.count)
    lines = [
        replace(kinds[common], name=f"{label}, {common}") for label, kinds in found.items() if common in kinds
    ]
    return percentile_chart(ALL_RUNS, lines[:_LINES_MAX]) if len(lines) > 1 else None
