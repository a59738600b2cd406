"""Operations a second, with what the background did and when writers had to wait."""

from dataclasses import dataclass

import numpy as np

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.charts.lanes import Lane, draw_lanes, job_lanes, lane_text, stall_lane
from bench.report.frame import Axes, EndLabel, Plot, end_labels, framed, label_room
from bench.report.marks import between, hover_strips, line
from bench.report.runs import Run, require
from bench.report.scale import linear_to, with_unit
from bench.report.svg import Canvas, text_width
from bench.report.timeline import POINTS_MAX, Timeline, spaced, timeline_of
from bench.report.units import count_unit, show_count, show_rate, show_seconds, show_share, time_unit
from bench.report.values import FloatArray

_SHORTEST = 1e-6  # of an interval in seconds: none is measured in less


@dataclass(frozen=True, slots=True)
class Rates:
    """Operations a second in stretches of a run: mean, lowest and highest of each."""

    edges: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    overall: float
    worst: tuple[float, float]
    """When the slowest sample was, and its rate."""

    @property
    def middles(self) -> FloatArray:
        """The middle of each stretch."""
        return (self.edges[1:] + self.edges[:-1]) / 2


def rates_of(timeline: Timeline, points_max: int = POINTS_MAX) -> Rates:
    """Return the rates of a timeline."""
    seconds, operations = timeline.seconds, timeline.total("operations")
    # After the last operation a run waits for the background, which is no rate.
    ended = int(np.searchsorted(operations, operations[-1])) + 1
    seconds, operations = seconds[:ended], operations[:ended]
    kept = np.concatenate([[True], np.diff(seconds) > _SHORTEST])
    seconds, operations = seconds[kept], operations[kept]
    took = np.diff(seconds)
    rates = np.diff(operations) / took
    require(len(rates), 1, "intervals")
    edges = spaced(len(seconds), points_max + 1)
    starts = edges[:-1]
    mean = np.diff(operations[edges]) / np.diff(seconds[edges])
    # A first or last interval that is cut short says little about the slowest second.
    whole = took >= 0.5 * np.median(took)
    slowest = int(np.argmin(np.where(whole, rates, np.inf)))
    return Rates(
        edges=seconds[edges],
        mean=mean,
        low=np.minimum.reduceat(rates, starts),
        high=np.maximum.reduceat(rates, starts),
        overall=float((operations[-1] - operations[0]) / (seconds[-1] - seconds[0])),
        worst=(float(seconds[slowest] + took[slowest] / 2), float(rates[slowest])),
    )


def rate_chart(run: Run) -> Chart | None:
    """Return the rate over time above lanes of flushes, merges and stalls."""
    timeline = timeline_of(run)
    if timeline is None or "operations" not in timeline.values:
        return None
    rates = rates_of(timeline)
    end = float(timeline.seconds[-1])
    lanes = job_lanes(run, end)
    stalls = stall_lane(timeline)
    lanes += [stalls] if stalls is not None else []
    summary = (
        f"{show_rate(rates.overall)} on the whole; the slowest interval, "
        f"{show_seconds(rates.worst[0])} into the run, had {show_rate(rates.worst[1])}."
    )
    share = run.figure("stall_share")
    if share is not None:
        summary += f" Writers were held back for {show_share(share)} of the time."
    table = Table(
        ["from", "to", "operations a second", "slowest interval", "fastest interval"],
        [
            [show_seconds(start), show_seconds(stop), *(show_count(value) for value in values)]
            for start, stop, *values in zip(
                rates.edges.tolist(),
                rates.edges[1:].tolist(),
                rates.mean.round(1).tolist(),
                rates.low.round(1).tolist(),
                rates.high.round(1).tolist(),
                strict=False,
            )
        ],
    )
    words = Words(title="Operations a second, and what the background did", summary=summary, table=table)
    return make_chart(run.owner, "rate", words, lambda canvas: _draw(canvas, rates, lanes, end))


def _draw(canvas: Canvas, rates: Rates, lanes: list[Lane], end: float) -> None:
    unit, clock = count_unit(float(rates.high.max()), "operations/s"), time_unit(end)
    mean_text = f"mean {show_rate(rates.overall)}"
    axes = Axes(
        x=with_unit(linear_to(end, clock, count=4 if canvas.is_narrow else 8), clock),
        y=linear_to(float(rates.high.max()) * 1.05, unit),
        x_label="",
        y_label=unit.name,
        room=0.0 if canvas.is_narrow else label_room([mean_text, *map(lane_text, lanes)]),
        height=170.0 if lanes else 0.0,
    )
    plot = framed(canvas, axes)
    x = rates.middles
    if np.any(rates.high > rates.low):
        low, high = plot.y.at_all(rates.low), plot.y.at_all(rates.high)
        between(canvas, plot.x.at_all(x), low, high, "faint s0")
    mean = plot.y.at(rates.overall)
    canvas.line((plot.left, plot.right), (mean, mean), "lead dash4")
    line(canvas, plot, x, rates.mean, "stroke s0 thin" if len(x) > 100 else "stroke s0")
    if len(x) == 1:
        canvas.line((plot.left, plot.right), (mean, mean), "stroke s0")
    if not canvas.is_narrow:
        end_labels(canvas, plot, [EndLabel(mean, mean_text)])
    if len(x) > 1:
        _note_slowest(canvas, plot, rates)
    hover_strips(canvas, plot, x, _tips(rates))
    if lanes:
        draw_lanes(canvas, plot.x, lanes, canvas.height + 4)


def _note_slowest(canvas: Canvas, plot: Plot, rates: Rates) -> None:
    x, y = plot.x.at(rates.worst[0]), plot.y.at(rates.worst[1])
    canvas.add("circle", "hollow s1", cx=x, cy=y, r=4)
    text = f"slowest {show_rate(rates.worst[1])}"
    is_right = x + 8 + text_width(text) > plot.right
    canvas.text(x + (-8 if is_right else 8), y + 4, text, "halo", anchor="end" if is_right else "start")


def _tips(rates: Rates) -> list[str]:
    return [
        f"{show_seconds(at)}: {show_rate(rate)}" for at, rate in zip(rates.middles, rates.mean, strict=True)
    ]
