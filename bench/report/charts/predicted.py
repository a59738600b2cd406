"""Write amplification that was only computed: the line of a simulation, of a run that never took place."""

import numpy as np

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.charts.write_amp import theory_line
from bench.report.frame import Axes, EndLabel, end_labels, framed, label_room
from bench.report.marks import hover_strips, line
from bench.report.runs import Run
from bench.report.scale import linear_to
from bench.report.svg import Canvas
from bench.report.timeline import spaced
from bench.report.units import byte_unit, short, show_bytes
from bench.report.values import FloatArray, Unusable, part


def predicted_chart(run: Run) -> Chart | None:
    """Return the line of a result that has no timeline beside it."""
    found = part(run.result, "predicted_line")
    if found is None or run.result.get("timeline") is not None:
        return None
    x, y = theory_line(found)
    if x[-1] <= 0:
        raise Unusable("predicted_line: nothing was written")
    chosen = spaced(len(x))
    x, y = x[chosen], y[chosen]
    words = Words(
        title="Write amplification over bytes written, simulated",
        summary=f"{short(float(y[-1]))} bytes would be written for each byte of users, "
        f"after {show_bytes(float(x[-1]))} of them; {short(float(np.max(y)))} at most.",
        table=Table(
            ["written by users", "write amplification"],
            [[show_bytes(at), short(value)] for at, value in zip(x.tolist(), y.tolist(), strict=True)],
        ),
    )
    return make_chart(run.owner, "write-amp-simulated", words, lambda canvas: _draw(canvas, x, y))


def _draw(canvas: Canvas, x: FloatArray, y: FloatArray) -> None:
    unit, end = byte_unit(float(x[-1])), f"simulated {short(float(y[-1]))}"
    axes = Axes(
        x=linear_to(float(x[-1]), unit, count=4 if canvas.is_narrow else 8),
        y=linear_to(float(np.max(y)) * 1.06),
        x_label=f"written by users, {unit.name}",
        y_label="bytes written to storage, for each byte of users",
        room=0.0 if canvas.is_narrow else label_room([end]),
    )
    plot = framed(canvas, axes)
    line(canvas, plot, x, y, "theory")
    tips = [f"{show_bytes(at)}: {short(value)}" for at, value in zip(x.tolist(), y.tolist(), strict=True)]
    hover_strips(canvas, plot, x, tips)
    if not canvas.is_narrow:
        end_labels(canvas, plot, [EndLabel(plot.y.at(float(y[-1])), end, strong=True)])
