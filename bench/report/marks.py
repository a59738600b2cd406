"""What is drawn inside a plot: lines, layers on top of each other, shapes at points."""

import math
from collections.abc import Sequence

import numpy as np

from bench.report.frame import Plot
from bench.report.svg import Canvas
from bench.report.theme import Style
from bench.report.values import FloatArray

_HALF = math.sqrt(3) / 2


def line(canvas: Canvas, plot: Plot, x: FloatArray, y: FloatArray, style: str) -> None:
    """Draw a line through points; it is broken where a value is not known."""
    canvas.path(path_through(plot.x.at_all(x), plot.y.at_all(y)), style)


def path_through(x: FloatArray, y: FloatArray) -> str:
    """Return the path through points in pixels; one that is not a number is a gap."""
    words = []
    pen_is_down = False
    for one, other in zip(x.tolist(), y.tolist(), strict=True):
        if math.isnan(one) or math.isnan(other):
            pen_is_down = False
            continue
        words.append(f"{'L' if pen_is_down else 'M'}{one:.1f} {other:.1f}")
        pen_is_down = True
    return "".join(words)


def between(canvas: Canvas, x: FloatArray, low: FloatArray, high: FloatArray, style: str) -> None:
    """Fill what lies between two lines, which are given in pixels."""
    there = path_through(x, high)
    back = path_through(x[::-1], low[::-1])
    canvas.path(f"{there}L{back[1:]}Z" if back else "", style)


def stacked(layers: Sequence[FloatArray]) -> list[FloatArray]:
    """Return the upper edges of layers that lie on each other, with the ground line first."""
    edges = [np.zeros_like(layers[0])]
    for layer in layers:
        edges.append(edges[-1] + layer)
    return edges


def stack(
    canvas: Canvas, plot: Plot, x: FloatArray, layers: Sequence[FloatArray], styles: Sequence[Style]
) -> list[FloatArray]:
    """Draw layers on top of each other, and return their edges as values."""
    edges = stacked(layers)
    for lower, upper, style in zip(edges, edges[1:], styles, strict=False):
        if np.any(upper > lower):
            look = f"layer {style.colour} {style.texture}".strip()
            between(canvas, plot.x.at_all(x), plot.y.at_all(lower), plot.y.at_all(upper), look)
    return edges


def shape(
    canvas: Canvas, style: Style, at: tuple[float, float], *, hollow: bool = False, tip: str = ""
) -> None:
    """Draw the shape of a series around a place."""
    x, y = at
    look = f"{'hollow' if hollow else 'box'} {style.colour}"
    if style.shape == "circle":
        canvas.add("circle", look, cx=x, cy=y, r=4.5, tip=tip)
        return
    canvas.add("path", look, d=_outline(style.shape, x, y, 4.5), tip=tip)


def _outline(name: str, x: float, y: float, r: float) -> str:
    if name == "square":
        points = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]
    elif name == "diamond":
        points = [(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]
    elif name == "triangle":
        points = [(0.0, -1.25), (1.25 * _HALF, 0.9), (-1.25 * _HALF, 0.9)]
    elif name == "down":
        points = [(0.0, 1.25), (1.25 * _HALF, -0.9), (-1.25 * _HALF, -0.9)]
    else:  # a cross with arms
        a, b = 0.4, 1.2
        points = [(-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a)]
        points += [(a, b), (-a, b), (-a, a), (-b, a), (-b, -a), (-a, -a)]
    words = [f"{x + r * dx:.1f} {y + r * dy:.1f}" for dx, dy in points]
    return f"M{'L'.join(words)}Z"


def hover_strips(
    canvas: Canvas, plot: Plot, x: FloatArray, tips: Sequence[str], strips_max: int = 120
) -> None:
    """Lay invisible strips over a plot that tell its values when a pointer rests on them."""
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), strips_max)).astype(int))
    places = plot.x.at_all(x[chosen])
    middles = (places[1:] + places[:-1]) / 2
    edges = np.concatenate([[plot.left], middles, [plot.right]])
    for at, left, right in zip(chosen.tolist(), edges, edges[1:], strict=False):
        if right > left:
            canvas.rect((float(left), float(right)), (plot.top, plot.bottom), "hover", tips[at])
