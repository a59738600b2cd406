"""Where to cut a range of keys so that each part reads about as many bytes.  Pure."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import NamedTuple


class Weight(NamedTuple):
    """So many bytes lie below `key` and above the weight before it, in one table."""

    key: bytes
    size_bytes: int


class Range(NamedTuple):
    """Keys of start <= key < stop; None is unbounded."""

    start: bytes | None
    stop: bytes | None


def parts_of(total_bytes: int, *, target_bytes: int, parts: int | None) -> int:
    """Return into how many parts to cut: as many as were asked for, or as many as the target makes."""
    return parts or max(1, -(-total_bytes // target_bytes))


def cut(whole: Range, weights: Iterable[Weight], parts: int) -> list[Range]:
    """Cut a range into up to `parts` ranges of about equal bytes, at keys of the weights.

    Ranges are disjoint, in order, and together the whole.
    """
    ordered = sorted(weights)
    ends = list(accumulate(weight.size_bytes for weight in ordered))
    keys: list[bytes] = []
    for number in range(1, parts):
        at = bisect_left(ends, ends[-1] * number / parts) if ends else 0
        if at < len(ordered) and _is_inside(ordered[at].key, whole) and ordered[at].key not in keys[-1:]:
            keys.append(ordered[at].key)
    return [Range(start, stop) for start, stop in pairwise([whole.start, *keys, whole.stop])]


def _is_inside(key: bytes, whole: Range) -> bool:
    return (whole.start is None or key > whole.start) and (whole.stop is None or key < whole.stop)
