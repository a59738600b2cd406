"""Back-pressure: writers slow down, and at last wait, when flush and compaction fall behind.

Every level of it has a reason that `stats()` shows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lsm.errors import BackgroundError, ClosedError, DiskFull, Error
from lsm.state import State

STEP_BYTES = 64 * 1024
"""While slowed down, a writer pauses once for so many bytes of log."""
DELAY_SECONDS_MAX = 0.005
_WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Pressure:
    """How far behind the background is: 0 not at all, 1 so far that writes wait."""

    level: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class StallCounters:
    """What back-pressure has cost the writers."""

    slowdowns: int = 0
    stops: int = 0
    seconds: float = 0.0
    last_reason: str = ""


def measure(state: State) -> Pressure:
    """Return the strongest reason to hold writers back."""
    options = state.options
    with state.lock:
        sealed = len(state.sealed)
    l0 = max((len(meta.levels[0]) for meta in state.version.keyspaces.values() if meta.levels), default=0)
    pressures = [
        Pressure(
            _grade(sealed, max(1, options.sealed_max - 1), options.sealed_max),
            f"{sealed} sealed memtables wait for flush",
        ),
        Pressure(
            _grade(l0, options.l0_tables_slow, options.l0_tables_stop),
            f"{l0} tables in L0 wait for compaction",
        ),
    ]
    strongest = max(pressures, key=lambda pressure: pressure.level)
    return strongest if strongest.level > 0 else Pressure()


def _grade(count: int, slow: int, stop: int) -> float:
    if count >= stop:
        return 1.0
    return max(0.0, (count - slow + 1) / (stop - slow + 1)) if count >= slow else 0.0


class Throttle:
    """Holds writers back as the pressure asks."""

    def __init__(self, state: State, help_out: Callable[[], bool] | None) -> None:
        self._state = state
        self._help_out = help_out  # without a background, the writer does the work itself
        self.counters = StallCounters()
        self.troubles: dict[str, Error] = {}  # why lanes of the background make no progress now
        self.is_stopping = False

    @property
    def trouble(self) -> Error | None:
        """Why the background makes no progress now."""
        return next(iter(self.troubles.copy().values()), None)

    def wait(self) -> Pressure:
        """Return when a write may go on, with the pressure that is left."""
        started = self._state.clock.monotonic()
        stopped = False
        while (pressure := measure(self._state)).level >= 1:
            if not stopped:
                stopped = True
                self.counters.stops += 1
                self.counters.last_reason = pressure.reason
            self._wait_for_change()
        if pressure.level > 0:
            self.counters.slowdowns += 1
            self.counters.last_reason = pressure.reason
            self._state.clock.sleep(pressure.level * DELAY_SECONDS_MAX)
        if stopped or pressure.level > 0:
            self.counters.seconds += self._state.clock.monotonic() - started
        return pressure

    def _wait_for_change(self) -> None:
        if self.is_stopping:
            raise ClosedError(f"{self._state.fs.name} was closed")
        if self._help_out is not None:
            if not self._help_out():
                raise BackgroundError(
                    "writes wait for compaction, but there is nothing that could be compacted"
                )
            return
        with self._state.lock:
            failure = self._state.failure or self.trouble
            if failure is None:
                self._state.changed.wait(_WAIT_SECONDS)
                return
        if isinstance(failure, DiskFull):
            raise DiskFull(self._state.fs.name, "flushing") from failure
        raise BackgroundError(f"writes wait for background work, which has failed: {failure}") from failure
