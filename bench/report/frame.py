"""What surrounds a plot: axes with their ticks, a legend, labels beside the ends of lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.report.scale import Scale
from bench.report.svg import Canvas, fitted, text_width
from bench.report.theme import Style

LINE = 17.0
"""Pixels from one line of text to the next."""
_GAP = 14.0


@dataclass(frozen=True, slots=True)
class Plot:
    """A rectangle of a picture with a scale for each direction."""

    x: Scale
    y: Scale

    @property
    def left(self) -> float:
        """Left edge in pixels."""
        return self.x.start

    @property
    def right(self) -> float:
        """Right edge in pixels."""
        return self.x.stop

    @property
    def top(self) -> float:
        """Upper edge in pixels."""
        return min(self.y.start, self.y.stop)

    @property
    def bottom(self) -> float:
        """Lower edge in pixels."""
        return max(self.y.start, self.y.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Two scales with what they show; `room` is kept free at the right for labels."""

    x: Scale
    y: Scale
    x_label: str
    """Below the ticks; if it is empty, what they mean must be said in them."""
    y_label: str
    room: float = 0.0
    height: float = 0.0
    """Of the plot itself; a sensible one if it is not given."""


def framed(canvas: Canvas, axes: Axes, top: float = 0.0) -> Plot:
    """Draw axes below `top` and return the plot between them; the canvas is as high as they need."""
    left = max([text_width(text) for _, text in axes.y.ticks], default=0.0) + 10
    upper = top + LINE + 9
    lower = upper + (axes.height or (200.0 if canvas.is_narrow else 240.0))
    last = text_width(axes.x.ticks[-1][1]) / 2 + 4 if axes.x.ticks else 0.0
    right = canvas.width - max(axes.room, last, 8.0)
    plot = Plot(axes.x.over(left, right), axes.y.over(lower, upper))
    canvas.text(0, top + 12, fitted(axes.y_label, canvas.width), "soft")
    for value, text in axes.y.ticks:
        y = plot.y.at(value)
        canvas.line((left, right), (y, y), "grid")
        canvas.text(left - 6, y + 4, text, "soft", anchor="end")
    canvas.line((left, right), (lower, lower), "axis")
    _x_ticks(canvas, plot)
    canvas.height = lower + LINE + 8
    if axes.x_label:
        canvas.text(right, lower + 2 * LINE + 2, fitted(axes.x_label, right), "soft", anchor="end")
        canvas.height += LINE
    return plot


def _x_ticks(canvas: Canvas, plot: Plot) -> None:
    free_from = -100.0
    for value, text in plot.x.ticks:
        x, half = plot.x.at(value), text_width(text) / 2
        if x - half < free_from:  # a tick without room for its text is no help
            continue
        canvas.line((x, x), (plot.bottom, plot.bottom + 4), "axis")
        canvas.text(x, plot.bottom + LINE, text, "soft", anchor="middle")
        free_from = x + half + 6


Swatch = Callable[[Canvas, float, float], None]
"""Draws the sample of a legend in 16 by 10 pixels, from a left edge and a middle."""


def legend(canvas: Canvas, items: Sequence[tuple[Swatch, str]], top: float = 0.0) -> float:
    """Draw a legend in as many lines as it needs, and return where it ends."""
    if not items:
        return top
    x, y = 0.0, top
    for swatch, text in items:
        shown = fitted(text, canvas.width - 24)
        width = 22 + text_width(shown) + _GAP
        if x and x + width - _GAP > canvas.width:
            x, y = 0.0, y + LINE
        swatch(canvas, x, y + 8)
        canvas.text(x + 22, y + 12, shown)
        x += width
    return y + LINE + 6


def filled(style: Style) -> Swatch:
    """Return the sample of a filled series."""

    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.rect((x, x + 16), (y - 5, y + 5), f"layer {style.colour} {style.texture}".strip())

    return draw


def stroked(style: str) -> Swatch:
    """Return the sample of a line."""

    def draw(canvas: Canvas, x: float, y: float) -> None:
        canvas.line((x, x + 18), (y, y), style)

    return draw


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A text beside the right end of a line or layer."""

    y: float
    text: str
    colour: str = ""
    strong: bool = False


def label_room(texts: Sequence[str]) -> float:
    """Return the pixels that labels at the right need."""
    return 26 + max(map(text_width, texts), default=0.0)


def end_labels(canvas: Canvas, plot: Plot, labels: Sequence[EndLabel]) -> None:
    """Write labels at the right of a plot, moved apart where they would touch."""
    ordered = sorted(labels, key=lambda label: (label.y, not label.strong))
    places = spread([label.y for label in ordered], LINE - 2, plot.top - 4, plot.bottom + 4)
    for label, y in zip(ordered, places, strict=True):
        x = plot.right
        canvas.path(f"M{x + 2:.1f} {label.y:.1f}L{x + 9:.1f} {y:.1f}L{x + 12:.1f} {y:.1f}", "lead")
        if label.colour:
            canvas.rect((x + 12, x + 18), (y - 4, y + 4), f"fill {label.colour}")
        canvas.text(x + (22 if label.colour else 15), y + 4, label.text, "strong" if label.strong else "")


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places in order that are at least a gap apart, near where they were, and inside if they fit."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap if found else low))
    if found and found[-1] > high:
        found[-1] = high
        for at in range(len(found) - 2, -1, -1):
            found[at] = min(found[at], found[at + 1] - gap)
    return found
