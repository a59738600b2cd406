"""What theory says about amplification, as formulas: to be printed beside what is measured.

`fanout` is the data over the memtable, `ratio` how much larger a level is than the one above.  The
formulas are of a steady state with uniform overwrites; a store that is being loaded writes less.
"""

from collections.abc import Sequence
from math import log

from compaction.monkey import LN2_SQUARED, false_positive_rate

PRACTICAL_SHARE = 0.8
"""Of the textbook's leveled figure, what is seen: duplicates vanish and files overlap less than feared."""


# Write amplification of the tree: flush and compaction over user bytes.


def ratio_of(fanout: float, levels: int) -> float:
    """The ratio of `levels` equal steps from the memtable to the data: equal ones cost least."""
    return float(fanout ** (1 / levels))


def leveled_write_amp(fanout: float, levels: int, share: float = 1.0) -> float:
    """Every level rewrites `ratio` bytes for each one it takes; `share` is `PRACTICAL_SHARE` in practice."""
    return share * levels * ratio_of(fanout, levels)


def leveled_levels(fanout: float) -> int:
    """The number of levels with the least write amplification if each costs its ratio: about ln fanout."""
    candidates = range(1, max(2, round(2 * log(max(2.0, fanout)))) + 1)
    return min(candidates, key=lambda levels: leveled_write_amp(fanout, levels))


def textbook_write_amp(l0_bytes: float, l1_bytes: float, ratio: float, levels: int) -> float:
    """The upper bound of tuning guides, without the log: flush, L0 with all of L1, `ratio` for each level."""
    return 1 + (1 + l1_bytes / l0_bytes) + (levels - 1) * ratio


def tiered_write_amp(levels: int) -> float:
    """Every tier writes a byte once."""
    return float(levels)


def lazy_write_amp(levels: int, ratio: float) -> float:
    """Every tier but the last writes a byte once; the last level is rewritten `ratio` times as it fills."""
    return levels - 1 + ratio


def separated_write_amp(key_bytes: float, value_bytes: float, leveled: float) -> float:
    """With values apart, only keys and pointers are rewritten."""
    return 1 + key_bytes * leveled / (key_bytes + value_bytes)


# Space amplification: bytes in tables over live bytes.


def leveled_space_amp(ratio: float) -> float:
    """All levels over the last one, when the others are at their targets and all overwritten in it."""
    return ratio / (ratio - 1)


def fixed_targets_space_amp(data_bytes: float, base_bytes: float, ratio: float) -> float:
    """The same with targets fixed from the top: a last level hardly filled has large ones above it."""
    total, target = data_bytes, base_bytes
    while target < data_bytes:
        total += target
        target *= ratio
    return total / data_bytes


def tiered_space_amp(ratio: float) -> float:
    """The worst case: every run of the largest tier, and one that is being made, holds all keys."""
    return float(ratio)


def lazy_space_amp(ratio: float) -> float:
    """What is above the last run is at most one part in `ratio` of it."""
    return 1 + 1 / ratio


# Read amplification: blocks read for each lookup.


def miss_uniform(runs: int, bits_per_key: float) -> float:
    """Blocks read for a key that is not there, when all runs have filters of the same bits a key."""
    return runs * false_positive_rate(bits_per_key)


def hit(newer_runs: Sequence[float]) -> float:
    """Blocks read for a key that is found below runs with filters of these bits a key."""
    return 1 + sum(map(false_positive_rate, newer_runs))


def monkey_step_bits(ratio: float) -> float:
    """How many bits a key a level gets more than the one below it, `ratio` times as large."""
    return log(ratio) / LN2_SQUARED


def monkey_is_filtering_all(ratio: float, bits_per_key: float) -> bool:
    """Whether there are bits enough for the largest level to have a filter; the closed forms need it."""
    return bits_per_key >= log(ratio) / ((ratio - 1) * LN2_SQUARED)


def miss_monkey_leveled(ratio: float, bits_per_key: float) -> float:
    """Blocks read for a key that is not there, with bits shared out over any number of levels."""
    return float(ratio ** (ratio / (ratio - 1)) / (ratio - 1)) * false_positive_rate(bits_per_key)


def miss_monkey_tiered(ratio: float, bits_per_key: float) -> float:
    """The same with `ratio` - 1 runs in each tier."""
    return float(ratio ** (ratio / (ratio - 1))) * false_positive_rate(bits_per_key)


def seek_runs(l0_tables: int, runs: int) -> int:
    """Runs that a scan has to look into, whatever it finds there: filters do not help it."""
    return l0_tables + runs


def scan_blocks(result_bytes: float, block_bytes: float, space_amp: float) -> float:
    """Blocks read by a long scan: the result, and what is overwritten or deleted within it."""
    return result_bytes / block_bytes * space_amp
