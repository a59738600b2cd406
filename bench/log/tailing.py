"""What readers that wait for more of a log cost its writer."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.child import started
from bench.log.settings import LogSettings
from bench.log.writer import DURABLE, UNSYNCED, arguments
from bench.measure import Spread
from bench.progress import Bar

HOWS = (DURABLE, UNSYNCED)
COST_TARGET = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tailing:
    """One kind of writer, alone and beside readers; medians of rounds."""

    how: str
    readers: int
    alone: Spread
    """Writes a second."""
    beside: Spread
    beside_strangers: Spread
    """Writes a second beside processes that are as busy as the readers but do not touch the store."""
    alone_cpu: Spread
    """Processor time of the writer's process, in microseconds a write."""
    beside_cpu: Spread
    reader_cores: Spread
    """Processors that all readers together kept busy."""
    behind_seconds: Spread
    """From when the writer stopped until the last reader had seen everything."""
    changes_seen: int
    changes_missed: int

    @property
    def cost(self) -> float:
        """The share of the writer's throughput that the readers take."""
        return 1 - self.beside.median / self.alone.median

    @property
    def strangers_cost(self) -> float:
        """The share that as busy processes take which have nothing to do with the store."""
        return 1 - self.beside_strangers.median / self.alone.median

    @property
    def cpu_cost(self) -> float:
        """How much more processor time a write takes."""
        return self.beside_cpu.median / self.alone_cpu.median - 1

    @property
    def is_met(self) -> bool | None:
        """Whether the readers cost little enough, and saw everything; None if the machine hides it.

        Readers cannot make a writer faster: where they seem to, something else has made it slower.
        """
        if self.changes_missed:
            return False
        return None if self.cost < -COST_TARGET else self.cost < COST_TARGET

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            **asdict(self),
            "cost": self.cost,
            "strangers_cost": self.strangers_cost,
            "cpu_cost": self.cpu_cost,
            "cost_target": COST_TARGET,
            "is_met": self.is_met,
        }


@dataclass(frozen=True, slots=True)
class _Round:
    wrote: dict[str, Any]
    seen: list[dict[str, Any]]

    @property
    def rate(self) -> float:
        return float(self.wrote["entries"] / self.wrote["seconds"])

    @property
    def cpu(self) -> float:
        return float(self.wrote["cpu_seconds"] / self.wrote["entries"] * 1e6)

    @property
    def missed(self) -> int:
        due = self.wrote["entries"] + 1  # and the last one of all
        return sum(
            due - found["changes"] if found["is_dense"] else max(1, due - found["changes"])
            for found in self.seen
        )

    @property
    def behind_seconds(self) -> float:
        stopped = self.wrote["samples"][-1][0]
        return max(float(found["ended"]) for found in self.seen) - float(stopped)

    @property
    def reader_cores(self) -> float:
        busy = sum(float(found["cpu_seconds"]) for found in self.seen)
        return busy / (float(self.wrote["seconds"]) + self.behind_seconds)


def measure_tailing(settings: LogSettings, bar: Bar) -> list[Tailing]:
    """Write with and without readers, in turn."""
    rounds: dict[str, list[_Trio]] = {how: [] for how in HOWS}
    for number in range(settings.repeats):
        for how in HOWS:
            bar.step(f"{how} beside {settings.readers} readers, round {number + 1}")
            rounds[how].append(_trio(settings, how, alone_first=number % 2 == 0))
    return [_tailing(how, settings.readers, found) for how, found in rounds.items()]


class _Trio(NamedTuple):
    alone: _Round
    beside: _Round
    strangers: _Round


def _trio(settings: LogSettings, how: str, *, alone_first: bool) -> _Trio:
    """Write alone, beside readers, and beside processes that are as busy as those were."""
    before = _round(settings, how) if alone_first else None
    beside = _round(settings, how, ["bench.log.reader"] * settings.readers)
    share = beside.reader_cores / settings.readers
    strangers = _round(settings, how, ["bench.log.stranger"] * settings.readers, share)
    return _Trio(before or _round(settings, how), beside, strangers)


def _round(settings: LogSettings, how: str, others: Sequence[str] = (), share: float | None = None) -> _Round:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name:
        path = Path(name, "store")
        with ExitStack() as stack:
            writer = stack.enter_context(
                started("bench.log.writer", *arguments(path, how, settings.seconds, settings))
            )
            writer.wait_ready()
            argument = path if share is None else share
            children = [stack.enter_context(started(module, argument)) for module in others]
            for child in children:
                child.wait_ready()
            writer.go()
            wrote = writer.answer()
            seen = [child.answer() for child in children] if share is None else []
            for child in [*children, writer]:
                child.end()
    return _Round(wrote, seen)


def _tailing(how: str, readers: int, rounds: Sequence[_Trio]) -> Tailing:
    alone, beside, strangers = zip(*rounds, strict=True)
    return Tailing(
        how=how,
        readers=readers,
        alone=Spread.of(found.rate for found in alone),
        beside=Spread.of(found.rate for found in beside),
        beside_strangers=Spread.of(found.rate for found in strangers),
        alone_cpu=Spread.of(found.cpu for found in alone),
        beside_cpu=Spread.of(found.cpu for found in beside),
        reader_cores=Spread.of(found.reader_cores for found in beside),
        behind_seconds=Spread.of(found.behind_seconds for found in beside),
        changes_seen=sum(one["changes"] for found in beside for one in found.seen),
        changes_missed=sum(found.missed for found in beside),
    )
