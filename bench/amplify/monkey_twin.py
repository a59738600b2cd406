"""Bits shared out over the levels (Monkey), against the same store with the same bits everywhere."""

from dataclasses import asdict, dataclass

from bench.amplify.lookups import LookupTally
from compaction.simulate import monkey as sharing
from compaction.simulate import theory


@dataclass(frozen=True, slots=True, kw_only=True)
class MonkeyGain:
    """Blocks read for each key that is not there, of two stores made from one stream."""

    uniform_miss_blocks: float
    monkey_miss_blocks: float
    expected_ratio: float
    """From the bits that the filters which were asked really have."""
    predicted_ratio: float | None
    """From level ratio, number of levels and bits on average; None where there are no levels."""
    levels: int
    """Runs that the lookup of an absent key asks, in whole numbers."""

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
    levels = round(runs)
    return MonkeyGain(
        uniform_miss_blocks=blocks_in_vain(uniform),
        monkey_miss_blocks=blocks_in_vain(monkey),
        expected_ratio=uniform.predicted_blocks / max(monkey.predicted_blocks, 1e-12),
        predicted_ratio=theoretical_gain(levels, level_ratio, bits_per_key) if levels else None,
        levels=levels,
    )


def theoretical_gain(levels: int, level_ratio: int, bits_per_key: float) -> float:
    """Return how many times fewer blocks a miss reads in full levels, each `level_ratio` times the next.

    Not by Monkey's closed form, which is that of endlessly many levels: with two it would promise a loss.
    """
    bits = sharing.share_bits([level_ratio**depth for depth in range(levels)], bits_per_key)
    return theory.miss_uniform(levels, bits_per_key) / sharing.miss_reads(bits)


def blocks_in_vain(misses: LookupTally) -> float:
    """Return the blocks read for an absent key, or the filters that would have let it pass."""
    if misses.filter_probes:
        return misses.mean_blocks
    return misses.all_filters.false_positives / max(1, misses.lookups)
