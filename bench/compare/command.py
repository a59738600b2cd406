"""The command `compare`."""

from dataclasses import replace

from bench.commands import data_of, finish, refuse, takes
from bench.compare.amplification import AmplifyTask
from bench.compare.amplification_run import AmplifyRun
from bench.compare.amplification_sheet import amplify_sheet
from bench.compare.comparison import Comparison
from bench.compare.empty import loop_costs
from bench.compare.figures import compare_figures
from bench.compare.outcome import compare_json, outcomes
from bench.compare.settings import QUICK_AMPLIFY_KEYS, QUICK_KEYS, CompareSettings
from bench.compare.sheets import compare_sheets
from bench.compare.workloads import find_workloads
from bench.partial import kept
from bench.peers.disk_full import disk_full_alike
from bench.peers.engines import find_peers, ours, split_names
from bench.progress import Bar, shown_progress
from bench.result import new_result
from bench.settings import MIB

_LOOP_KEYS = 100_000  # enough for the cost of an empty loop
_LOOP_BYTES = 64 * MIB  # and what they may take of the memory


@takes(CompareSettings)
def compare(settings: CompareSettings) -> None:
    """Run the same workloads on this store and on its peers."""
    settings = _quick(settings) if settings.quick else settings
    task = AmplifyTask.of(settings)
    try:
        peers, missing = find_peers(split_names(settings.peers))
        workloads = find_workloads(split_names(settings.workloads))
        task.data()
    except ValueError as error:
        refuse(error)
    result = new_result("compare", settings)
    amplified = AmplifyRun(task=task)
    with shown_progress() as bar:
        comparison = Comparison(
            settings=settings,
            engines=[ours(), *peers],
            workloads=workloads,
            data=data_of(settings),
            announce=bar.step,
        )
        with kept(result), disk_full_alike():  # what was measured until then is shown, and marked
            _measure(comparison, amplified, bar)
    results = outcomes(comparison, loop_costs(workloads, data_of(_for_loops(settings))))
    result.update(compare_json(comparison, results, missing))
    result["amplification"] = [found.to_json() for found in amplified.found]
    result["amplification_failed"] = amplified.failed
    result["figures"] = compare_figures(results, amplified.found, comparison.engines[0].name)
    sheets = compare_sheets(comparison, results, missing)
    if amplified.found or amplified.failed:
        sheets.append(amplify_sheet(amplified, comparison.engines))
    finish(sheets, result, settings)


def _quick(settings: CompareSettings) -> CompareSettings:
    return replace(settings, keys=QUICK_KEYS, amplify_keys=min(settings.amplify_keys, QUICK_AMPLIFY_KEYS))


def _for_loops(settings: CompareSettings) -> CompareSettings:
    fitting = _LOOP_BYTES // (settings.key_bytes + settings.value_bytes)
    return replace(settings, keys=max(10, min(_LOOP_KEYS, fitting)))


def _measure(comparison: Comparison, amplified: AmplifyRun, bar: Bar) -> None:
    """Run the workloads, then the stream of writes whose amplification is of interest."""
    is_amplified = amplified.task.keys > 0
    bar.start(comparison.steps + is_amplified * len(comparison.engines))
    comparison.run()
    if is_amplified:
        amplified.run(comparison.engines, comparison.settings.directory, bar.step)
