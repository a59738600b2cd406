"""Dots in rows: one row a thing, one dot a series, a whisker from its lowest to its highest."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.frame import LINE, Swatch, legend
from bench.report.marks import shape
from bench.report.scale import Scale
from bench.report.svg import Canvas, fitted, text_width
from bench.report.theme import Style

_STEP = 9.0  # between the dots of a row
_LABEL_SHARE_MAX = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A value of one series."""

    value: float
    style: Style
    tip: str
    low: float | None = None
    high: float | None = None
    hollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRow:
    """All dots of one thing; `mark` is a value to be reached."""

    label: str
    dots: Sequence[Dot]
    mark: float | None = None


def draw_dots(canvas: Canvas, rows: Sequence[DotRow], scale: Scale, x_label: str, top: float = 0.0) -> Scale:
    """Draw rows of dots below `top`, and return the scale over its pixels."""
    left = 4.0
    if not canvas.is_narrow:
        widest = max(text_width(row.label) for row in rows)
        left = min(canvas.width * _LABEL_SHARE_MAX, 12 + widest)
    x = scale.over(left, canvas.width - 24)
    heights = [_height(canvas, row) for row in rows]
    bottom = top + sum(heights)
    for value, _ in x.ticks:
        canvas.line((x.at(value), x.at(value)), (top, bottom), "grid")
    y = top
    for at, (row, height) in enumerate(zip(rows, heights, strict=True)):
        if at:
            canvas.line((0, canvas.width), (y, y), "grid")
        _row(canvas, row, x, (y, height))
        y += height
    canvas.line((x.start, x.stop), (bottom, bottom), "axis")
    free_from = -100.0
    for value, text in x.ticks:
        at_x, half = x.at(value), text_width(text) / 2
        if at_x - half >= free_from:
            canvas.text(max(at_x, half), bottom + LINE - 2, text, "soft", anchor="middle")
            free_from = at_x + half + 6
    canvas.text(canvas.width - 4, bottom + 2 * LINE, fitted(x_label, canvas.width), "soft", anchor="end")
    canvas.height = bottom + 2 * LINE + 8
    return x


def _height(canvas: Canvas, row: DotRow) -> float:
    return max(26.0, 10 + _STEP * len(row.dots)) + (LINE - 4 if canvas.is_narrow else 0)


def _row(canvas: Canvas, row: DotRow, x: Scale, span: tuple[float, float]) -> None:
    top, height = span
    if canvas.is_narrow:
        canvas.text(2, top + 13, fitted(row.label, canvas.width), "halo")
        top, height = top + LINE - 4, height - LINE + 4
    else:
        canvas.text(x.start - 10, top + height / 2 + 4, fitted(row.label, x.start - 10), anchor="end")
    if row.mark is not None:
        at = x.at(row.mark)
        canvas.line((at, at), (top + 3, top + height - 3), "mark")
    first = top + height / 2 - _STEP * (len(row.dots) - 1) / 2
    for number, dot in enumerate(row.dots):
        y = first + _STEP * number
        if dot.low is not None and dot.high is not None:
            canvas.line((x.at(dot.low), x.at(dot.high)), (y, y), f"whisker {dot.style.colour}")
        shape(canvas, dot.style, (x.at(dot.value), y), hollow=dot.hollow, tip=dot.tip)


def shape_sample(style: Style, *, hollow: bool = False) -> Swatch:
    """Return the sample of a series of shapes."""

    def draw(canvas: Canvas, x: float, y: float) -> None:
        shape(canvas, style, (x + 8, y), hollow=hollow)

    return draw


def shape_legend(canvas: Canvas, names: Sequence[tuple[str, Style]], top: float = 0.0) -> float:
    """Draw a legend of shapes, and return where it ends."""
    return legend(canvas, [(shape_sample(style), name) for name, style in names], top)
