"""Values of a result file, which anybody may have written: nothing is assumed, what is wrong is named."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
NUMBER_MAX = 1e18
"""An exabyte, or thirty years in nanoseconds: no figure of a bench is larger."""
NUMBER_MIN = 1e-15
"""Anything nearer to zero is zero."""
TEXT_LENGTH_MAX = 300
# Not allowed in XML, or able to turn the direction of the text around it.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Unusable(ValueError):
    """A part of a result that cannot be shown; the message says why."""


def number(value: object, what: str) -> float:
    """Return a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Unusable(f"{what} is not a number")
    if not -NUMBER_MAX <= value <= NUMBER_MAX:  # false for NaN, too
        raise Unusable(f"{what} is {value:.3g}" if isinstance(value, float) else f"{what} is too large")
    return float(value) if abs(value) >= NUMBER_MIN else 0.0


def amount(value: object, what: str) -> float:
    """Return a number that is not negative."""
    found = number(value, what)
    if found < 0:
        raise Unusable(f"{what} is negative")
    return found


def maybe_amount(value: object) -> float | None:
    """Return a number that is not negative, or None for anything else."""
    try:
        return amount(value, "")
    except Unusable:
        return None


def amounts(value: object, what: str, *, gaps: bool = False) -> FloatArray:
    """Return a list of numbers that are not negative; with `gaps`, null stands for one that is not known."""
    if not isinstance(value, list):
        raise Unusable(f"{what} is not a list")
    kinds = set(map(type, value))
    if not kinds <= ({int, float, type(None)} if gaps else {int, float}):
        raise Unusable(f"{what} has items that are not numbers")
    missing = np.array([item is None for item in value], dtype=np.bool_)
    try:
        found = np.array([0 if item is None else item for item in value], dtype=np.float64)
    except OverflowError:
        raise Unusable(f"{what} has a number that is too large") from None
    if not np.all((found >= 0) & (found <= NUMBER_MAX)):
        raise Unusable(f"{what} has numbers that are negative, too large or none at all")
    found[found < NUMBER_MIN] = 0.0
    found[missing] = np.nan
    return found


def part(result: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return an object inside a result, or None where there is none."""
    found = result.get(name)
    if found is not None and not isinstance(found, dict):
        raise Unusable(f"{name} is not an object")
    return found or None


def rows(result: Mapping[str, Any], name: str, rows_max: int = 2_000_000) -> list[dict[str, Any]]:
    """Return a list of objects inside a result, empty where there is none."""
    found = result.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Unusable(f"{name} is not a list")
    if len(found) > rows_max:
        raise Unusable(f"{name} has {len(found):,} items; more than {rows_max:,} are not drawn")
    if not all(isinstance(row, dict) for row in found):
        raise Unusable(f"{name} has items that are not objects")
    return found


def text(value: object, length_max: int = TEXT_LENGTH_MAX) -> str:
    """Return a value as one line of printable text, cut to a length."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > NUMBER_MAX:
        return "a number that is too large"
    if isinstance(value, list | dict):
        return f"{len(value):,} items"
    whole = value if isinstance(value, str) else str(value)
    plain = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", whole[: length_max + 1].replace("\n", " "))
    return plain if len(plain) <= length_max else plain[: length_max - 1] + "…"
