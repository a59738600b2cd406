"""The timeline of a result: columns of equal length over the seconds of a run, and samples of them."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.report.runs import Run, require
from bench.report.values import FloatArray, Unusable, amounts, part, text

POINTS_MAX = 360
"""More than these cannot be told apart on a picture."""
_CAUSES_MAX = 24


@dataclass(frozen=True, slots=True)
class Timeline:
    """Columns of samples; each is looked at only when it is asked for."""

    seconds: FloatArray
    values: dict[str, Any]

    def column(self, name: str) -> FloatArray:
        """Return one column."""
        return self._checked(self.values.get(name), f"timeline: {name}")

    def total(self, name: str) -> FloatArray:
        """Return a column that only ever grows."""
        found = self.column(name)
        if np.any(np.diff(found) < 0):
            raise Unusable(f"timeline: {name} is a running total, but goes down")
        return found

    def gapped(self, name: str) -> FloatArray | None:
        """Return a column with NaN where it is not known, or None if it never is."""
        if self.values.get(name) is None:
            return None
        found = self._checked(self.values[name], f"timeline: {name}", gaps=True)
        return None if np.all(np.isnan(found)) else found

    def optional(self, name: str) -> FloatArray:
        """Return a column, or zeros if there is none."""
        return np.zeros_like(self.seconds) if self.values.get(name) is None else self.column(name)

    def written(self) -> dict[str, FloatArray]:
        """Return the bytes written so far, by cause."""
        causes = part(self.values, "written")
        if causes is None:
            raise Unusable("timeline: written is missing")
        if len(causes) > _CAUSES_MAX:
            raise Unusable(f"timeline: written has {len(causes):,} causes")
        return {
            text(name, 20): self._checked(values, f"timeline: written: {text(name, 20)}")
            for name, values in causes.items()
        }

    def _checked(self, values: object, what: str, *, gaps: bool = False) -> FloatArray:
        if values is None:
            raise Unusable(f"{what} is missing")
        found = amounts(values, what, gaps=gaps)
        if len(found) != len(self.seconds):
            raise Unusable(f"{what} has {len(found):,} items, but seconds has {len(self.seconds):,}")
        return found


def timeline_of(run: Run) -> Timeline | None:
    """Return the timeline of a run, or None if it has none."""
    values = part(run.result, "timeline")
    if values is None:
        return None
    seconds = amounts(values.get("seconds"), "timeline: seconds")
    require(len(seconds), 2, "samples in the timeline")
    if np.any(np.diff(seconds) < 0) or seconds[-1] <= seconds[0]:
        raise Unusable("timeline: seconds do not go up")
    return Timeline(seconds, values)


def spaced(count: int, points_max: int = POINTS_MAX) -> NDArray[np.int64]:
    """Return the places of evenly chosen samples, first and last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, points_max)).astype(np.int64))


def peaks(values: FloatArray, points_max: int = POINTS_MAX) -> NDArray[np.int64]:
    """Return the place of the highest sample of each stretch, and the first and the last sample."""
    edges = spaced(len(values) + 1, points_max + 1)
    tops = [int(start + np.argmax(values[start:stop])) for start, stop in pairwise(edges)]
    return np.unique([0, *tops, len(values) - 1])
