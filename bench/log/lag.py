"""How far one process was behind another, from what each saw of itself by the same clock."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Samples = Sequence[tuple[float, int]]
"""Moments, and how many entries there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a copy was behind its source."""

    entries_max: int
    seconds_max: float
    """How old the oldest entry was that the copy did not have."""
    share: float
    """What the copy had when the writer stopped, of what the writer had written."""
    catch_up_seconds: float
    """From when the writer stopped until the copy had everything."""


def lag_of(written: Samples, copied: Samples) -> Lag:
    """Compare two histories; that of the copy ends with everything."""
    write_times, counts = np.array([at for at, _ in written]), np.array([count for _, count in written])
    times, held = np.array([at for at, _ in copied]), np.array([count for _, count in copied])
    stop, total = float(write_times[-1]), int(counts[-1])
    # What was written by a moment: as much as the writer had at its last look before it.
    there = counts[np.searchsorted(write_times, times, side="right") - 1]
    there[times < write_times[0]] = 0
    missing = np.maximum(there - held, 0)
    # The first entry that a copy lacks was there, at the latest, when the writer next looked.
    is_behind = missing > 0
    since = write_times[np.searchsorted(counts, held[is_behind], side="right")]
    ages = times[is_behind] - since
    before = held[times <= stop]
    return Lag(
        entries_max=int(missing.max(initial=0)),
        seconds_max=float(ages.max(initial=0.0)),
        share=min(1.0, int(before[-1]) / total) if len(before) else 0.0,
        catch_up_seconds=max(0.0, float(times[int((held >= total).argmax())]) - stop),
    )
