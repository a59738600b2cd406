"""What each setting of a sweep does: its costs as multiples of what the base costs."""

from typing import Any

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.dots import Dot, DotRow, draw_dots, shape_legend
from bench.report.runs import Run
from bench.report.scale import logarithmic
from bench.report.svg import Canvas
from bench.report.theme import Style, series_style
from bench.report.units import show_times
from bench.report.values import maybe_amount, rows, text

_BASE = "base"
_SETTINGS_MAX = 80
_COSTS = {
    "write_amp": "write amplification",
    "space_amp": "space amplification",
    "miss_blocks": "blocks of a miss",
    "scan_runs": "runs of a scan",
}
_SIDES = 16.0  # pixels above the rows for the words on both sides of one


def effects_chart(run: Run) -> Chart | None:
    """Return the costs of every setting beside those of the base, if the sweep has one."""
    found = rows(run.result, "frontier", 100_000)
    # What was measured has a base that was measured: the other one is off by what the simulator is.
    bases = {text(row.get("source"), 24): row for row in found if row.get("factor") == _BASE}
    if not bases or len(found) > _SETTINGS_MAX:
        return None
    styles = {cost: series_style(at) for at, cost in enumerate(_COSTS)}
    lines, table = [], []
    for row in found:
        source = text(row.get("source"), 24)
        base = bases.get(source, {})
        ratios = {cost: _ratio(row.get(cost), base.get(cost)) for cost in _COSTS}
        known = {cost: ratio for cost, ratio in ratios.items() if ratio is not None}
        if row is base or not known:
            continue
        name = f"{_name(row)}, {source}" if len(bases) > 1 else _name(row)
        lines.append(DotRow(label=name, dots=[_dot(name, cost, known[cost], styles) for cost in known]))
        table.append([name, *("–" if ratio is None else show_times(ratio) for ratio in ratios.values())])
    if not lines:
        return None
    least = min((line.dots[0] for line in lines), key=lambda dot: dot.value)
    words = Words(
        title="What each setting does, beside the base",
        summary=f"Left of 1× a setting costs less than the base. {least.tip}, the least of {len(lines)} "
        "settings.",
        table=Table(["setting", *_COSTS.values()], table),
    )
    return make_chart(run.owner, "effects", words, lambda canvas: _draw(canvas, lines, styles))


def _name(row: dict[str, Any]) -> str:
    return text(row.get("label") or f"{text(row.get('factor'), 24)} {text(row.get('value'), 24)}", 40)


def _ratio(value: object, base: object) -> float | None:
    one, other = maybe_amount(value), maybe_amount(base)
    return one / other if one and other else None


def _dot(name: str, cost: str, ratio: float, styles: dict[str, Style]) -> Dot:
    return Dot(
        value=ratio, style=styles[cost], tip=f"{name}: {show_times(ratio)} the {_COSTS[cost]} of the base"
    )


def _draw(canvas: Canvas, lines: list[DotRow], styles: dict[str, Style]) -> None:
    used = {dot.style for line in lines for dot in line.dots}
    named = [(what, styles[cost]) for cost, what in _COSTS.items() if styles[cost] in used]
    top = shape_legend(canvas, named) + _SIDES
    values = [dot.value for line in lines for dot in line.dots]
    scale = logarithmic(min(*values, 0.8), max(*values, 1.25), show_times, tight=True)
    x = draw_dots(canvas, lines, scale, "times what the base costs, by logarithm", top)
    one = x.at(1.0)
    canvas.line((one, one), (top - _SIDES + 2, canvas.height - 42), "axis")
    canvas.text(one - 8, top - 5, "costs less", "soft small", anchor="end")
    canvas.text(one + 8, top - 5, "costs more", "soft small")
