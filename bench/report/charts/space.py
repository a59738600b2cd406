"""Disk use: over time, and where every byte is when all has settled."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.report.bars import Row, Segment, draw_rows, longest
from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.frame import Axes, EndLabel, Plot, end_labels, filled, framed, label_room, legend
from bench.report.marks import hover_strips, stack, stacked
from bench.report.runs import Run
from bench.report.scale import linear_to
from bench.report.svg import Canvas
from bench.report.theme import Style
from bench.report.timeline import peaks, timeline_of
from bench.report.units import byte_unit, short, show_bytes, show_seconds, time_unit
from bench.report.values import FloatArray, Unusable, amount, maybe_amount, part

_STYLES = {
    "live": Style("s0"),
    "tables": Style("s0"),
    "overwritten": Style("s1"),
    "not live": Style("s1"),
    "tombstones": Style("s3", texture="cross"),
    "format": Style("s2"),
    "log": Style("neutral", texture="hatch"),
    "temporary": Style("s4", texture="dots"),
    "manifest": Style("s5"),
}
_MEANS = {
    "live": "keys and values that a scan returns",
    "overwritten": "older versions that a compaction has not met yet",
    "tombstones": "marks of deletion",
    "format": "index, filters and headers of tables",
    "log": "segments of the log that are kept",
    "temporary": "output of compactions that are under way",
    "manifest": "the list of tables, and other small files",
}


@dataclass(frozen=True, slots=True)
class _Use:
    seconds: FloatArray
    layers: dict[str, FloatArray]

    @property
    def total(self) -> FloatArray:
        return stacked(list(self.layers.values()))[-1]


def space_chart(run: Run) -> Chart | None:
    """Return the bytes on disk over time."""
    timeline = timeline_of(run)
    if timeline is None or "table_bytes" not in timeline.values:
        return None
    tables = timeline.column("table_bytes")
    live = timeline.gapped("live_bytes")
    layers = {"tables": tables}
    if live is not None and not np.any(np.isnan(live)):
        # Live bytes may still be in memory: what of them is in tables is no more than the tables have.
        in_tables = np.minimum(live, tables)
        layers = {"live": in_tables, "not live": tables - in_tables}
    layers["log"] = timeline.optional("log_bytes")
    layers["temporary"] = timeline.optional("temporary_bytes")
    whole = _Use(timeline.seconds, layers)
    if not np.any(whole.total > 0):
        raise Unusable("nothing was on disk")
    at = peaks(whole.total)
    use = _Use(whole.seconds[at], {name: layer[at] for name, layer in layers.items() if np.any(layer > 0)})
    highest = int(np.argmax(use.total))
    summary = (
        f"{show_bytes(float(use.total[-1]))} on disk at the end, "
        f"at most {show_bytes(float(use.total[highest]))} after {show_seconds(float(use.seconds[highest]))}."
    )
    table = Table(
        ["time", *use.layers, "total"],
        [
            [
                show_seconds(float(use.seconds[row])),
                *(show_bytes(float(layer[row])) for layer in use.layers.values()),
                show_bytes(float(use.total[row])),
            ]
            for row in range(len(use.seconds))
        ],
    )
    words = Words(title="Bytes on disk over time", summary=summary, table=table)
    return make_chart(run.owner, "space", words, lambda canvas: _draw_use(canvas, use))


def _draw_use(canvas: Canvas, use: _Use) -> None:
    ends = {name: f"{name} {show_bytes(float(layer[-1]))}" for name, layer in use.layers.items()}
    total = f"total {show_bytes(float(use.total[-1]))}"
    top = 0.0
    if canvas.is_narrow:
        top = legend(canvas, [(filled(_STYLES[name]), text) for name, text in reversed(ends.items())])
    unit, clock = byte_unit(float(use.total.max())), time_unit(float(use.seconds[-1]))
    axes = Axes(
        x=linear_to(float(use.seconds[-1]), clock, count=4 if canvas.is_narrow else 8),
        y=linear_to(float(use.total.max()) * 1.06, unit),
        x_label=f"time, {clock.name}",
        y_label=f"on disk, {unit.name}",
        room=0.0 if canvas.is_narrow else label_room([*ends.values(), total]),
    )
    plot = framed(canvas, axes, top)
    edges = stack(
        canvas, plot, use.seconds, list(use.layers.values()), [_STYLES[name] for name in use.layers]
    )
    _mark_peak(canvas, plot, use)
    hover_strips(canvas, plot, use.seconds, _tips(use))
    if canvas.is_narrow:
        return
    middles = [float(low[-1] + high[-1]) / 2 for low, high in pairwise(edges)]
    labels = [
        EndLabel(plot.y.at(middle), ends[name], _STYLES[name].colour)
        for name, middle in zip(use.layers, middles, strict=True)
    ]
    end_labels(canvas, plot, [*labels, EndLabel(plot.y.at(float(edges[-1][-1])), total, strong=True)])


def _mark_peak(canvas: Canvas, plot: Plot, use: _Use) -> None:
    highest = int(np.argmax(use.total))
    x, y = plot.x.at(float(use.seconds[highest])), plot.y.at(float(use.total[highest]))
    canvas.add("circle", "hollow ink", cx=x, cy=y, r=3.5)
    anchor = "end" if x > canvas.width / 2 else "start"
    text = f"peak {show_bytes(float(use.total[highest]))}"
    canvas.text(x + (-7 if anchor == "end" else 7), y - 4, text, "halo", anchor=anchor)


def _tips(use: _Use) -> list[str]:
    return [
        f"{show_seconds(at)}: "
        + ", ".join(f"{name} {show_bytes(float(layer[row]))}" for name, layer in use.layers.items())
        for row, at in enumerate(use.seconds.tolist())
    ]


def bytes_chart(run: Run) -> Chart | None:
    """Return where every byte on disk is, with the peak beside it."""
    space = part(run.result, "space")
    if space is None:
        return None
    sizes = {name: amount(space[name], f"space: {name}") for name in _MEANS if name in space}
    total = sum(sizes.values())
    if not total:
        raise Unusable("space: nothing was on disk")
    live = sizes.get("live", 0.0)
    bars = [
        Row(
            label=name,
            segments=[Segment(size, _STYLES[name], f"{name}: {_MEANS[name]}, {show_bytes(size)}")],
            text=show_bytes(size) + (f", {short(100 * size / total)} %" if size else ""),
        )
        for name, size in sizes.items()
    ]
    parts = [Segment(size, _STYLES[name], f"{name}: {show_bytes(size)}") for name, size in sizes.items()]
    bars.append(Row(label="total", segments=parts, text=show_bytes(total), apart=True))
    peak = maybe_amount(space.get("peak"))
    if peak:
        bars.append(
            Row(label="tables at their peak", segments=[Segment(peak, Style("soft"))], text=show_bytes(peak))
        )
    summary = f"{show_bytes(total)} on disk, of which {show_bytes(live)} are live"
    summary += f": {short(total / live)} bytes for each live byte." if live else "."
    words = Words(
        title="Where every byte on disk is",
        summary=summary,
        table=Table(
            ["part", "bytes", "share", "what it is"],
            [
                [name, f"{size:,.0f}", f"{100 * size / total:.2f} %", _MEANS[name]]
                for name, size in sizes.items()
            ],
            note=f"Tables at their peak: {peak:,.0f} bytes." if peak else "",
        ),
    )
    return make_chart(run.owner, "space-parts", words, lambda canvas: _draw_bytes(canvas, bars))


def _draw_bytes(canvas: Canvas, bars: list[Row]) -> None:
    unit = byte_unit(longest(bars))
    draw_rows(canvas, bars, linear_to(longest(bars), unit, count=4 if canvas.is_narrow else 6), unit.name)
