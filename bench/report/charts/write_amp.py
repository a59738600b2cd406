"""Write amplification: how it grew by cause and level, and measured beside predicted."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bench.report.bars import Row, Segment, draw_rows, longest, swatch_of_mark
from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.frame import Axes, EndLabel, end_labels, filled, framed, label_room, legend, stroked
from bench.report.marks import hover_strips, line, stack, stacked
from bench.report.runs import Run, require
from bench.report.scale import linear_to
from bench.report.svg import Canvas
from bench.report.theme import Style, level_style, series_style
from bench.report.timeline import spaced, timeline_of
from bench.report.units import byte_unit, short, show_bytes
from bench.report.values import FloatArray, Unusable, amount, amounts, maybe_amount, part, rows, text

_FIRST_SHARE = 0.01  # of the bytes: before that a ratio jumps about and says nothing
_ROWS_MAX = 20
_LAST_ROWS = ("total", "tree only")
_LEVEL = re.compile(r"L([0-9]{1,3})")
_ORDER = {"log": 0, "flush": 1, "load": 2, "manifest": 2000}
_NAMES = {"log": "log", "flush": "flush (L0)", "load": "load", "manifest": "manifest"}


def cause_style(name: str, number: int = 0, first_level: int = 1) -> Style:
    """Return the look of a cause of writing."""
    level = _LEVEL.fullmatch(name)
    if level:
        return level_style(int(level[1]), first_level)
    known = {"log": Style("neutral", texture="hatch"), "flush": level_style(0), "compaction": level_style(3)}
    return known.get(name) or Style(series_style(1 + number % 5).colour, texture="dots")


def _place(name: str) -> int:
    level = _LEVEL.fullmatch(name)
    return 100 + int(level[1]) if level else _ORDER.get(name, 1000)


@dataclass(frozen=True, slots=True)
class _Growth:
    """Write amplification by cause after every sample, and what theory says of the total."""

    user_bytes: FloatArray
    layers: dict[str, FloatArray]
    looks: list[Style]
    theory: tuple[FloatArray, FloatArray] | None

    @property
    def total(self) -> FloatArray:
        return stacked(list(self.layers.values()))[-1]

    @property
    def top(self) -> float:
        theory = 0.0 if self.theory is None else float(self.theory[1].max())
        return max(float(self.total.max()), theory)


def growth_chart(run: Run) -> Chart | None:
    """Return write amplification by cause and level over the bytes that users wrote."""
    timeline = timeline_of(run)
    if timeline is None or "written" not in timeline.values:
        return None
    user_bytes = timeline.total("user_bytes")
    if user_bytes[-1] <= 0:
        raise Unusable("nothing was written")
    chosen = np.flatnonzero(user_bytes >= max(_FIRST_SHARE * user_bytes[-1], 1.0))
    require(len(chosen), 2, "samples with writes")
    chosen = chosen[spaced(len(chosen))]
    at = user_bytes[chosen]
    written = timeline.written()
    causes = sorted((name for name in written if np.any(written[name] > 0)), key=_place)
    require(len(causes), 1, "causes of writing")
    layers = {name: written[name][chosen] / at for name in causes}
    styles = [cause_style(name, number, run.first_level) for number, name in enumerate(causes)]
    growth = _Growth(at, layers, styles, _theory(run, at))
    last = {name: float(layer[-1]) for name, layer in layers.items()}
    parts = ", ".join(f"{name} {short(value)}" for name, value in last.items())
    summary = f"{short(growth.total[-1])} bytes were written for each byte of users: {parts}."
    if growth.theory is not None:
        summary += f" Theory says {short(growth.theory[1][-1])}."
    table = Table(
        ["written by users", *last, "total"],
        [
            [show_bytes(at[row]), *(short(layer[row]) for layer in layers.values()), short(growth.total[row])]
            for row in range(len(at))
        ],
    )
    notes = _from_when(run)
    words = Words(title="Write amplification over bytes written", summary=summary, table=table, notes=notes)
    return make_chart(run.owner, "write-amp", words, lambda canvas: _draw_growth(canvas, growth))


def _from_when(run: Run) -> list[str]:
    """Say so if the figures of a run are of a part of it only."""
    start = maybe_amount(run.result.get("measured_from_user_bytes"))
    if not start:
        return []
    when = f"after {show_bytes(start)}"
    return [
        f"Since the store was made, load included; the figures of the run are of what was written {when}."
    ]


def _theory(run: Run, at: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    found = part(run.result, "predicted_line")
    if found is None:
        flat = run.figure("predicted_write_amp")
        return None if flat is None else (at[[0, -1]], np.array([flat, flat]))
    x, y = theory_line(found)
    grid = at[spaced(len(at), 120)]
    return grid, np.interp(grid, x, y)


def theory_line(found: dict[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Return the line of a theory or a simulation: bytes of users, in order, and write amplification."""
    x = amounts(found.get("user_bytes"), "predicted_line: user_bytes")
    y = amounts(found.get("write_amp"), "predicted_line: write_amp")
    if len(x) != len(y) or len(x) < 1:
        raise Unusable(f"predicted_line has {len(x):,} and {len(y):,} items")
    order = np.argsort(x, kind="stable")
    return x[order], y[order]


def _draw_growth(canvas: Canvas, growth: _Growth) -> None:
    styles = dict(zip(growth.layers, growth.looks, strict=True))
    ends = {
        name: f"{_NAMES.get(name, name)} {short(float(layer[-1]))}" for name, layer in growth.layers.items()
    }
    total = f"total {short(float(growth.total[-1]))}"
    theory = "" if growth.theory is None else f"theory {short(float(growth.theory[1][-1]))}"
    top = 0.0
    if canvas.is_narrow:
        items = [(filled(styles[name]), text) for name, text in reversed(ends.items())]
        top = legend(canvas, [*items, *([(stroked("theory"), theory)] if theory else [])])
    unit = byte_unit(float(growth.user_bytes[-1]))
    axes = Axes(
        x=linear_to(float(growth.user_bytes[-1]), unit, count=4 if canvas.is_narrow else 8),
        y=linear_to(growth.top * 1.04),
        x_label=f"written by users, {unit.name}",
        y_label="bytes written to storage, for each byte of users",
        room=0.0 if canvas.is_narrow else label_room([*ends.values(), total, theory]),
    )
    plot = framed(canvas, axes, top)
    edges = stack(canvas, plot, growth.user_bytes, list(growth.layers.values()), list(styles.values()))
    if growth.theory is not None:
        line(canvas, plot, *growth.theory, "under")
        line(canvas, plot, *growth.theory, "theory")
    hover_strips(canvas, plot, growth.user_bytes, _tips(growth))
    if not canvas.is_narrow:
        middles = [(low[-1] + high[-1]) / 2 for low, high in pairwise(edges)]
        labels = [
            EndLabel(plot.y.at(float(middle)), ends[name], styles[name].colour)
            for name, middle in zip(growth.layers, middles, strict=True)
        ]
        labels.append(EndLabel(plot.y.at(float(edges[-1][-1])), total, strong=True))
        if growth.theory is not None:
            labels.append(EndLabel(plot.y.at(float(growth.theory[1][-1])), theory, strong=True))
        end_labels(canvas, plot, labels)


def _tips(growth: _Growth) -> list[str]:
    total = growth.total
    return [
        f"{show_bytes(at)}: total {short(total[row])}; "
        + ", ".join(f"{name} {short(layer[row])}" for name, layer in growth.layers.items())
        for row, at in enumerate(growth.user_bytes.tolist())
    ]


def causes_chart(run: Run) -> Chart | None:
    """Return write amplification by cause, measured beside predicted."""
    found = rows(run.result, "write_amp_rows", _ROWS_MAX)
    if not found:
        return None
    bars, table = [], []
    for at, row in enumerate(found):
        name = text(row.get("name"), 40)
        measured = amount(row.get("measured"), f"write_amp_rows: {name}: measured")
        predicted = maybe_amount(row.get("predicted"))
        said = "–" if predicted is None else short(predicted)
        is_sum = name in _LAST_ROWS
        style = Style("soft") if is_sum else _row_style(name, at, run.first_level)
        simulated = maybe_amount(row.get("simulated"))
        tip = f"{name}: measured {short(measured)}, predicted {said}"
        bars.append(
            Row(
                label=name,
                segments=[Segment(measured, style, tip)],
                text=short(measured) if predicted is None else f"{short(measured)} ({said})",
                mark=predicted,
                apart=is_sum and name == _LAST_ROWS[0],
            )
        )
        played = "–" if simulated is None else short(simulated)
        table.append([name, short(measured), said, played, text(row.get("what") or "", 120)])
    has_theory = any(row.mark is not None for row in bars)
    ends = [f"{row[0]} {row[1]}" + (f", predicted {row[2]}" if has_theory else "") for row in table[-2:]]
    words = Words(
        title="Write amplification by cause" + (", measured and predicted" if has_theory else ""),
        summary=f"Bytes written for each byte of users: {'; '.join(ends)}.",
        table=Table(["cause", "measured", "predicted", "simulated", "what it is"], table),
    )
    return make_chart(run.owner, "write-amp-causes", words, lambda canvas: _draw_causes(canvas, bars))


def _row_style(name: str, number: int, first_level: int) -> Style:
    levels = _LEVEL.findall(name)  # "L1 -> L2" is what was written to L2
    cause = f"L{levels[-1]}" if levels else name.partition(" ")[0]
    return cause_style(cause, number, first_level)


def _draw_causes(canvas: Canvas, bars: list[Row]) -> None:
    top = 0.0
    if any(row.mark is not None for row in bars):
        top = legend(
            canvas, [(filled(Style("soft")), "measured"), (swatch_of_mark, "predicted, in brackets")]
        )
    scale = linear_to(longest(bars), count=4 if canvas.is_narrow else 6)
    draw_rows(canvas, bars, scale, "bytes written for each byte of users", top)
