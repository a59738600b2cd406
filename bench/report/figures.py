"""The figures of runs as text: the few that matter on top, all of them in a table, runs beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.report.chart import Table
from bench.report.runs import Run
from bench.report.units import short, show_figure
from bench.report.values import Unusable, number, part, text

_FIGURES_MAX = 200


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure in large print, with a second one that puts it in its place."""

    title: str
    figure: str
    beside: str


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    title: str
    beside: str = ""
    said: str = ""


_KEYS = (
    _Key("write_amp", "write amplification", "predicted_write_amp", "predicted"),
    _Key("tree_write_amp", "tree only", "predicted_tree_write_amp", "predicted"),
    _Key("space_amp", "space amplification", "space_amp_peak", "peak"),
    _Key("hit_blocks", "blocks of a hit", "hit_tables", "tables"),
    _Key("miss_blocks", "blocks of a miss", "predicted_miss_blocks", "predicted"),
    _Key("false_positive_rate", "false positives", "predicted_false_positive_rate", "predicted"),
    _Key("ops_per_second", "operations a second", "worst_second_ops", "worst second"),
    _Key("p99_us", "p99 latency", "p50_us", "p50"),
    _Key("stall_share", "time stalled"),
    _Key("rss_max_bytes", "memory, most"),
)


def tiles(run: Run) -> list[Tile]:
    """Return the figures of a run that matter most."""
    found = []
    for key in _KEYS:
        value = run.figure(key.name)
        if value is not None:
            beside = run.figure(key.beside) if key.beside else None
            said = "" if beside is None else f"{key.said} {show_figure(key.beside, beside)}"
            found.append(Tile(key.title, show_figure(key.name, value), said))
    return found


def figure_table(runs: Sequence[Run]) -> Table | None:
    """Return all figures, one column a run; from the second on with the change from the first."""
    names: dict[str, None] = {}
    for run in runs:
        names |= dict.fromkeys(list(_figures(run))[:_FIGURES_MAX])
    chosen = list(names)[:_FIGURES_MAX]
    if not chosen:
        return None
    lines = [
        [text(name, 48), *(_cell(run, name, None if at == 0 else runs[0]) for at, run in enumerate(runs))]
        for name in chosen
    ]
    note = f"The first {_FIGURES_MAX} figures." if len(names) > _FIGURES_MAX else ""
    return Table(["figure", *(run.label for run in runs)], lines, note)


def _figures(run: Run) -> dict[str, object]:
    try:
        return part(run.result, "figures") or {}
    except Unusable:
        return {}


def _cell(run: Run, name: str, base: Run | None) -> str:
    figures = _figures(run)
    if name not in figures:
        return "–"
    try:
        value = number(figures[name], name)
        shown = show_figure(name, value)
        if base is None or name not in _figures(base):
            return shown
        first = number(_figures(base)[name], name)
    except Unusable:
        return "not a number"
    is_change = first > 0 and value != first and value / first < 1e4
    return f"{shown} ({100 * (value / first - 1):+.1f} %)" if is_change else shown


def facts(run: Run) -> list[tuple[str, Table]]:
    """Return settings, host and versions of a run as tables of names and values."""
    found = []
    for name in ("settings", "options", "store_settings", "store_options", "host", "versions"):
        value = run.result.get(name)
        if isinstance(value, dict) and value:
            lines = [[text(key, 48), _fact(key, item)] for key, item in list(value.items())[:_FIGURES_MAX]]
            found.append((name.replace("_", " "), Table(["name", "value"], lines)))
    return found


def _fact(name: str, value: object) -> str:
    if isinstance(value, list):
        return text(", ".join(text(item, 24) for item in value[:20]), 200)
    if isinstance(value, float):
        return short(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e18:
        return f"{value:,} ({show_figure(name, value)})" if str(name).endswith("_bytes") else f"{value:,}"
    return text(value, 200)
