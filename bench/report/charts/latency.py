"""Latency by percentile: how long the slow ones took."""

from dataclasses import dataclass

import numpy as np

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.frame import Axes, EndLabel, Swatch, end_labels, framed, label_room, legend
from bench.report.marks import line, shape
from bench.report.runs import Run, require
from bench.report.scale import Scale, logarithmic
from bench.report.svg import Canvas
from bench.report.theme import Style, series_style
from bench.report.units import show_count, show_us
from bench.report.values import FloatArray, Unusable, amounts, maybe_amount, part, text

_LINES_MAX = 8
_POINTS_MAX = 64
_SHORTEST_US = 0.001  # below a nanosecond no clock tells anything


@dataclass(frozen=True, slots=True)
class Percentiles:
    """The latencies of one kind of operation."""

    name: str
    shares: FloatArray
    microseconds: FloatArray
    count: float | None

    def places(self) -> FloatArray:
        """Return where the shares are drawn: by how many nines they have; the last is the longest of all."""
        last = np.max(self.shares[self.shares < 1], initial=0.0)
        end = -np.log10(1 - last) + 0.6
        nines = -np.log10(1 - np.minimum(self.shares, 1 - 1e-12))
        nines[self.shares >= 1] = end
        return np.asarray(nines, dtype=np.float64)


def percentile_name(share: float) -> str:
    """Return the usual name of a percentile: p99.9."""
    if share <= 0:
        return "min"
    return "max" if share >= 1 else f"p{100 * share:.6f}".rstrip("0").rstrip(".")


def percentiles_of(run: Run) -> list[Percentiles]:
    """Return the latencies of all kinds of operations that a run has."""
    kinds = part(run.result, "latency_us") or {}
    if len(kinds) > _LINES_MAX:
        raise Unusable(f"latency_us has {len(kinds):,} kinds of operations; {_LINES_MAX} can be told apart")
    return [_percentiles(text(name, 24), value) for name, value in kinds.items()]


def _percentiles(name: str, value: object) -> Percentiles:
    if not isinstance(value, dict):
        raise Unusable(f"latency_us: {name} is not an object")
    shares = amounts(value.get("q"), f"latency_us: {name}: q")
    times = amounts(value.get("us"), f"latency_us: {name}: us")
    if len(shares) != len(times):
        raise Unusable(f"latency_us: {name} has {len(shares):,} shares, but {len(times):,} times")
    require(len(shares), 1, f"percentiles of {name}")
    if len(shares) > _POINTS_MAX:
        raise Unusable(f"latency_us: {name} has {len(shares):,} percentiles")
    if np.any(shares > 1) or np.any(np.diff(shares) <= 0):
        raise Unusable(f"latency_us: {name}: q must go up from 0 to 1")
    return Percentiles(name, shares, np.maximum(times, _SHORTEST_US), maybe_amount(value.get("count")))


def latency_chart(run: Run) -> Chart | None:
    """Return the percentiles of every kind of operation."""
    return percentile_chart(run.owner, percentiles_of(run))


def percentile_chart(owner: str, found: list[Percentiles]) -> Chart | None:
    """Return percentiles as lines, for one run or for several."""
    if not found:
        return None
    worst = [f"{one.name} {_at(one, 0.5)}, {_at(one, 0.99)}, {_at(one, 1.0)}" for one in found]
    rows = [
        [one.name, percentile_name(share), show_us(time), "–" if one.count is None else show_count(one.count)]
        for one in found
        for share, time in zip(one.shares.tolist(), one.microseconds.tolist(), strict=True)
    ]
    words = Words(
        title="Latency by percentile",
        summary="Half of the operations took no longer than p50, and one in a hundred longer than p99. "
        + "; ".join(worst)
        + ".",
        table=Table(["operation", "percentile", "time", "operations"], rows),
    )
    return make_chart(owner, "latency", words, lambda canvas: _draw(canvas, found))


def _at(one: Percentiles, share: float) -> str:
    near = int(np.argmin(np.abs(one.shares - share)))
    return f"{percentile_name(float(one.shares[near]))} {show_us(float(one.microseconds[near]))}"


def _draw(canvas: Canvas, found: list[Percentiles]) -> None:
    styles = [series_style(at) for at in range(len(found))]
    ends = [f"{one.name} {show_us(float(one.microseconds[-1]))}" for one in found]
    top = 0.0
    if canvas.is_narrow:
        top = legend(canvas, [(_sample(style), one.name) for style, one in zip(styles, found, strict=True)])
    low = min(float(one.microseconds.min()) for one in found)
    high = max(float(one.microseconds.max()) for one in found)
    axes = Axes(
        x=_share_scale(found),
        y=logarithmic(low, high, show_us, count=7),
        x_label="share of operations that were as fast or faster",
        y_label="time of one operation",
        room=0.0 if canvas.is_narrow else label_room(ends),
    )
    plot = framed(canvas, axes, top)
    for one, style in zip(found, styles, strict=True):
        x = one.places()
        line(canvas, plot, x, one.microseconds, f"stroke {style.colour} {style.dash}".strip())
        for share, place, time in zip(
            one.shares.tolist(), x.tolist(), one.microseconds.tolist(), strict=True
        ):
            tip = f"{one.name} {percentile_name(share)}: {show_us(time)}"
            shape(canvas, style, (plot.x.at(place), plot.y.at(time)), tip=tip)
    if not canvas.is_narrow:
        labels = [
            EndLabel(plot.y.at(float(one.microseconds[-1])), end, style.colour)
            for one, end, style in zip(found, ends, styles, strict=True)
        ]
        end_labels(canvas, plot, labels)


def _share_scale(found: list[Percentiles]) -> Scale:
    ticks = {
        place: percentile_name(share)
        for one in found
        for share, place in zip(one.shares.tolist(), one.places().tolist(), strict=True)
    }
    high = max(ticks)
    return Scale(low=0.0, high=high if high > 0 else 1.0, ticks=sorted(ticks.items()))


def _sample(style: Style) -> Swatch:
    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.line((x, x + 18), (y, y), f"stroke {style.colour} {style.dash}".strip())
        shape(canvas, style, (x + 9, y))

    return draw
