"""The command `sweep`."""

from collections.abc import Sequence

from bench.amplify.settings import AmplifySettings
from bench.commands import finish, refuse, takes
from bench.partial import kept
from bench.progress import shown_progress
from bench.result import new_result
from bench.sheet import Sheet
from bench.simulate.outcome import Cost, unbeaten
from bench.simulate.sheets import FRONTIER_NOTE
from bench.sweep.points import Point, Sweep, points_of
from bench.sweep.settings import SweepSettings
from bench.workload.options import changed_options

_FIGURES = {
    "write_amp": "write amp",
    "space_amp": "space amp",
    "miss_blocks": "miss blocks",
    "scan_runs": "scan runs",
}


@takes(SweepSettings)
def sweep(settings: SweepSettings) -> None:
    """Vary one factor at a time, on real stores or simulated ones, and show the frontier."""
    try:
        points = points_of(settings)
    except ValueError as error:
        refuse(error)
    result = new_result("sweep", settings)
    with shown_progress() as bar, kept(result):
        bar.start(len(points))
        running = Sweep()
        for point in points:
            bar.step(point.label)
            running.simulate(point)
            if not settings.simulated:
                running.measure(point)
    result.update(_to_json(settings, points))
    finish(sweep_sheets(settings, points), result, settings)


def sweep_sheets(settings: SweepSettings, points: Sequence[Point]) -> list[Sheet]:
    """Return what is to be shown: averages with the frontier, and what was measured beside the simulator."""
    found = [average_sheet(settings, points)]
    if any(point.measured is not None for point in points):
        found.append(measured_sheet(points))
    return found


def average_sheet(settings: SweepSettings, points: Sequence[Point]) -> Sheet:
    """Show every point as the simulator has it."""
    best = _best(points)["simulated"]
    sheet = Sheet(_title(settings), ["factor", "value", *_FIGURES.values(), "frontier"])
    for point in points:
        if point.simulated is not None:
            cells = [_cell(point.simulated, name) for name in _FIGURES]
            sheet.rows.append([point.factor, point.value_text, *cells, "*" if id(point) in best else ""])
    sheet.notes = [
        *_notes(settings.base()),
        "write amp: log, flush and compaction over user bytes; space amp: tables over live bytes",
        "miss blocks: read by the lookup of an absent key; scan runs: merged by a scan",
        "of the simulator; space amp, miss blocks and scan runs are averages over the run",
        FRONTIER_NOTE,
    ]
    return sheet


def measured_sheet(points: Sequence[Point]) -> Sheet:
    """Show what was measured, and beside it what the simulator says of the same moment."""
    heads = [head for name in _FIGURES.values() for head in (name, "simulated")]
    sheet = Sheet("Measured beside simulated, at the end of the run", ["factor", "value", *heads])
    for point in points:
        if point.measured is not None:
            cells = [_cell(cost, name) for name in _FIGURES for cost in (point.measured, point.simulated_end)]
            sheet.rows.append([point.factor, point.value_text, *cells])
    sheet.notes = [
        "the end may come just before a merge or just after it; then runs differ by as many as it takes away",
        "what is measured has the manifest in its write amp, the simulator has none",
    ]
    return sheet


def _cell(cost: Cost | None, name: str) -> str:
    if cost is None:
        return "–"
    return f"{cost.to_json()[name]:.{3 if name == 'miss_blocks' else 2}f}"


def _notes(base: AmplifySettings) -> list[str]:
    options = ", ".join(f"{name}={value}" for name, value in changed_options(base.store_options()).items())
    return [
        f"base: {base.keys:,} keys of {base.key_bytes} + {base.value_bytes} bytes; {options}",
        "tables are twice as large as the memtable; of other value sizes there are as many bytes in all",
    ]


def _title(settings: SweepSettings) -> str:
    how = "simulated" if settings.simulated else "simulated and measured"
    return (
        f"sweep: one factor at a time, {how}; {settings.overwrites:g} data sets overwritten "
        f"({settings.dist}) after {settings.warm_up:g}, seed {settings.seed}"
    )


def _best(points: Sequence[Point]) -> dict[str, set[int]]:
    """Which points, by identity, are unbeaten; simulated and measured ones apart.

    Nobody chooses the size of values, so those points do not take part.
    """
    choices = [point for point in points if point.factor != "value_size"]
    found: dict[str, set[int]] = {}
    for source in ("simulated", "measured"):
        costs = {id(point): cost for point in choices if (cost := getattr(point, source)) is not None}
        found[source] = {
            at for at, is_best in zip(costs, unbeaten([*costs.values()]), strict=True) if is_best
        }
    return found


def _to_json(settings: SweepSettings, points: Sequence[Point]) -> dict[str, object]:
    best, base = _best(points), points[0]
    figures = base.figures
    if settings.simulated and base.simulated is not None:
        figures = base.simulated.to_json()
    return {
        "title": _title(settings),
        "options": changed_options(base.settings.store_options()),
        "figures": figures,
        "frontier": [
            row
            for point in points
            for row in point.to_json({source: id(point) in found for source, found in best.items()})
        ],
        "notes": _notes(base.settings),
    }
