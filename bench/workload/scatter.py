"""A random order of numbers that takes no memory, however many there are."""

import numpy as np
from numpy.typing import NDArray

IndexArray = NDArray[np.int64]

_ROUNDS = 4
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Scatter:
    """Gives each number below `count` another one below `count`, no two the same, as a shuffle would.

    A Feistel network over the next power of four: it is one to one whatever its rounds do.  What comes to
    lie beyond `count` goes through it again, until it does not.
    """

    def __init__(self, count: int, *seed: int) -> None:
        self.count = count
        half_bits = max(1, ((count - 1).bit_length() + 1) // 2)
        self._half_bits = np.uint64(half_bits)
        self._mask = np.uint64((1 << half_bits) - 1)
        self._round_keys = np.random.default_rng(seed).integers(0, 2**64, _ROUNDS, np.uint64)

    def __call__(self, indices: IndexArray) -> IndexArray:
        """Return the number that stands at each place of the order."""
        numbers = self._mixed(indices.astype(np.uint64))
        outside = np.flatnonzero(numbers >= self.count)
        while outside.size:
            numbers[outside] = self._mixed(numbers[outside])
            outside = outside[numbers[outside] >= self.count]
        return numbers.astype(np.int64)

    def _mixed(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = numbers >> self._half_bits, numbers & self._mask
        for round_key in self._round_keys:
            hashed = (right ^ round_key) * _ODD
            hashed ^= hashed >> _HALF
            left, right = right, left ^ (hashed * _ODD >> _HALF & self._mask)
        return left << self._half_bits | right
