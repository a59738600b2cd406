"""Figures from measurements: spreads over repeats, percentiles of latencies."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of repeated measurements, with the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Return the spread of some values, at least one."""
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1])

    def to_json(self) -> dict[str, float]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One run of a workload."""

    operations: int
    seconds: float
    cpu_seconds: float | None = None
    """Processor time of the calling thread, if it was the only one: other programs hardly change it."""
    settle_seconds: float = 0.0
    """How long the store went on working in the background afterwards."""

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / max(self.seconds, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long single operations took, in microseconds."""

    operations: int
    p50: float
    p99: float
    p999: float
    max: float

    @classmethod
    def of(cls, passes: Sequence[Nanoseconds]) -> "Latency":
        """Return the percentiles over all operations of all passes."""
        everything = np.concatenate(passes) / 1000
        p50, p99, p999 = np.percentile(everything, [50, 99, 99.9]).tolist()
        return cls(operations=everything.size, p50=p50, p99=p99, p999=p999, max=float(everything.max()))

    def to_json(self) -> dict[str, float]:
        """Return plain values."""
        return asdict(self)


def between(stamps: Sequence[int]) -> Nanoseconds:
    """Return the times between stamps of the clock: one operation and one reading of the clock each."""
    at = np.array(stamps, np.int64)
    return at[1:] - at[:-1]
