"""The figures of a comparison by flat names, for `compare-runs`."""

from collections.abc import Sequence

from bench.compare.amplification import Amplified
from bench.compare.outcome import WorkloadOutcome


def compare_figures(
    results: Sequence[WorkloadOutcome], amplified: Sequence[Amplified], our_name: str
) -> dict[str, float]:
    """Return our rates, their ratios to every peer's, and amplification: a peer's with its name in front."""
    found: dict[str, float] = {}
    for result in results:
        name = result.workload.name
        if our_name in result.rates:
            found[f"ops_per_second_{name}"] = result.rates[our_name].median
        for peer, ratio in result.ratios.items():
            found[f"ratio_{name}_{peer}"] = ratio.median
    for engine in amplified:
        prefix = "" if engine.engine == our_name else f"{engine.engine}_"
        found |= {f"{prefix}{name}": figure for name, figure in engine.figures().items()}
    return found
