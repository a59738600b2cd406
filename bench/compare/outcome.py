"""What a comparison has shown: rates, ratios to the peers, and a plain verdict on each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from bench.compare.comparison import Comparison, Figures
from bench.compare.workloads import Workload
from bench.measure import Latency, Spread, Timing

YARDSTICK = "rocksdict"
"""The peer that the targets are multiples of."""


def verdict(ratio: float, target: float | None = None) -> str:
    """Say in words how a rate compares: ahead or behind, and whether the target is met."""
    plain = "ahead" if ratio >= 1 else "behind"
    if target is None:
        return plain
    return f"{plain}, target {'met' if ratio >= target else 'missed'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOutcome:
    """One workload on all engines."""

    workload: Workload
    operations: int
    rates: Mapping[str, Spread]
    """Operations a second, by engine."""
    rounds: Mapping[str, Sequence[float]]
    """The same, round by round."""
    cpu_ns: Mapping[str, Spread]
    """Processor time of the calling thread for an operation, by engine; background work is not in it."""
    settle_seconds: Mapping[str, Spread]
    ratios: Mapping[str, Spread]
    """Our rate as a multiple of a peer's in the same round, by peer."""
    latencies: Mapping[str, Latency]
    loop_ns: float
    """What the loop itself costs an operation."""

    @property
    def verdict(self) -> str:
        """The verdict against the yardstick, or nothing without it."""
        ratio = self.ratios.get(YARDSTICK)
        return "" if ratio is None else verdict(ratio.median, self.workload.target)

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "name": self.workload.name,
            "what": self.workload.what,
            "store": self.workload.on.value,
            "durable": self.workload.durable,
            "operations": self.operations,
            "rates": {name: spread.to_json() for name, spread in self.rates.items()},
            "rounds": {name: list(rates) for name, rates in self.rounds.items()},
            "cpu_ns": {name: spread.to_json() for name, spread in self.cpu_ns.items()},
            "settle_seconds": {name: spread.to_json() for name, spread in self.settle_seconds.items()},
            "ratios": {name: spread.to_json() for name, spread in self.ratios.items()},
            "target": self.workload.target,
            "verdict": self.verdict,
            "verdicts": {name: verdict(spread.median) for name, spread in self.ratios.items()},
            "latencies_us": {name: latency.to_json() for name, latency in self.latencies.items()},
            "loop_ns": self.loop_ns,
        }


def compare_json(
    comparison: Comparison, results: Sequence[WorkloadOutcome], missing: Mapping[str, str]
) -> dict[str, object]:
    """Return the figures of a comparison as plain values."""
    return {
        "title": _title(comparison),
        "entries": comparison.data.count,
        "store_settings": asdict(comparison.settings.store),
        "engines": {
            engine.name: {"version": engine.version, "setup": engine.setup} for engine in comparison.engines
        },
        "missing_peers": dict(missing),
        "compact_seconds": {
            name: Spread.of(seconds).to_json() for name, seconds in comparison.figures.compactions.items()
        },
        "workloads": [result.to_json() for result in results],
    }


def _title(comparison: Comparison) -> str:
    settings, names = comparison.settings, [engine.name for engine in comparison.engines]
    return (
        f"{' beside '.join([names[0], ', '.join(names[1:])]) if names[1:] else names[0]}: "
        f"{comparison.data.count:,} entries of {settings.key_bytes} + {settings.value_bytes} bytes"
    )


def outcomes(comparison: Comparison, loop_ns: Mapping[str, float]) -> list[WorkloadOutcome]:
    """Return what the figures say, for every workload that ran on our store; the first engine is ours."""
    names = [engine.name for engine in comparison.engines]
    return [
        _outcome(workload, names, comparison.figures, loop_ns.get(workload.name, 0.0))
        for workload in comparison.workloads
        if (workload.name, names[0]) in comparison.figures.timings
    ]


def _outcome(workload: Workload, names: Sequence[str], figures: Figures, loop_ns: float) -> WorkloadOutcome:
    timings = {
        name: figures.timings[workload.name, name]
        for name in names
        if (workload.name, name) in figures.timings
    }
    ours = timings[names[0]]
    return WorkloadOutcome(
        workload=workload,
        operations=ours[0].operations,
        rates={name: Spread.of(timing.rate for timing in runs) for name, runs in timings.items()},
        rounds={name: [timing.rate for timing in runs] for name, runs in timings.items()},
        cpu_ns={name: spread for name, runs in timings.items() if (spread := _cpu_ns(runs)) is not None},
        settle_seconds={
            name: Spread.of(timing.settle_seconds for timing in runs) for name, runs in timings.items()
        },
        ratios={name: _ratio(ours, runs) for name, runs in timings.items() if name != names[0]},
        latencies={
            name: Latency.of(traces)
            for name in names
            if (traces := figures.traces.get((workload.name, name)))
        },
        loop_ns=loop_ns,
    )


def _ratio(ours: Sequence[Timing], theirs: Sequence[Timing]) -> Spread:
    # Round by round: both ran within the same minute.  An interrupted run may have one round more of ours.
    return Spread.of(our.rate / their.rate for our, their in zip(ours, theirs, strict=False))


def _cpu_ns(runs: Sequence[Timing]) -> Spread | None:
    known = [run.cpu_seconds / run.operations * 1e9 for run in runs if run.cpu_seconds is not None]
    return Spread.of(known) if known else None
