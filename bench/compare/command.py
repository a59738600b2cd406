"""The command `compare`."""

from contextlib import suppress
from dataclasses import replace

from bench.commands import data_of, finish, refuse, takes
from bench.compare.comparison import Comparison
from bench.compare.empty import loop_costs
from bench.compare.outcome import compare_json, outcomes
from bench.compare.sheets import compare_sheets
from bench.compare.workloads import find_workloads
from bench.peers.engines import find_peers, ours, split_names
from bench.progress import shown_progress
from bench.result import new_result
from bench.settings import QUICK_KEYS, CompareSettings

_LOOP_KEYS = 100_000  # enough for the cost of an empty loop


@takes(CompareSettings)
def compare(settings: CompareSettings) -> None:
    """Run the same workloads on this store and on its peers."""
    settings = replace(settings, keys=QUICK_KEYS) if settings.quick else settings
    try:
        peers, missing = find_peers(split_names(settings.peers))
        workloads = find_workloads(split_names(settings.workloads))
    except ValueError as error:
        refuse(error)
    result = new_result("compare", settings)
    with shown_progress() as bar:
        comparison = Comparison(
            settings=settings,
            engines=[ours(), *peers],
            workloads=workloads,
            data=data_of(settings),
            announce=bar.step,
        )
        bar.start(comparison.steps)
        with suppress(KeyboardInterrupt):  # what was measured until then is shown, and marked
            comparison.run()
    results = outcomes(comparison, loop_costs(workloads, data_of(replace(settings, keys=_LOOP_KEYS))))
    result.update(compare_json(comparison, results, missing))
    finish(compare_sheets(comparison, results, missing), result, settings)
