"""Bars that lie: one row a thing, segments end to end, a mark where theory puts the end."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.frame import LINE
from bench.report.scale import Scale
from bench.report.svg import Canvas, fitted, text_width
from bench.report.theme import Style

_BAR = 15.0
_LABEL_SHARE_MAX = 0.36  # of the width


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar."""

    value: float
    style: Style
    tip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One bar with its name, the figure at its end, and where it was predicted to end."""

    label: str
    segments: Sequence[Segment]
    text: str
    mark: float | None = None
    apart: bool = False
    """Whether it begins a new group."""

    @property
    def length(self) -> float:
        """Where the bar ends."""
        return sum(segment.value for segment in self.segments)


def longest(rows: Sequence[Row]) -> float:
    """Return the largest value that a bar or a mark has."""
    return max([max(row.length, row.mark or 0.0) for row in rows], default=0.0)


def draw_rows(canvas: Canvas, rows: Sequence[Row], scale: Scale, x_label: str, top: float = 0.0) -> None:
    """Draw bars below `top`; on a narrow canvas names stand above their bars."""
    left = _label_column(canvas, rows)
    room = 10 + max(text_width(row.text) for row in rows)
    x = scale.over(left, canvas.width - max(room, 20.0))
    step = _BAR + 9 + (LINE if canvas.is_narrow else 0)
    starts = _starts(rows, top + 4, step)
    bottom = starts[-1] + step
    for value, _ in x.ticks:
        canvas.line((x.at(value), x.at(value)), (top, bottom), "grid")
    for row, y in zip(rows, starts, strict=True):
        _row(canvas, row, x, y)
    canvas.line((left, left), (top, bottom), "axis")
    _ticks(canvas, x, bottom)
    canvas.text(canvas.width, bottom + 2 * LINE, fitted(x_label, canvas.width), "soft", anchor="end")
    canvas.height = bottom + 2 * LINE + 8


def _label_column(canvas: Canvas, rows: Sequence[Row]) -> float:
    if canvas.is_narrow:
        return 1.0
    return min(canvas.width * _LABEL_SHARE_MAX, 14 + max(text_width(row.label) for row in rows))


def _starts(rows: Sequence[Row], top: float, step: float) -> list[float]:
    places, y = [], top
    for at, row in enumerate(rows):
        y += 8 if row.apart and at else 0
        places.append(y)
        y += step
    return places


def _row(canvas: Canvas, row: Row, x: Scale, y: float) -> None:
    if canvas.is_narrow:
        canvas.text(3, y + 11, fitted(row.label, canvas.width - 3), "halo")
        y += LINE
    else:
        canvas.text(x.start - 8, y + 12, fitted(row.label, x.start - 10), anchor="end")
    end = 0.0
    for segment in row.segments:
        if segment.value > 0:
            span = (x.at(end), x.at(end + segment.value))
            look = f"box {segment.style.colour} {segment.style.texture}".strip()
            canvas.rect(span, (y, y + _BAR), look, segment.tip)
        end += segment.value
    if row.mark is not None:
        at = x.at(row.mark)
        canvas.line((at, at), (y - 3, y + _BAR + 3), "mark")
    after = x.at(max(end, row.mark or 0.0))
    canvas.text(after + 7, y + 12, row.text, "halo")


def _ticks(canvas: Canvas, x: Scale, bottom: float) -> None:
    free_from = -100.0
    for value, text in x.ticks:
        at, half = x.at(value), text_width(text) / 2
        if at - half >= free_from:
            canvas.text(max(at, half), bottom + LINE - 3, text, "soft", anchor="middle")
            free_from = at + half + 6


def swatch_of_mark(canvas: Canvas, x: float, y: float) -> None:
    """Draw the sample of a mark in a legend."""
    canvas.line((x + 8, x + 8), (y - 8, y + 8), "mark")
