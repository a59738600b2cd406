"""The two hashes of a key that filter and hash index are built on."""

from collections.abc import Iterable, Sequence
from itertools import repeat

import mmh3
import numpy as np

from sstable.arrays import U32Array

# On disk: changing a seed needs a new format version.
FIRST_SEED = 0
SECOND_SEED = 0x9747B28C

# Murmur3's 32-bit hash with seed 0, as a C function without a wrapper: every point read calls it.
key_hash = mmh3.mmh3_32_uintdigest


def second_hash(key: bytes) -> int:
    """Hash that is independent of `key_hash`; only the filter needs it."""
    return mmh3.mmh3_32_uintdigest(key, SECOND_SEED)


def key_hashes(keys: Sequence[bytes]) -> tuple[U32Array, U32Array]:
    """Both hashes of many keys."""
    return _hash_all(keys, len(keys), FIRST_SEED), _hash_all(keys, len(keys), SECOND_SEED)


def _hash_all(keys: Iterable[bytes], count: int, seed: int) -> U32Array:
    return np.fromiter(map(mmh3.mmh3_32_uintdigest, keys, repeat(seed)), np.uint32, count)
