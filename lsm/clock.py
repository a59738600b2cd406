"""Time and randomness as parameters, so that a test can replay a history."""

import os
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The wall clock for people, the monotonic clock for waiting.  Order depends on neither."""

    time_ns: Callable[[], int]

    def now_us(self) -> int:
        """Microseconds since 1970."""

    def monotonic(self) -> float:
        """Seconds since some moment."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The computer's own clocks."""

    # Not a method: the commit path calls it for every record.
    time_ns: Callable[[], int] = staticmethod(time.time_ns)

    def now_us(self) -> int:
        """Microseconds since 1970."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


Entropy = Callable[[int], bytes]
"""Returns that many random bytes."""

system_entropy: Entropy = os.urandom
