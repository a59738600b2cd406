"""Bits of Bloom filters shared out over the runs of a tree: small runs get more for each key than large ones.

A lookup of a key that is not there asks every run, however small, so the sum of all false positive
rates counts.  For a given number of bits it is least when rates are in proportion to sizes (Dayan,
Athanassoulis and Idreos, SIGMOD 2017): a bit more for each key of a small run costs few bits.
"""

from collections.abc import Iterable, Sequence
from math import exp, log

from compaction.levels import Levels
from sstable import TableMeta

LN2_SQUARED = log(2) ** 2
"""A filter of b bits a key answers wrongly with probability e to the minus b times this."""
BITS_MAX = 32.0
"""More bits a key than this spare one wrong answer in five million."""
_STEPS = 100


def share_bits(keys: Sequence[int], bits_per_key: float, bits_max: float = BITS_MAX) -> list[float]:
    """Bits a key for runs of so many `keys`, on average `bits_per_key`, with the least sum of wrong answers.

    The rate of a run is its keys times a factor, the same for all, and at most 1, which is no
    filter; the factor is found by halving, since fewer bits are needed the larger it is.
    """
    total = sum(keys)
    if not 0 < bits_per_key < bits_max or total == 0:
        return [min(max(0.0, bits_per_key), bits_max)] * len(keys)
    logs = [log(max(1, count)) for count in keys]

    def bits(log_factor: float) -> list[float]:
        return [min(max(0.0, -(log_factor + size) / LN2_SQUARED), bits_max) for size in logs]

    # At `low` every run has `bits_max`, at `high` none has any.
    low, high = -bits_max * LN2_SQUARED - max(logs), 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        used = sum(count * each for count, each in zip(keys, bits(middle), strict=True))
        low, high = (middle, high) if used > bits_per_key * total else (low, middle)
    return bits(high)


def false_positive_rate(bits_per_key: float) -> float:
    """How often a filter with so many bits a key lets an absent key pass; without bits, always."""
    return exp(-max(0.0, bits_per_key) * LN2_SQUARED)


def miss_reads(bits_by_run: Iterable[float]) -> float:
    """Blocks that a lookup of an absent key reads in runs with so many bits a key."""
    return sum(map(false_positive_rate, bits_by_run))


def bits_for_run(
    levels: Levels,
    level: int,
    keys: int,
    bits_per_key: float,
    *,
    without: frozenset[int] = frozenset(),
) -> float:
    """Bits a key for new tables of `level` with `keys` keys, once the tables `without` are gone.

    What is written before keeps the bits it has: they are shared out anew as tables are rewritten.
    """
    runs = [[_keys(table)] for table in levels[0] if table.number not in without] if levels else []
    runs += [[_keys(table) for table in run if table.number not in without] for run in levels[1:]]
    l0_count = len(runs) - max(0, len(levels) - 1)
    if level == 0:
        runs.insert(0, [keys])
        place = 0
    else:
        place = l0_count + level - 1
        runs += [[] for _ in range(place + 1 - len(runs))]
        runs[place].append(keys)
    return share_bits([sum(run) for run in runs], bits_per_key)[place]


def _keys(table: TableMeta) -> int:
    return table.distinct_keys
