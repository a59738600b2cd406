"""Ranks whose frequency falls with a power of the rank, drawn without a table of all of them."""

import numpy as np
from numpy.typing import NDArray

IndexArray = NDArray[np.int64]
Floats = NDArray[np.float64]

_NEARLY_ONE = 1e-9


def zipf_ranks(random: np.random.Generator, theta: float, below: IndexArray | int, count: int) -> IndexArray:
    """Return ranks from 0 on, each below its own bound; rank r has the weight 1 / (r + 1) ** theta.

    Rejection-inversion (Hörmann and Derflinger, 1996): a point under the continuous curve is drawn by the
    inverse of its integral, and kept if it lies under the steps, which nearly all do.
    """
    curve = _Curve(theta)
    bounds = np.broadcast_to(np.asarray(below, np.int64), count)
    ranks = np.empty(count, np.int64)
    left = np.arange(count)
    while left.size:
        highest = bounds[left].astype(np.float64)
        low, high = curve.integral(1.5) - 1.0, curve.integral(highest + 0.5)
        area = high + random.random(left.size) * (low - high)
        x = curve.inverse(area)
        nearest = np.clip(np.rint(x), 1, highest)
        ranks[left] = nearest.astype(np.int64) - 1
        left = left[area < curve.integral(nearest + 0.5) - nearest**-theta]
    return ranks


class _Curve:
    """x ** -theta, integrated from 1 on, and back."""

    def __init__(self, theta: float) -> None:
        self._power = 1.0 - theta

    def integral(self, x: Floats | float) -> Floats:
        """Return the area between 1 and x."""
        logs = np.log(x)
        return logs if abs(self._power) < _NEARLY_ONE else np.expm1(self._power * logs) / self._power

    def inverse(self, area: Floats) -> Floats:
        """Return the x up to which there is so much area."""
        if abs(self._power) < _NEARLY_ONE:
            return np.exp(area)
        return np.exp(np.log1p(area * self._power) / self._power)
