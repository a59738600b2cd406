"""Keys as places between 0 and 1, so that equal steps between them look equal."""

from collections.abc import Sequence

_DIGITS_MAX = 12  # more would not move a box by a pixel


def key_places(keys: Sequence[bytes]) -> list[float]:
    """Return where keys lie between the smallest and the largest of them.

    What all share at their front is left out, and bytes count as digits of as many values as occur: keys of
    decimal text are spread as evenly as binary ones.
    """
    if not keys:
        return []
    low, high = min(keys), max(keys)
    shared = _shared(low, high)
    tails = [key[shared : shared + _DIGITS_MAX] for key in keys]
    used = [byte for tail in tails for byte in tail]
    least = min(used, default=0)
    base = max(used, default=0) - least + 1
    numbers = [_number(tail, least, base) for tail in tails]
    first, last = min(numbers), max(numbers)
    if last <= first:
        return [0.0 if key == low else 1.0 for key in keys]
    return [(number - first) / (last - first) for number in numbers]


def _shared(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _number(tail: bytes, least: int, base: int) -> float:
    found = 0.0
    for byte in reversed(tail):
        found = (found + byte - least) / base
    return found
