"""The points of a sweep: the base, and one for every other value of every factor."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bench.amplify.measure import measure_amplification
from bench.amplify.settings import AmplifySettings
from bench.amplify.stream import all_writes, is_uniform
from bench.commands import data_of
from bench.progress import Bar
from bench.ranges import size_text
from bench.simulate.outcome import Cost, simulate_variant
from bench.simulate.variants import Variant
from bench.sweep.settings import SweepSettings, Value
from compaction.simulate import Trace, thinned

_KEPT = 100_000
"""Writes that the simulator looks at."""
BASE = "base"


@dataclass(slots=True)
class Point:
    """One store; its costs are filled in as they are known."""

    factor: str
    value: Value
    settings: AmplifySettings
    simulated: Cost | None = None
    """Space and runs are averages over the run."""
    simulated_end: Cost | None = None
    measured: Cost | None = None
    """Space and runs are those at the end of the run."""
    figures: dict[str, float] = field(default_factory=dict)
    """All that was measured."""

    @property
    def label(self) -> str:
        """Return one line for people."""
        return BASE if self.factor == BASE else f"{self.factor} {self.value_text}"

    @property
    def value_text(self) -> str:
        """Return the value for people."""
        if self.factor == "memtable" and isinstance(self.value, int):
            return size_text(self.value)
        return self.value if isinstance(self.value, str) else f"{self.value:g}"

    def to_json(self, best: Mapping[str, bool]) -> Iterator[dict[str, object]]:
        """Yield a row of the result file for each source of figures; `best` says where it is unbeaten."""
        for source, cost in (("simulated", self.simulated), ("measured", self.measured)):
            if cost is not None:
                yield {
                    "label": self.label,
                    "factor": self.factor,
                    "value": self.value,
                    "source": source,
                    **cost.to_json(),
                    "is_best": best.get(source, False),
                }


def points_of(settings: SweepSettings) -> list[Point]:
    """Return the base first, then factor by factor; ValueError for a value that no store takes."""
    points = [Point(BASE, BASE, settings.base())]
    is_uniform(settings)  # raises for a distribution that nobody knows
    for factor, values in settings.wanted().items():
        base_value = settings.base_value(factor)
        for value in values:
            if value != base_value:
                made = settings.point(factor, value)
                data_of(made)  # raises if the keys do not fit
                points.append(Point(factor, value, made))
    return points


class Sweep:
    """Simulates and measures points; those with the same stream share it."""

    def __init__(self) -> None:
        self._traces: dict[tuple[int, int], Trace] = {}

    def simulate(self, point: Point) -> None:
        """Let the simulator say what a point costs."""
        settings = point.settings
        outcome = simulate_variant(
            self._trace(settings), Variant(settings.store_options()), batch=settings.batch
        )
        point.simulated, point.simulated_end = outcome.cost, outcome.end

    def measure(self, point: Point) -> None:
        """Make the store, and measure what it costs."""
        found = measure_amplification(point.settings, data_of(point.settings), Bar()).figures()
        point.figures = found
        point.measured = Cost(
            write_amp=found["write_amp"],
            space_amp=found["space_amp"],
            miss_blocks=found["miss_blocks"],
            scan_runs=found["scan_runs"],
        )

    def _trace(self, settings: AmplifySettings) -> Trace:
        shape = settings.keys, settings.value_bytes
        if shape not in self._traces:
            warm_bytes = (settings.keys + settings.warm_up_count) * settings.entry_bytes
            trace = thinned(all_writes(settings), kept_max=_KEPT)
            self._traces[shape] = replace(trace, warm_bytes=warm_bytes)
        return self._traces[shape]
