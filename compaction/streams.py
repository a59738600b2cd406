"""Streams of writes for the simulator: keys as numbers in key order, sizes and kinds, no bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sstable.columns import BoolArray, IndexArray

Distribution: TypeAlias = Literal["uniform", "zipf", "sequential"]

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Writes:
    """Writes one after the other."""

    keys: IndexArray
    """Numbers that are in the order of the keys, not negative."""
    sizes: IndexArray
    """Bytes of key and value; of a deletion, those of the key."""
    deletes: BoolArray

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, which: BoolArray | slice) -> "Writes":
        """Some of them."""
        return Writes(self.keys[which], self.sizes[which], self.deletes[which])


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """A stream that follows from its settings."""

    keys: int
    """How many different keys there are."""
    count: int
    """How many writes."""
    key_bytes: int = 16
    value_bytes: int = 100
    distribution: Distribution = "uniform"
    theta: float = 0.99
    """How uneven "zipf" is: the weight of the n-th most frequent key is n to the minus this."""
    delete_share: float = 0.0
    seed: int = 0

    def __iter__(self) -> Iterator[Writes]:
        """The same writes each time."""
        rng = np.random.default_rng(self.seed)
        draw = _Zipf(self.keys, self.theta, rng) if self.distribution == "zipf" else None
        for start in range(0, self.count, _CHUNK):
            count = min(_CHUNK, self.count - start)
            if draw is not None:
                keys = draw(count)
            elif self.distribution == "uniform":
                keys = rng.integers(0, self.keys, count)
            else:
                keys = np.arange(start, start + count) % self.keys
            deletes = rng.random(count) < self.delete_share
            sizes = np.where(deletes, self.key_bytes, self.key_bytes + self.value_bytes)
            yield Writes(keys, sizes, deletes)


class _Zipf:
    """Draws key numbers with weights of a power law; which keys are frequent has nothing to do with order."""

    def __init__(self, keys: int, theta: float, rng: np.random.Generator) -> None:
        weights = np.arange(1, keys + 1, dtype=np.float64) ** -theta
        self._ends = np.cumsum(weights) / weights.sum()
        self._places = rng.permutation(keys)
        self._rng = rng

    def __call__(self, count: int) -> IndexArray:
        ranks = np.searchsorted(self._ends, self._rng.random(count))
        drawn: IndexArray = self._places[np.minimum(ranks, len(self._places) - 1)]
        return drawn


def recorded(writes: Sequence[tuple[bytes, int | None]]) -> Writes:
    """Writes as a log has them: key, and length of the value or None; keys become numbers in their order."""
    numbers = {key: number for number, key in enumerate(sorted({key for key, _ in writes}))}
    return Writes(
        np.array([numbers[key] for key, _ in writes], np.int64),
        np.array([len(key) + (length or 0) for key, length in writes], np.int64),
        np.array([length is None for _, length in writes], np.bool_),
    )


def total_bytes(stream: Iterable[Writes]) -> int:
    """Bytes of all keys and values of a stream."""
    return sum(int(writes.sizes.sum()) for writes in stream)
