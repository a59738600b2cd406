"""Lanes below the rate: when flushes and merges ran, and for how much of the time writers stood still."""

from dataclasses import dataclass

import numpy as np

from bench.report.frame import LINE
from bench.report.runs import Run
from bench.report.scale import Scale
from bench.report.svg import Canvas
from bench.report.theme import Style, level_style
from bench.report.timeline import Timeline, spaced
from bench.report.units import show_share
from bench.report.values import FloatArray, maybe_amount, rows

_COLUMNS = 360
_LANES_MAX = 8
_LANE = 15.0


@dataclass(frozen=True, slots=True)
class Lane:
    """How busy something was, for each of many equal stretches of time: from 0 to 1."""

    name: str
    style: Style
    edges: FloatArray
    busy: FloatArray


def job_lanes(run: Run, end: float) -> list[Lane]:
    """Return a lane for flushes and one for each level that was merged into; the deepest share one."""
    spans: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for job in rows(run.result, "jobs"):
        start, took = maybe_amount(job.get("start")), maybe_amount(job.get("seconds"))
        if start is None or took is None or job.get("kind") not in ("flush", "merge", "load"):
            continue  # a move takes no time; anything else is not known
        if job["kind"] == "merge":
            level = maybe_amount(job.get("to_level"))
            depth = 1 if level is None else int(min(level, 99))
            spans.setdefault((depth, f"merge L{depth}"), []).append((start, start + took))
        else:
            spans.setdefault((0, str(job["kind"])), []).append((start, start + took))
    edges = np.linspace(0.0, end, _COLUMNS + 1)
    return [
        Lane(name, level_style(depth, run.first_level), edges, covered(np.array(found), edges))
        for (depth, name), found in sorted(spans.items())[:_LANES_MAX]
    ]


def covered(spans: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the share of each stretch between edges that lies in at least one span."""
    order = np.argsort(spans[:, 0], kind="stable")
    starts, stops = spans[order, 0], np.maximum.accumulate(spans[order, 1])
    # What lies before t in the union of spans, for every t: spans are counted from where none before reached.
    fresh = np.maximum(starts, np.concatenate([[0.0], stops[:-1]]))
    lengths = np.maximum(stops - fresh, 0.0)
    sums = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.searchsorted(fresh, edges, side="right")
    before = np.maximum(at - 1, 0)
    inside = np.where(at > 0, np.clip(edges - fresh[before], 0.0, lengths[before]), 0.0)
    filled = sums[before] + inside
    width = np.maximum(np.diff(edges), 1e-12)
    return np.clip(np.diff(filled) / width, 0.0, 1.0)


def stall_lane(timeline: Timeline) -> Lane | None:
    """Return the share of time that writers stood still, or None if that was not measured."""
    if timeline.values.get("stall_seconds") is None:
        return None
    edges = spaced(len(timeline.seconds), _COLUMNS + 1)
    seconds, stalled = timeline.seconds[edges], timeline.total("stall_seconds")[edges]
    took = np.maximum(np.diff(seconds), 1e-12)
    return Lane("stall", Style("s1", texture="hatch"), seconds, np.clip(np.diff(stalled) / took, 0.0, 1.0))


def lane_text(lane: Lane) -> str:
    """Return the name of a lane with the share of time that it was busy."""
    whole = max(float(lane.edges[-1] - lane.edges[0]), 1e-12)
    share = float(np.sum(lane.busy * np.diff(lane.edges))) / whole
    return f"{lane.name} {show_share(share)}"


def draw_lanes(canvas: Canvas, x: Scale, lanes: list[Lane], top: float) -> None:
    """Draw lanes below each other; one that was busy for a part of a stretch is as high there."""
    y = top
    for lane in lanes:
        if canvas.is_narrow:
            y += LINE - 3
            canvas.text(x.start, y - 2, lane_text(lane), "soft small")
        else:
            canvas.text(x.stop + 8, y + 12, lane_text(lane))
        canvas.rect((x.start, x.stop), (y + 1, y + _LANE), "wash")
        for left, right, busy in _runs(lane):
            span = (x.at(left), max(x.at(right), x.at(left) + 0.8))
            canvas.rect(
                span, (y + _LANE - max(1.5, (_LANE - 1) * busy), y + _LANE), f"fill {lane.style.colour}"
            )
        y += _LANE + 4
    canvas.height = y + 4


def _runs(lane: Lane) -> list[tuple[float, float, float]]:
    """Return stretches, neighbours that are equally busy (in tenths) as one, without the idle ones."""
    steps = np.ceil(lane.busy * 10) / 10
    changes = np.flatnonzero(np.diff(steps)) + 1
    starts = np.concatenate([[0], changes])
    stops = np.concatenate([changes, [len(steps)]])
    return [
        (float(lane.edges[start]), float(lane.edges[stop]), float(steps[start]))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        if steps[start] > 0
    ]
