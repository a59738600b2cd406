"""The amplification that every engine had for the same stream of writes, as far as it tells."""

from dataclasses import dataclass
from typing import Any

from bench.report.bars import Row, Segment, draw_rows, longest
from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.runs import Run
from bench.report.scale import linear_to
from bench.report.svg import Canvas
from bench.report.theme import Style
from bench.report.units import short, show_bytes
from bench.report.values import Unusable, maybe_amount, rows, text

_ENGINES_MAX = 12
_OURS, _PEER = Style("s0"), Style("neutral")


@dataclass(frozen=True, slots=True)
class _Figure:
    key: str
    title: str
    label: str


_FIGURES = (
    _Figure("tree_write_amp", "Write amplification of the tree alone", "(flush + compaction) / flush"),
    _Figure("write_amp", "Write amplification with the log", "all bytes written / bytes of users"),
    _Figure("space_amp", "Space amplification", "bytes of tables / live bytes"),
)


def engine_charts(run: Run) -> list[Chart]:
    """Return one chart for each figure that at least one engine has; the first engine is ours."""
    found = rows(run.result, "amplification", _ENGINES_MAX)
    charts = [chart for figure in _FIGURES if (chart := _chart(run, figure, found)) is not None]
    if found and not charts:
        raise Unusable("amplification: no engine has a figure")
    return charts


def _chart(run: Run, figure: _Figure, found: list[dict[str, Any]]) -> Chart | None:
    bars, table = [], []
    for number, row in enumerate(found):
        engine, value = text(row.get("engine"), 24), maybe_amount(row.get(figure.key))
        if value is None:
            continue
        style = _PEER if number else _OURS
        bars.append(
            Row(
                label=engine,
                segments=[Segment(value, style, f"{engine}: {short(value)}")],
                text=short(value),
            )
        )
        sizes = [maybe_amount(row.get(key)) for key in ("flush_bytes", "compaction_bytes")]
        cells = ["–" if size is None else show_bytes(size) for size in sizes]
        table.append([engine, short(value), *cells, text(row.get("how") or "", 200)])
    if not bars:
        return None
    words = Words(
        title=f"{figure.title}, by engine",
        summary=f"{figure.label}, for the same writes: "
        + "; ".join(f"{row.label} {row.text}" for row in bars)
        + ".",
        table=Table(["engine", "figure", "flush", "compaction", "where it comes from"], table),
    )
    slug = f"engine-{figure.key.replace('_', '-')}"
    return make_chart(run.owner, slug, words, lambda canvas: _draw(canvas, bars, figure.label))


def _draw(canvas: Canvas, bars: list[Row], label: str) -> None:
    draw_rows(canvas, bars, linear_to(longest(bars), count=4 if canvas.is_narrow else 6), label)
