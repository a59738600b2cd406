"""The command `run`."""

from rich.console import Console

from bench.commands import finish, takes
from bench.partial import kept
from bench.progress import shown_progress
from bench.result import new_result
from bench.run.measure import Measurement
from bench.run.outcome import Outcome
from bench.run.settings import RunSettings
from bench.run.sheets import list_sheet, run_sheets
from bench.sheet import show


@takes(RunSettings)
def run(settings: RunSettings) -> None:
    """Run one workload, and measure rates, latencies, stalls and what is written."""
    if settings.list_workloads:
        show(list_sheet(), Console())
        return
    result = new_result("run", settings)
    measured = Measurement(settings)
    with shown_progress() as bar, kept(result):
        measured.run(bar)
    outcome = Outcome(measured)
    result.update(outcome.to_json())
    finish(run_sheets(outcome), result, settings)
