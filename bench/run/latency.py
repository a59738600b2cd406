"""How long operations took, in as little memory for a thousand million of them as for one."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

QUANTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)

_PRECISION_BITS = 7
"""Of the mantissa: times that differ by less than one in 128 fall together."""
_SHIFT = 52 - _PRECISION_BITS
_BUCKETS = 64 << _PRECISION_BITS
_ZERO_BUCKET = 1023 << _PRECISION_BITS  # where 1 ns falls


def _empty() -> NDArray[np.int64]:
    return np.zeros(_BUCKETS, np.int64)


@dataclass(slots=True)
class Latencies:
    """Counts of times in buckets, whose width grows with the time."""

    counts: NDArray[np.int64] = field(default_factory=_empty)
    lowest_ns: int = 2**62
    highest_ns: int = 0

    def add(self, nanoseconds: NDArray[np.int64]) -> None:
        """Count some operations."""
        if nanoseconds.size == 0:
            return
        self.lowest_ns = min(self.lowest_ns, int(nanoseconds.min()))
        self.highest_ns = max(self.highest_ns, int(nanoseconds.max()))
        # The bits of a floating point number are its logarithm, nearly: exponent first, then mantissa.
        bits = np.maximum(nanoseconds, 1).astype(np.float64).view(np.int64)
        buckets = (bits >> _SHIFT) - _ZERO_BUCKET
        self.counts += np.bincount(buckets, minlength=_BUCKETS)

    def plus(self, other: "Latencies") -> "Latencies":
        """Return both together."""
        return Latencies(
            self.counts + other.counts,
            min(self.lowest_ns, other.lowest_ns),
            max(self.highest_ns, other.highest_ns),
        )

    @property
    def count(self) -> int:
        """How many operations."""
        return int(self.counts.sum())

    def microseconds(self, quantile: float) -> float:
        """Return the time that a share of all operations did not exceed; exact at both ends."""
        total = self.count
        if total == 0:
            raise ValueError("no operation was counted")
        rank = min(total, max(1, int(np.ceil(quantile * total))))
        if quantile <= 0:
            return self.lowest_ns / 1000
        if rank == total:
            return self.highest_ns / 1000
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank))
        low, high = (_edge(bucket), _edge(bucket + 1))
        return float(min(max((low + high) / 2, self.lowest_ns), self.highest_ns)) / 1000

    def to_json(self) -> dict[str, object]:
        """Return the quantiles as plain values."""
        return {
            "q": list(QUANTILES),
            "us": [round(self.microseconds(quantile), 3) for quantile in QUANTILES],
            "count": self.count,
        }


def _edge(bucket: int) -> float:
    """The shortest time that falls into a bucket."""
    return float(np.array((bucket + _ZERO_BUCKET) << _SHIFT, np.int64).view(np.float64))
