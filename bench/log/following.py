"""Whether a follower keeps up with a writer that does not wait for it."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.child import started
from bench.log.lag import Lag, lag_of
from bench.log.settings import LogSettings
from bench.log.writer import BATCHES, DURABLE, arguments
from bench.measure import Spread
from bench.progress import Bar

HOWS = (BATCHES, DURABLE)
SHARE_TARGET = 0.95
"""What a copy must have when the writer stops, of what was written, to have kept up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A follower beside one kind of writer; medians of rounds."""

    how: str
    entries: int
    write_rate: Spread
    apply_rate: Spread
    """Entries a second, until the copy had everything."""
    share: Spread
    entries_max: Spread
    seconds_max: Spread
    catch_up_seconds: Spread

    @property
    def is_met(self) -> bool:
        """Whether the follower kept up."""
        return self.share.median >= SHARE_TARGET

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "share_target": SHARE_TARGET}


@dataclass(frozen=True, slots=True)
class _Round:
    entries: int
    seconds: float
    lag: Lag


def measure_following(settings: LogSettings, bar: Bar) -> list[Following]:
    """Let a follower run beside every kind of writer."""
    rounds: dict[str, list[_Round]] = {how: [] for how in HOWS}
    for number in range(settings.repeats):
        for how in HOWS if number % 2 == 0 else HOWS[::-1]:
            bar.step(f"follower beside {how}, round {number + 1}")
            rounds[how].append(_round(settings, how))
    return [_following(how, found) for how, found in rounds.items()]


def _round(settings: LogSettings, how: str) -> _Round:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name:
        source, target = Path(name, "source"), Path(name, "copy")
        with started("bench.log.writer", *arguments(source, how, settings.seconds, settings)) as writer:
            writer.wait_ready()
            with started("bench.log.follower", source, target) as follower:
                follower.wait_ready()
                writer.go()
                wrote, copied = writer.answer(), follower.answer()
                follower.end()
            writer.end()
    return _Round(wrote["entries"], wrote["seconds"], lag_of(wrote["samples"], copied["samples"]))


def _following(how: str, rounds: Sequence[_Round]) -> Following:
    return Following(
        how=how,
        entries=max(found.entries for found in rounds),
        write_rate=Spread.of(found.entries / found.seconds for found in rounds),
        apply_rate=Spread.of(
            found.entries / (found.seconds + found.lag.catch_up_seconds) for found in rounds
        ),
        share=Spread.of(found.lag.share for found in rounds),
        entries_max=Spread.of(found.lag.entries_max for found in rounds),
        seconds_max=Spread.of(found.lag.seconds_max for found in rounds),
        catch_up_seconds=Spread.of(found.lag.catch_up_seconds for found in rounds),
    )
