"""Settings of `run`, and the store and the streams that follow from them."""

from dataclasses import dataclass, field
from typing import Annotated

import typer

import lsm
from bench.data import Data
from bench.settings import Shape
from bench.workload import (
    WORKLOADS,
    Distribution,
    Size,
    Workload,
    capacity,
    find_workload,
    parse_distribution,
)
from bench.workload.options import DistributionText, OptionTexts, OptionValue, parse_options

_SYNC = "sync"
_BY_WORKLOAD = ""
_INTERVAL_SECONDS_MIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings(Shape):
    """Settings of `run`."""

    workload: Annotated[
        str,
        typer.Argument(
            help=f"What to do: {', '.join(each.name for each in WORKLOADS)}; --list says more.",
            show_default=False,
        ),
    ] = ""
    list_workloads: Annotated[
        bool, typer.Option("--list", help="Show the workloads, and do nothing else.")
    ] = False
    operations: Annotated[
        int, typer.Option(min=0, help="How many, of all threads; 0 takes as many as suit the workload.")
    ] = 0
    dist: DistributionText = _BY_WORKLOAD
    threads: Annotated[int, typer.Option(min=1, max=256, help="Threads that share the operations.")] = 1
    sync: Annotated[
        str,
        typer.Option(
            help="When a write is durable: always, interval or os; without, what suits the workload.",
            show_default=False,
        ),
    ] = _BY_WORKLOAD
    interval: Annotated[
        float, typer.Option(min=_INTERVAL_SECONDS_MIN, max=3600, help="Seconds between samples of the store.")
    ] = 1.0
    option: OptionTexts = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.list_workloads:
            self._check()

    def to_json(self) -> dict[str, object]:
        """Return the settings as they took effect."""
        # Not super(): a slotted dataclass is a copy of the class that the compiler has in mind.
        plain = Shape.to_json(self)
        del plain["list_workloads"]
        options = self.store_options()
        return plain | {
            "operations": self.size.count,
            "dist": str(self.distribution) if self.chosen.draws else "",
            "sync": options.sync,
        }

    @property
    def chosen(self) -> Workload:
        """The workload."""
        return find_workload(self.workload)

    @property
    def distribution(self) -> Distribution:
        """Which keys are taken."""
        return parse_distribution(self.dist or self.chosen.distribution)

    @property
    def size(self) -> Size:
        """How much is done, by all threads together."""
        return Size(
            keys=self.keys,
            count=self.operations or self.chosen.operations(self.keys),
            distribution=self.distribution,
            seed=self.seed,
            threads=self.threads,
        )

    def data(self) -> Data:
        """Return the data; a workload that inserts has more keys than are loaded."""
        return Data.make(
            capacity(self.chosen, self.size),
            key_bytes=self.key_bytes,
            value_bytes=self.value_bytes,
            seed=self.seed,
        )

    def changes(self) -> dict[str, OptionValue]:
        """Return the options that `lsm.open` is given."""
        asked = parse_options(self.option)
        if self.sync and _SYNC in asked:
            raise ValueError("sync is given twice: by --sync and by --option")
        by_workload = "always" if self.chosen.durable else "os"
        return {_SYNC: self.sync or by_workload} | asked

    def store_options(self) -> lsm.Options:
        """Return the options of the store, all of them."""
        return lsm.Options().with_changes(self.changes())

    def _check(self) -> None:
        """Raise ValueError for what cannot be done, before anything is."""
        if not self.workload:
            raise ValueError("which workload? `run --list` says what there is")
        if self.dist and not self.chosen.draws:
            raise ValueError(f"{self.workload} takes keys in an order of its own; --dist has no say in it")
        self.store_options()
        self.data()
