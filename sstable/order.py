"""The order of entries in a table: keys rise, and the versions of a key go from new to old."""

import operator

import numpy as np

from sstable.arrays import IndexArray, U64Array


def key_heads(keys: list[bytes], seqs: U64Array) -> IndexArray:
    """Positions of the first, newest entry of each key; ValueError if the entries are out of order."""
    # bench: fill.  Comparing bytes objects in C takes 30 ns an entry, whatever their lengths.
    rises = np.fromiter(map(operator.lt, keys, keys[1:]), np.bool_, len(keys) - 1)
    others = np.flatnonzero(~rises)
    if not all(keys[position] == keys[position + 1] for position in others.tolist()):
        raise ValueError("keys do not rise")
    if bool((seqs[others] <= seqs[others + 1]).any()):
        raise ValueError("sequence numbers of one key do not fall")
    return np.concatenate([[0], np.flatnonzero(rises) + 1])
