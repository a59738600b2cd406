"""The log as something to read: how fast, how far behind, and at what cost."""

from dataclasses import dataclass, field

from bench.data import Data
from bench.log.following import HOWS as FOLLOWED
from bench.log.following import Following, measure_following
from bench.log.reading import Reading, measure_reading
from bench.log.seeking import Seeking, measure_seeking
from bench.log.settings import LogSettings
from bench.log.tailing import HOWS as TAILED
from bench.log.tailing import Tailing, measure_tailing
from bench.progress import Bar


@dataclass(frozen=True, slots=True, kw_only=True)
class LogResult:
    """All that `log` measures."""

    readings: list[Reading]
    seekings: list[Seeking]
    followings: list[Following]
    tailings: list[Tailing]
    missing: dict[str, str] = field(default_factory=dict)
    """Peers that are not installed, and why."""

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "reading": [found.to_json() for found in self.readings],
            "seeking": [found.to_json() for found in self.seekings],
            "following": [found.to_json() for found in self.followings],
            "tailing": [found.to_json() for found in self.tailings],
            "missing": self.missing,
        }


def measure_log(settings: LogSettings, data: Data, bar: Bar) -> LogResult:
    """Measure everything, one thing after the other."""
    bar.start(3 + settings.repeats * (1 + len(FOLLOWED) + len(TAILED)))
    readings, missing = measure_reading(settings, data, bar)
    return LogResult(
        readings=readings,
        missing=missing,
        seekings=measure_seeking(settings, data, bar),
        followings=measure_following(settings, bar),
        tailings=measure_tailing(settings, bar),
    )
