"""False positives of the filters, level by level."""

from dataclasses import dataclass
from typing import Any

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.dots import Dot, DotRow, draw_dots, shape_sample
from bench.report.frame import legend
from bench.report.runs import Run
from bench.report.scale import Scale, linear_to, logarithmic
from bench.report.svg import Canvas
from bench.report.theme import Style
from bench.report.units import Unit, short, show_count, show_share
from bench.report.values import Unusable, maybe_amount, part, rows, text

_LEVELS_MAX = 40
_MEASURED, _PREDICTED = Style("s0", shape="circle"), Style("s1", shape="diamond")
_LOWEST = 1e-7
_EVEN_UP_TO = 8  # times the lowest: rates that differ by more are drawn by their logarithm


@dataclass(frozen=True, slots=True)
class _Level:
    """The filters of one level; None is what was not measured."""

    name: str
    measured: float | None
    predicted: float | None
    error: float
    """What chance makes of a rate that was measured so often, on both sides."""
    probes: float | None
    wrong: float | None
    bits: float | None

    @property
    def rates(self) -> list[float]:
        return [rate for rate in (self.measured, self.predicted) if rate is not None]

    @property
    def label(self) -> str:
        return self.name if self.bits is None else f"{self.name}, {short(self.bits)} bits a key"

    def cells(self) -> list[str]:
        """Return the row of a table."""
        rates = ["–" if rate is None else show_share(rate) for rate in (self.measured, self.predicted)]
        counts = ["–" if count is None else show_count(count) for count in (self.probes, self.wrong)]
        return [self.name, *rates, *counts, "–" if self.bits is None else short(self.bits)]


def filters_chart(run: Run) -> Chart | None:
    """Return the rate of false positives of every level, measured beside predicted."""
    levels = [_level(row) for row in rows(part(run.result, "reads") or {}, "filters", _LEVELS_MAX)]
    if not levels:
        return None
    if not any(level.rates for level in levels):
        raise Unusable("reads: filters: no level has a rate")
    table = [level.cells() for level in levels]
    words = Words(
        title="False positives of the filters, by level",
        summary="Share of lookups of missing keys that a filter lets through. "
        + "; ".join(f"{row[0]} measured {row[1]}, predicted {row[2]}" for row in table[:8])
        + ".",
        table=Table(["level", "measured", "predicted", "probes", "let through", "bits a key"], table),
    )
    return make_chart(run.owner, "filters", words, lambda canvas: _draw(canvas, levels))


def _level(row: dict[str, Any]) -> _Level:
    name = text(row.get("level"), 12)
    found = _Level(
        name=f"L{name}" if name.isdigit() else name,
        measured=maybe_amount(row.get("measured")),
        predicted=maybe_amount(row.get("predicted")),
        error=maybe_amount(row.get("error")) or 0.0,
        probes=maybe_amount(row.get("probes")),
        wrong=maybe_amount(row.get("false_positives")),
        bits=maybe_amount(row.get("bits_per_key")),
    )
    if any(rate > 1 for rate in found.rates):
        raise Unusable(f"reads: filters: {found.name} has a share above 1")
    return found


def _draw(canvas: Canvas, levels: list[_Level]) -> None:
    scale = _scale([rate for level in levels for rate in level.rates], 4 if canvas.is_narrow else 8)
    items = [(shape_sample(_MEASURED), "measured"), (shape_sample(_PREDICTED), "predicted")]
    if scale.is_log and any(rate < _LOWEST for level in levels for rate in level.rates):
        items.append((shape_sample(_MEASURED, hollow=True), "none at all, drawn at the left edge"))
    top = legend(canvas, items)
    lines = [DotRow(label=level.label, dots=_dots(level, scale.low)) for level in levels]
    draw_dots(canvas, lines, scale, "lookups of missing keys that a filter lets through", top)


def _scale(rates: list[float], count: int) -> Scale:
    positive = [rate for rate in rates if rate >= _LOWEST] or [0.01]
    low, high = min(positive), max(positive)
    if high / low <= _EVEN_UP_TO:
        even = linear_to(high * 1.15, Unit(0.01, "%"), count=count)
        return Scale(low=0.0, high=even.high, ticks=[(value, f"{text} %") for value, text in even.ticks])
    has_zero = len(positive) < len(rates)
    return logarithmic(low / 3 if has_zero else low, high, show_share, count=count, tight=True)


def _dots(level: _Level, lowest: float) -> list[Dot]:
    dots = []
    if level.measured is not None:
        counts = "" if level.probes is None else f", {level.cells()[4]} of {level.cells()[3]} probes"
        dots.append(
            Dot(
                value=max(level.measured, lowest),
                low=max(level.measured - level.error, lowest) if level.error else None,
                high=min(level.measured + level.error, 1.0) if level.error else None,
                style=_MEASURED,
                hollow=level.measured < _LOWEST,
                tip=f"{level.name} measured {show_share(level.measured)}{counts}",
            )
        )
    if level.predicted is not None:
        tip = f"{level.name} predicted {show_share(level.predicted)}"
        dots.append(Dot(value=max(level.predicted, lowest), style=_PREDICTED, tip=tip))
    return dots
