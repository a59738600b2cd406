"""Which charts a report has, in their order; what cannot be drawn becomes a sentence that says why."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.report.chart import Chart
from bench.report.charts.compare import rates_chart, ratio_chart, tails_chart
from bench.report.charts.effects import effects_chart
from bench.report.charts.engines import engine_charts
from bench.report.charts.filters import filters_chart
from bench.report.charts.frontier import frontier_charts, frontier_together
from bench.report.charts.latency import latency_chart
from bench.report.charts.levels import levels_chart
from bench.report.charts.predicted import predicted_chart
from bench.report.charts.rate import rate_chart
from bench.report.charts.reads import blocks_chart, cost_chart, monkey_chart
from bench.report.charts.space import bytes_chart, space_chart
from bench.report.charts.together import (
    latency_together,
    misses_together,
    rate_together,
    space_together,
    write_amp_together,
)
from bench.report.charts.write_amp import causes_chart, growth_chart
from bench.report.runs import Run
from bench.report.values import Unusable


@dataclass(frozen=True, slots=True)
class NoChart:
    """A chart that could not be drawn."""

    title: str
    why: str


Shown = Chart | NoChart
_OfRun = Callable[[Run], Chart | list[Chart] | None]
_OfRuns = Callable[[Sequence[Run]], Chart | None]

OF_A_RUN: dict[str, _OfRun] = {
    "Ratios to the peers": ratio_chart,
    "Rates of the engines": rates_chart,
    "Latencies of the engines": tails_chart,
    "Amplification of the engines": engine_charts,
    "Write amplification over bytes written": growth_chart,
    "Simulated write amplification": predicted_chart,
    "Write amplification by cause": causes_chart,
    "Operations a second": rate_chart,
    "Latency by percentile": latency_chart,
    "Bytes on disk over time": space_chart,
    "Where every byte on disk is": bytes_chart,
    "What a lookup costs": cost_chart,
    "Blocks read by a lookup": blocks_chart,
    "False positives of the filters": filters_chart,
    "Filter bits by level": monkey_chart,
    "Frontier of the sweep": frontier_charts,
    "What each setting does": effects_chart,
    "Map of the levels": levels_chart,
}
OF_ALL_RUNS: dict[str, _OfRuns] = {
    "Write amplification of each run": write_amp_together,
    "Space amplification of each run": space_together,
    "Blocks of a miss in each run": misses_together,
    "Runs on the frontier": frontier_together,
    "Operations a second of each run": rate_together,
    "Latency of each run": latency_together,
}


def charts_of(run: Run) -> list[Shown]:
    """Return the charts of one run; a part that its result does not have has none."""
    shown: list[Shown] = []
    for title, make in OF_A_RUN.items():
        try:
            made = make(run)
        except Unusable as error:
            shown.append(NoChart(title, str(error)))
            continue
        shown += made if isinstance(made, list) else [made] if made is not None else []
    return shown


def charts_of_all(runs: Sequence[Run]) -> list[Shown]:
    """Return the charts that show several runs at once."""
    shown: list[Shown] = []
    for title, make in OF_ALL_RUNS.items():
        try:
            made = make(runs)
        except Unusable as error:
            shown.append(NoChart(title, str(error)))
            continue
        shown += [made] if made is not None else []
    return shown
