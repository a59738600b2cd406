"""The frontier of a sweep: what writes cost against what space or reads cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.dots import shape_sample
from bench.report.frame import Axes, Plot, framed, legend
from bench.report.marks import shape
from bench.report.placing import Labels
from bench.report.runs import ALL_RUNS, Run, require
from bench.report.scale import Scale, cropped, linear, logarithmic
from bench.report.svg import Canvas
from bench.report.theme import Style, series_style
from bench.report.units import short
from bench.report.values import Unusable, maybe_amount, rows, text

_POINTS_MAX = 400
_FACTORS_MAX = 12
_RUNS = "runs"  # the factor of points that are runs of their own
_AGAINST = {
    "space_amp": ("space amplification", "bytes on disk for each live byte"),
    "miss_blocks": ("blocks of a miss", "blocks read by a get of a missing key"),
    "scan_runs": ("runs of a scan", "runs that a scan merges"),
}


@dataclass(frozen=True, slots=True)
class _Point:
    label: str
    """Beside the point."""
    name: str
    """With all settings."""
    factor: str
    source: str
    x: float
    y: float

    @property
    def tip(self) -> str:
        return f"{self.name}, {self.source}: write amplification {short(self.x)}, {short(self.y)}"


def frontier_charts(run: Run) -> list[Chart]:
    """Return write amplification against each other cost that the points of a sweep differ in."""
    found = rows(run.result, "frontier", 100_000)
    charts = []
    for name in _AGAINST:
        points = _points(found, name)
        # A cost that no setting changes is no trade-off; the first is shown in any case.
        if points and (name == "space_amp" or len({point.y for point in points}) > 1):
            charts.append(_chart(run.owner, name, points, len(found)))
    if found and not charts:
        raise Unusable("frontier: no point has both a write_amp and another cost")
    return charts


def frontier_together(runs: Sequence[Run]) -> Chart | None:
    """Return runs as points, among those of the sweeps that are shown with them."""
    measured, swept = [], []
    for run in runs:
        points = _points(rows(run.result, "frontier", 100_000), "space_amp")
        swept += points
        x, y = run.figure("write_amp"), run.figure("space_amp")
        if not points and x is not None and y is not None:
            measured.append(_Point(run.label, run.label, _RUNS, "measured", x, y))
    if not measured or len(measured) + len(swept) < 2:
        return None
    return _chart(ALL_RUNS, "space_amp", [*measured, *swept], len(measured) + len(swept))


def _points(found: list[dict[str, object]], against: str) -> list[_Point]:
    points = []
    for row in found:
        x, y = maybe_amount(row.get("write_amp")), maybe_amount(row.get(against))
        if x is not None and y is not None:
            factor, value = text(row.get("factor") or "", 24), row.get("value")
            name = text(row.get("label") or f"{factor} {text(value, 16)}", 80)
            points.append(_Point(text(name, 28), name, factor, text(row.get("source") or "", 12), x, y))
    return _grouped(points)


def _grouped(points: list[_Point]) -> list[_Point]:
    """Return points of a grid, which have no factor, by the first of their settings that varies."""
    if any(point.factor for point in points):
        return points
    settings = [point.name.split(", ") for point in points]
    if len(set(map(len, settings))) != 1:
        return points
    varying = [at for at, column in enumerate(zip(*settings, strict=True)) if len(set(column)) > 1]
    if not varying:
        return points
    group, *others = varying
    return [
        replace(point, factor=row[group], label=", ".join(row[at] for at in others) or row[group])
        for point, row in zip(points, settings, strict=True)
    ]


def _chart(owner: str, name: str, points: list[_Point], given: int) -> Chart:
    short_name, _ = _AGAINST[name]
    require(len(points), 1, "points of the frontier")
    best = pareto(points)
    notes = []
    if len(points) < given:
        notes.append(f"{given - len(points):,} of {given:,} points lack one of the two figures.")
    if len(points) > _POINTS_MAX:
        notes.append(f"The first {_POINTS_MAX} points are drawn.")
    words = Words(
        title=f"Write amplification against {short_name}",
        summary="Nothing measured or simulated is better in both than: "
        + "; ".join(f"{point.name} ({short(point.x)}, {short(point.y)})" for point in best[:6])
        + ".",
        table=Table(
            ["setting", "factor", "source", "write amplification", short_name],
            [[point.name, point.factor, point.source, short(point.x), short(point.y)] for point in points],
        ),
        notes=notes,
    )
    shown = points[:_POINTS_MAX]
    slug = f"frontier-{name.replace('_', '-')}"
    return make_chart(owner, slug, words, lambda canvas: _draw(canvas, shown, name))


def pareto(points: list[_Point]) -> list[_Point]:
    """Return the points that no other point beats in one figure without losing in the other."""
    best: list[_Point] = []
    for point in sorted(points, key=lambda point: (point.x, point.y)):
        if not best or point.y < best[-1].y:
            best.append(point)
    return best


def _draw(canvas: Canvas, points: list[_Point], name: str) -> None:
    factors = list(dict.fromkeys(point.factor for point in points))[:_FACTORS_MAX]
    styles = {factor: series_style(at) for at, factor in enumerate(factors)}
    top = _legend(canvas, points, styles)
    axes = Axes(
        x=_scale([point.x for point in points], 5 if canvas.is_narrow else 8),
        y=_scale([point.y for point in points], 5),
        x_label="write amplification",
        y_label=_AGAINST[name][1],
        height=260.0 if canvas.is_narrow else 320.0,
        room=20.0,
    )
    plot = framed(canvas, axes, top)
    _steps(canvas, plot, points)
    for factor, style in styles.items() if _is_one_at_a_time(points) else ():
        if factor != _RUNS:
            _thread(canvas, plot, [point for point in points if point.factor == factor], style)
    labels = Labels(plot.left, plot.right + 20, plot.top, plot.bottom)
    places = [(plot.x.at(point.x), plot.y.at(point.y)) for point in points]
    for x, y in places:
        labels.block(x, y, 6)
    for point, place in zip(points, places, strict=True):
        style = styles.get(point.factor, Style("neutral"))
        shape(canvas, style, place, hollow=point.source == "simulated", tip=point.tip)
    if len(points) <= 60:
        for point, place in zip(points, places, strict=True):
            labels.write(canvas, point.label, place)


def _is_one_at_a_time(points: list[_Point]) -> bool:
    """Whether a line along a factor means something: in a grid, other settings vary beside it."""
    return all(not point.name.startswith(f"{point.factor}, ") for point in points)


def _legend(canvas: Canvas, points: list[_Point], styles: dict[str, Style]) -> float:
    items = [(shape_sample(style), factor) for factor, style in styles.items() if factor]
    if {point.source for point in points} >= {"simulated", "measured"}:
        plain = Style("ink")
        items += [(shape_sample(plain), "measured"), (shape_sample(plain, hollow=True), "simulated")]
    return legend(canvas, items)


def _scale(values: list[float], count: int) -> Scale:
    low, high = min(values), max(values)
    if low > 0 and high / low > 30:
        return logarithmic(low, high, short, tight=True)
    space = (high - low) * 0.08 or high * 0.2 or 1.0
    start, stop = max(0.0, low - space), high + space
    return cropped(linear(stop, low=start, count=count), start, stop)


def _steps(canvas: Canvas, plot: Plot, points: list[_Point]) -> None:
    """Shade what is beaten: everything right of and above a point that is better in both."""
    best = pareto(points)
    words = [f"M{plot.x.at(best[0].x):.1f} {plot.top:.1f}"]
    for point in best:
        words.append(f"H{plot.x.at(point.x):.1f}V{plot.y.at(point.y):.1f}")
    words.append(f"H{plot.right:.1f}V{plot.top:.1f}Z")
    canvas.path("".join(words), "wash")


def _thread(canvas: Canvas, plot: Plot, points: list[_Point], style: Style) -> None:
    """Join the points of a factor, each source on its own."""
    for source in dict.fromkeys(point.source for point in points):
        places = [
            f"{plot.x.at(point.x):.1f} {plot.y.at(point.y):.1f}" for point in points if point.source == source
        ]
        if len(places) > 1:
            canvas.path(f"M{'L'.join(places)}", f"stroke {style.colour} {style.dash} thin".replace("  ", " "))
