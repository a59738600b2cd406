"""Write amplification of our own policies, predicted from sizes: uniform overwrites in a steady state.

The textbook's formulas (`theory`) know neither L0 nor where our levels begin and end.  These do, and
come to within a fifth of the simulator, and so of the store.  Not for skewed or growing data.
"""

from dataclasses import dataclass
from itertools import count, pairwise
from math import ceil, sqrt

from compaction.shape import Shape

OVERLAP_SHARE = 0.5
"""A table that goes down is merged with this share of `level_ratio` times its bytes.

Where the level was emptied last there is little of it, and where it was not for long there is twice as much
as on average: that is what is taken, the table with the least below for each byte of its own.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Bytes written for each byte flushed."""

    flush: float
    l0: float
    """Of L0 into the level, or the run, below."""
    deeper: tuple[float, ...]
    """Of further levels or tiers, from the top down."""

    @property
    def tree_write_amp(self) -> float:
        """All together."""
        return self.flush + self.l0 + sum(self.deeper)


def predict(shape: Shape, data_bytes: float, flush_bytes: float) -> Predicted:
    """What a store with `data_bytes` in tables writes when a flush makes `flush_bytes` of table."""
    predictors = {"leveled": _leveled, "tiered": _tiered, "lazy": _lazy}
    return predictors[shape.policy](shape, data_bytes, shape.l0_tables_max * flush_bytes)


def level_sizes(shape: Shape, data_bytes: float) -> list[float]:
    """The targets of a leveled tree, from the base level down."""
    sizes = [data_bytes]
    while sizes[0] > shape.base_bytes and len(sizes) < shape.levels_max - 1:
        least = shape.upper_bytes_min if len(sizes) > 1 else 0
        sizes.insert(0, max(sizes[0] / shape.level_ratio, least))
    return sizes


def _leveled(shape: Shape, data_bytes: float, l0_bytes: float) -> Predicted:
    sizes = level_sizes(shape, data_bytes)
    if len(sizes) == 1:
        # All of it is there already: the level comes out as large as it went in.
        return Predicted(flush=1.0, l0=max(1.0, data_bytes / l0_bytes), deeper=())
    costs, flow = [], 1.0
    for upper_bytes, lower_bytes in pairwise(sizes):
        ratio = lower_bytes / upper_bytes
        # L0 comes all at once, so that a level is above its target by half of it on average.
        fill = upper_bytes / (upper_bytes + l0_bytes / 2)
        # What is overwritten while it waits in a level goes no further.
        flow *= 1 - 1 / (2 * ratio)
        # The last level does not grow by what comes; the others do until it goes on.
        costs.append(flow * (1 + OVERLAP_SHARE * ratio * fill))
    return Predicted(flush=1.0, l0=1 + sizes[0] / l0_bytes, deeper=(*costs[:-1], costs[-1] - flow))


def _tiered(shape: Shape, data_bytes: float, l0_bytes: float) -> Predicted:
    ratio, run_bytes = shape.level_ratio, min(l0_bytes, data_bytes)
    flow = 1.0
    """What reaches a tier of each byte flushed; the rest was overwritten on the way."""
    deeper = []
    while run_bytes * sqrt(ratio) < data_bytes:
        merged_bytes = data_bytes * (1 - (1 - run_bytes / data_bytes) ** ratio)
        flow *= merged_bytes / (ratio * run_bytes)
        deeper.append(flow)
        run_bytes = merged_bytes
    # The last tier: one run of everything, and others until there are enough of them.
    deeper.append(flow * data_bytes / ((ratio - 1) * run_bytes))
    return Predicted(flush=1.0, l0=1.0, deeper=tuple(deeper))


def _lazy(shape: Shape, data_bytes: float, l0_bytes: float) -> Predicted:
    ratio = shape.level_ratio
    runs = max(1, ceil(data_bytes / ratio / l0_bytes))
    """So many times L0 is emptied until the last run is rewritten; the last time goes along with it."""
    tiers = []
    for tier in count(1):
        merged_runs = (runs - 1) // ratio**tier * ratio**tier
        if not merged_runs:
            break
        tiers.append(merged_runs / runs)
    return Predicted(flush=1.0, l0=(runs - 1) / runs, deeper=(*tiers, data_bytes / (runs * l0_bytes)))
