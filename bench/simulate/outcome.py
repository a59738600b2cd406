"""What the simulator says of one variant, and which variants no other beats."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from bench.simulate.variants import Variant
from bench.simulated_store import simulated_store
from compaction.simulate import Figures, Steady, Trace, steady


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The figures that are weighed against each other; less is better, of all of them."""

    write_amp: float
    """Bytes of log, flush and compaction over user bytes."""
    space_amp: float
    miss_blocks: float
    scan_runs: float

    def to_json(self) -> dict[str, float]:
        """Return plain values."""
        return {name: getattr(self, name) for name in self.__slots__}

    def beats(self, other: "Cost") -> bool:
        """Tell whether this is nowhere worse and somewhere better."""
        ours, theirs = tuple(self.to_json().values()), tuple(other.to_json().values())
        return ours != theirs and all(mine <= its for mine, its in zip(ours, theirs, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One variant, simulated."""

    variant: Variant
    found: Steady
    seconds: float
    """How long it took to simulate."""

    @property
    def figures(self) -> Figures:
        """Of what was written after warm-up, and the state at the end."""
        return self.found.figures

    @property
    def cost(self) -> Cost:
        """What changes from flush to flush is averaged."""
        found = self.found
        return Cost(
            write_amp=found.write_amp,
            space_amp=found.space_amp,
            miss_blocks=found.miss_reads,
            scan_runs=found.runs,
        )

    @property
    def end(self) -> Cost:
        """The same, but the state is that of the end, as whoever looks at a real store sees it."""
        figures = self.figures
        return Cost(
            write_amp=self.found.write_amp,
            space_amp=figures.space_amp,
            miss_blocks=figures.miss_reads,
            scan_runs=float(figures.runs),
        )

    def to_figures(self) -> dict[str, float]:
        """Return the figures by the names of the result file."""
        figures, user_bytes = self.figures, max(1, self.figures.user_bytes)
        return {
            **self.cost.to_json(),
            "tree_write_amp": figures.tree_write_amp,
            "simulated_tree_write_amp": figures.tree_write_amp,
            "log_write_amp": self.found.log_write_amp,
            "flush_write_amp": figures.flushed_bytes / user_bytes,
            "compaction_write_amp": sum(figures.merged_bytes.values()) / user_bytes,
            "space_amp_peak": figures.peak_bytes / max(1, figures.live_bytes),
        }


def simulate_variant(trace: Trace, variant: Variant, *, batch: int = 1) -> Outcome:
    """Let the simulator play a stream on a store with these options."""
    start = perf_counter()
    found = steady(trace, simulated_store(variant.options, batch=batch))
    return Outcome(variant=variant, found=found, seconds=perf_counter() - start)


def unbeaten(costs: Sequence[Cost]) -> list[bool]:
    """Tell of each whether no other is as good everywhere and better somewhere: the frontier."""
    return [not any(other.beats(cost) for other in costs) for cost in costs]
