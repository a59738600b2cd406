"""Trying again beside a writer, who may remove or finish any file while it is being read."""

from lsm.clock import Clock
from lsm.version import Version

_TRIES_MAX = 1000
_TRIES_OF_ONE_VERSION = 4
_PAUSE_SECONDS = 0.001


class Tries:
    """Tells damage, which stays, from a writer at work.

    A file that the writer has removed shows in the next version, and a record that was being written while
    it was read is whole the next time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: Version | None = None
        self._of_last = self._all = 0

    def is_worth_another(self, version: Version) -> bool:
        """Tell, after a failure with `version`, whether to look again; True comes after a short pause."""
        self._all += 1
        self._of_last = self._of_last + 1 if version == self._last else 1
        self._last = version
        if self._of_last == _TRIES_OF_ONE_VERSION or self._all == _TRIES_MAX:
            return False
        self._clock.sleep(_PAUSE_SECONDS)
        return True
