"""Keys and values of a run, all from one seed.

Entry number n has the key 2n in decimal digits, padded with zeros; the odd numbers are keys that are missing
but lie between those that are there.  Every call makes new objects: a key that a dict has met before keeps
its hash inside and is found by identity, which no real caller's keys are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pairs = tuple[list[bytes], list[bytes]]
"""Keys and their values, side by side."""

_POOL_BYTES = 1 << 20
_STRIDE, _SHIFT = 7919, 104_729  # primes: neighbours and versions get values that differ


@dataclass(frozen=True, slots=True)
class Data:
    """Makes the input of workloads; the same one for the same seed."""

    count: int
    key_bytes: int
    value_bytes: int
    seed: int
    pool: bytes

    @classmethod
    def make(cls, count: int, *, key_bytes: int, value_bytes: int, seed: int) -> "Data":
        """Return the data of a seed; the keys must have room for the number of entries."""
        if len(str(2 * count)) > key_bytes:
            raise ValueError(
                f"{count} keys do not fit into {key_bytes} bytes each; take more key bytes or fewer keys"
            )
        pool = np.random.default_rng(seed).bytes(_POOL_BYTES + value_bytes)
        return cls(count, key_bytes, value_bytes, seed, pool)

    def random(self, *salt: int) -> np.random.Generator:
        """Return a source of randomness that depends on the seed and on `salt` alone."""
        return np.random.default_rng([self.seed, *salt])

    def key(self, number: int) -> bytes:
        """Return the key of an entry."""
        return b"%0*d" % (self.key_bytes, 2 * number)

    def value(self, number: int, version: int = 0) -> bytes:
        """Return the value that an entry has in a version."""
        at = (number * _STRIDE + version * _SHIFT) % _POOL_BYTES
        return self.pool[at : at + self.value_bytes]

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Return the keys of entries."""
        return _decimal(2 * numbers, self.key_bytes)

    def missing(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Return keys that no entry has, each just behind that of an entry."""
        return _decimal(2 * numbers + 1, self.key_bytes)

    def pairs(self, numbers: NDArray[np.int64], version: int = 0) -> Pairs:
        """Return the keys of entries with their values in a version."""
        pool, size = self.pool, self.value_bytes
        starts = ((numbers * _STRIDE + version * _SHIFT) % _POOL_BYTES).tolist()
        return self.keys(numbers), [pool[at : at + size] for at in starts]

    def shuffled(self, *salt: int) -> NDArray[np.int64]:
        """Return the numbers of all entries in a random order."""
        return self.random(*salt).permutation(self.count)

    def drawn(self, count: int, *salt: int) -> NDArray[np.int64]:
        """Return random numbers of entries, the same one more than once perhaps."""
        return self.random(*salt).integers(0, self.count, count)


def _decimal(numbers: NDArray[np.int64], width: int) -> list[bytes]:
    return [b"%0*d" % (width, number) for number in numbers.tolist()]


def cut(pairs: Pairs, size: int) -> list[Pairs]:
    """Cut pairs into batches of `size`, the last one smaller perhaps."""
    keys, values = pairs
    return [(keys[at : at + size], values[at : at + size]) for at in range(0, len(keys), size)]
