"""From values to places on a picture, and the values worth a tick."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.report.units import PLAIN, Unit
from bench.report.values import FloatArray

Tick = tuple[float, str]
_ZEROS = re.compile(r"(?:\.0+|(?<=\.\d)0+)(?=\D|$)")  # a tick is a round number, and looks like one
_SAME = 1e-12  # of a value: what is nearer to it would give it many equal ticks
_TINY = 1e-18
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Values from `low` to `high` spread over pixels from `start` to `stop`, evenly or by their logarithm."""

    low: float
    high: float
    start: float = 0.0
    stop: float = 1.0
    is_log: bool = False
    ticks: Sequence[Tick] = ()

    def over(self, start: float, stop: float) -> "Scale":
        """Return the scale over other pixels."""
        return replace(self, start=start, stop=stop)

    def at(self, value: float) -> float:
        """Return the pixel of a value; values outside are at the edge."""
        return float(self.at_all(np.array([value]))[0])

    def at_all(self, values: FloatArray) -> FloatArray:
        """Return the pixels of values."""
        if self.high <= self.low:
            return np.full_like(values, self.start)
        inside = np.clip(values, self.low, self.high)
        low, high = self.low, self.high
        if self.is_log:
            inside, low, high = np.log10(inside), math.log10(low), math.log10(high)
        return self.start + (inside - low) / (high - low) * (self.stop - self.start)


def linear(largest: float, unit: Unit = PLAIN, *, low: float = 0.0, count: int = 5) -> Scale:
    """Return an even scale from `low` to at least `largest`, with round ticks in a unit."""
    bottom, top = low / unit.divisor, largest / unit.divisor
    if top - bottom <= max(_SAME * abs(top), _TINY):
        top = bottom + (abs(bottom) if abs(bottom) > _TINY else 1.0)
    step = _round_step((top - bottom) / count)
    first, last = math.floor(bottom / step + 1e-9), math.ceil(top / step - 1e-9)
    places = [at * step for at in range(first, last + 1)]
    ticks = [(place * unit.divisor, tick_text(place, step)) for place in places]
    return Scale(low=ticks[0][0], high=ticks[-1][0], ticks=ticks)


def linear_to(largest: float, unit: Unit = PLAIN, *, count: int = 5) -> Scale:
    """Return an even scale from zero that ends where the values end: for time, which leaves no empty end."""
    whole = linear(largest, unit, count=count)
    high = largest if largest > 0 else whole.high
    return replace(whole, high=high, ticks=[tick for tick in whole.ticks if tick[0] <= high * 1.0001])


def cropped(scale: Scale, low: float, high: float) -> Scale:
    """Return a scale that ends at values of its own, with the ticks that are left."""
    return replace(scale, low=low, high=high, ticks=[tick for tick in scale.ticks if low <= tick[0] <= high])


def with_unit(scale: Scale, unit: Unit) -> Scale:
    """Return a scale that says its unit behind the last tick, so that it needs no other label."""
    *others, (value, text) = scale.ticks
    return replace(scale, ticks=[*others, (value, f"{text} {unit.name}")])


def _round_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next((step * power for step in _STEPS if step * power >= least * 0.9999), 10 * power)


def tick_text(value: float, step: float) -> str:
    """Return a tick's text with as many decimals as its step needs."""
    decimals = next((count for count in range(8) if abs(round(step, count) - step) < step * 1e-6), 8)
    return f"{value:,.{decimals}f}"


def logarithmic(
    low: float, high: float, show: Callable[[float], str], *, count: int = 7, tight: bool = False
) -> Scale:
    """Return a scale by logarithm around two values above zero; if `tight`, it ends near them."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if last <= first:
        last = first + 1
    start, stop = 10.0**first, 10.0**last
    if tight:
        start, stop = max(start, low / 1.3), min(stop, high * 1.3)
    digits = (1, 2, 5) if math.log10(stop / start) <= count / 2.3 else (1,)
    stride = max(1, -(-(last - first) // count))
    places = [digit * 10.0**power for power in range(first, last + 1, stride) for digit in digits]
    ticks = [
        (place, _ZEROS.sub("", show(place))) for place in places if start * 0.9999 <= place <= stop * 1.0001
    ]
    return Scale(low=start, high=stop, is_log=True, ticks=ticks)
