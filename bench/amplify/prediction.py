"""What the stream of a run should cost: by the simulator, which is fed the same writes, and by formula."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compaction import simulate
from compaction.simulate import Figures

_POINTS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Bytes written for each user byte."""

    log: float
    flush: float
    levels: Mapping[int, float]
    """Of merges, by output level."""

    @property
    def tree(self) -> float:
        """Flush and merges."""
        return self.flush + sum(self.levels.values())

    @property
    def total(self) -> float:
        """All of it, but for the manifest."""
        return self.log + self.tree

    @property
    def tree_write_amp(self) -> float:
        """Flush and merges over flush, as RocksDB has it."""
        return self.tree / self.flush if self.flush else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Figures of the simulated store along the stream."""

    settings: simulate.Settings
    entry_bytes: int
    points: Sequence[Figures]

    @classmethod
    def of(
        cls,
        stream: Iterable[simulate.Writes],
        settings: simulate.Settings,
        *,
        entry_bytes: int,
        total_bytes: int,
    ) -> "Prediction":
        """Simulate a stream of entries of one size."""
        every_bytes = max(1, total_bytes // _POINTS)
        points = tuple(simulate.timeline(stream, settings, every_bytes=every_bytes))
        return cls(settings=settings, entry_bytes=entry_bytes, points=points)

    @property
    def log_write_amp(self) -> float:
        """The log: each write once, and what frames it."""
        return 1 + self.settings.log_bytes_per_write / self.entry_bytes

    def simulated(self, start_bytes: int, stop_bytes: int) -> Cost:
        """Return what the simulator spent between two numbers of user bytes."""
        user_bytes = max(1, stop_bytes - start_bytes)

        def spent(counts: Sequence[int]) -> float:
            return (self._at(stop_bytes, counts) - self._at(start_bytes, counts)) / user_bytes

        levels = {
            level: spent([point.merged_bytes.get(level, 0) for point in self.points])
            for level in sorted({level for point in self.points for level in point.merged_bytes})
        }
        return Cost(
            log=self.log_write_amp,
            flush=spent([point.flushed_bytes for point in self.points]),
            levels={level: cost for level, cost in levels.items() if cost > 0},
        )

    def formula(self, start_bytes: int, stop_bytes: int) -> Cost:
        """Return what the formulas of our policies say; how large tables are is the simulator's word.

        Levels of a leveled tree are counted from the last one upwards.  Tiers have no fixed level: theirs
        count from 1.
        """
        last, shape = self.points[-1], self.settings.shape
        flush = self.simulated(start_bytes, stop_bytes).flush
        if not last.level_bytes or not flush:
            return Cost(log=self.log_write_amp, flush=flush, levels={})
        found = simulate.predict.predict(shape, self.data_bytes, last.flushed_bytes / last.flushes)
        steps = (found.l0, *found.deeper)
        first = shape.levels_max - len(steps) if shape.policy == "leveled" else 1
        return Cost(
            log=self.log_write_amp,
            flush=flush,
            levels={first + at: flush * step for at, step in enumerate(steps)},
        )

    @property
    def data_bytes(self) -> float:
        """What a table of each key once would take: the largest level at the end."""
        return float(max(self.points[-1].level_bytes.values(), default=0))

    @property
    def space_amp(self) -> float:
        """Bytes of tables over live bytes, by formula: levels at their targets, the most tiers can take."""
        shape, live_bytes = self.settings.shape, max(1, self.points[-1].live_bytes)
        format_share = self.data_bytes / live_bytes
        if shape.policy == "leveled":
            return sum(simulate.predict.level_sizes(shape, self.data_bytes)) / live_bytes
        worst = {"tiered": simulate.theory.tiered_space_amp, "lazy": simulate.theory.lazy_space_amp}
        return worst[shape.policy](shape.level_ratio) * format_share

    def line(self) -> dict[str, list[float]]:
        """Return the simulated write amplification, log included, since the beginning of the stream."""
        return {
            "user_bytes": [float(point.user_bytes) for point in self.points],
            "write_amp": [point.write_amp + self.log_write_amp for point in self.points],
        }

    def _at(self, user_bytes: int, counts: Sequence[int]) -> float:
        """Return a count at some number of user bytes, between the points on a straight line."""
        places = [0, *(point.user_bytes for point in self.points)]
        return float(np.interp(user_bytes, places, [0, *counts]))
