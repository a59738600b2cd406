"""A stream of writes that resembles a store's own, from a few facts about it: overwrites in a steady state.

Every entry stands for `sample` of them, so that a large store costs no more than a small one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compaction.simulate import Settings, Trace, Writes
from sstable.columns import IndexArray

_LOADED_MAX = 20_000
"""Entries of the simulated store, unless that leaves too few for a memtable."""
_MEMTABLE_ENTRIES_MIN = 64
_ROUNDS_MAX = 9.0
"""How often all keys are overwritten at most; tiers have cycles of several times the data."""
_WARM_SHARE = 1 / 4
"""How much of it is over before anything counts."""
_THETA_MAX = 1.6
_STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a store and of what is written to it."""

    keys: int
    """How many it holds."""
    key_bytes: float = 16.0
    """Mean length of a key."""
    value_bytes: float = 100.0
    """Mean length of a value."""
    delete_share: float = 0.0
    """How many of the writes are deletions."""
    flushed_share: float = 1.0
    """How many of the writes came to a table: fewer than all when some keys are written again and again."""
    is_rising: bool = False
    """Whether keys come in rising order and are new: most tables were moved, not merged."""
    seed: int = 0

    @property
    def entry_bytes(self) -> float:
        """Mean length of a key with its value."""
        return self.key_bytes + self.value_bytes

    @property
    def live_bytes(self) -> int:
        """Bytes of all keys and values."""
        return round(self.keys * self.entry_bytes)


def flushes_of_a_round(facts: Facts, settings: Settings) -> float:
    """How many memtables it takes to overwrite every key once."""
    return facts.keys / _memtable_entries(facts, settings)


def resembling(facts: Facts, settings: Settings, *, flushes_max: int) -> Trace:
    """A store with such facts and what is written to it, warm-up included: up to `flushes_max` memtables."""
    sample = _sample(facts, settings)
    keys = max(1, round(facts.keys / sample))
    rounds = min(_ROUNDS_MAX, flushes_max / max(1e-9, flushes_of_a_round(facts, settings)))
    # So many at least that a small store sees some flushes, too.
    count = max(round(rounds * keys), round(8 * _memtable_entries(facts, settings) / sample))
    rng = np.random.default_rng(facts.seed)
    numbers = _rising(keys, count) if facts.is_rising else _drawn(facts, settings, keys, count, rng)
    deletes = rng.random(count) < facts.delete_share
    sizes = np.where(deletes, round(facts.key_bytes), round(facts.entry_bytes))
    ends = np.cumsum(sizes) * sample
    return Trace(
        writes=Writes(numbers, sizes, deletes),
        counts=np.arange(1, count + 1) * sample,
        ends=ends,
        count=count * sample,
        user_bytes=int(ends[-1]),
        sample=sample,
        loaded=Writes(np.arange(keys), np.full(keys, round(facts.entry_bytes)), np.zeros(keys, np.bool_)),
        warm_bytes=int(ends[-1] * _WARM_SHARE),
    )


def _sample(facts: Facts, settings: Settings) -> int:
    by_memtable = int(_memtable_entries(facts, settings)) // _MEMTABLE_ENTRIES_MIN
    return max(1, min(facts.keys // _LOADED_MAX, by_memtable))


def _memtable_entries(facts: Facts, settings: Settings) -> float:
    return max(1.0, settings.shape.memtable_bytes / (facts.entry_bytes + settings.log_bytes_per_write))


def _rising(keys: int, count: int) -> IndexArray:
    return np.arange(keys, keys + count)


def _drawn(facts: Facts, settings: Settings, keys: int, count: int, rng: np.random.Generator) -> IndexArray:
    """Keys so uneven that as many writes come to a table as did."""
    memtable = max(1, round(_memtable_entries(facts, settings) / _sample(facts, settings)))
    theta = _theta(keys, memtable, facts.flushed_share)
    if theta == 0:
        return rng.integers(0, keys, count)
    ends = np.cumsum(_weights(keys, theta))
    ranks = np.searchsorted(ends, rng.random(count) * ends[-1])
    drawn: IndexArray = rng.permutation(keys)[np.minimum(ranks, keys - 1)]
    return drawn


def _theta(keys: int, memtable: int, flushed_share: float) -> float:
    """The power of a power law of which a memtable has that share of different keys; 0 is uniform."""
    if flushed_share >= _different(keys, memtable, 0.0):
        return 0.0
    low, high = 0.0, _THETA_MAX
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _different(keys, memtable, middle) > flushed_share else (low, middle)
    return high


def _different(keys: int, draws: int, theta: float) -> float:
    """How many of some draws are of different keys, expected, as a share."""
    weights = _weights(keys, theta)
    return float(-np.expm1(draws * np.log1p(-np.minimum(weights / weights.sum(), 1 - 1e-12))).sum() / draws)


def _weights(keys: int, theta: float) -> npt.NDArray[np.float64]:
    weights: npt.NDArray[np.float64] = np.arange(1, keys + 1, dtype=np.float64) ** -theta
    return weights
