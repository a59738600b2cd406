"""Bits shared out over the levels (Monkey), against the same store with the same bits everywhere."""

from dataclasses import asdict, dataclass

from bench.amplify.lookups import LookupTally
from compaction.simulate import theory


@dataclass(frozen=True, slots=True, kw_only=True)
class MonkeyGain:
    """Blocks read for each key that is not there, of two stores made from one stream."""

    uniform_miss_blocks: float
    monkey_miss_blocks: float
    expected_ratio: float
    """From the bits that the filters which were asked really have."""
    predicted_ratio: float | None
    """From level ratio, number of runs and bits on average, by Monkey's closed form; None if it has none."""
    runs: float

    @property
    def ratio(self) -> float | None:
        """How many times fewer; None if nothing was read in vain."""
        return self.uniform_miss_blocks / self.monkey_miss_blocks if self.monkey_miss_blocks else None

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "ratio": self.ratio}


def monkey_gain(
    uniform: LookupTally, monkey: LookupTally, *, runs: float, level_ratio: int, bits_per_key: float
) -> MonkeyGain:
    """Compare lookups of absent keys; where a hash index answers, what the filters would have let pass."""
    has_form = level_ratio > 1 and theory.monkey_is_filtering_all(level_ratio, bits_per_key)
    return MonkeyGain(
        uniform_miss_blocks=blocks_in_vain(uniform),
        monkey_miss_blocks=blocks_in_vain(monkey),
        expected_ratio=uniform.predicted_blocks / max(monkey.predicted_blocks, 1e-12),
        predicted_ratio=(
            runs
            * theory.miss_uniform(1, bits_per_key)
            / theory.miss_monkey_leveled(level_ratio, bits_per_key)
            if has_form
            else None
        ),
        runs=runs,
    )


def blocks_in_vain(misses: LookupTally) -> float:
    """Return the blocks read for an absent key, or the filters that would have let it pass."""
    if misses.filter_probes:
        return misses.mean_blocks
    return misses.all_filters.false_positives / max(1, misses.lookups)
