"""Settings of `amplify`, and the store that follows from them."""

from dataclasses import dataclass, field, replace
from typing import Annotated

import typer

import lsm
from bench.settings import MIB, Shape
from bench.simulated_store import simulated_store
from bench.workload.options import OptionTexts, parse_options
from compaction import simulate

_MEMTABLES = 64
"""The data set is this many memtables, unless an option says otherwise: enough for more than one level."""
_MEMTABLE_BYTES_MIN, _MEMTABLE_BYTES_MAX = 16 * 1024, 16 * MIB
_SAMPLED_KEYS = 1_000_000
"""The simulator follows about so many keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplifySettings(Shape):
    """Settings of `amplify`."""

    # Sizes as in RocksDB's own benchmarks of amplification.
    keys: Annotated[int, typer.Option(min=10, help="Entries in the store.")] = 100_000
    key_bytes: Annotated[int, typer.Option(min=8, max=1024, help="Bytes a key.")] = 20
    value_bytes: Annotated[int, typer.Option(min=1, max=MIB, help="Bytes a value.")] = 400
    warm_up: Annotated[
        float, typer.Option(min=0, max=100, help="Data sets overwritten before measuring begins.")
    ] = 1.0
    overwrites: Annotated[
        float, typer.Option(min=0.01, max=1000, help="Data sets overwritten while measuring.")
    ] = 3.0
    dist: Annotated[
        str,
        typer.Option(help="Which keys are overwritten: uniform, zipf:0.99, latest, hot:0.01 or sequential."),
    ] = "uniform"
    batch: Annotated[int, typer.Option(min=1, max=100_000, help="Writes committed together.")] = 1
    samples: Annotated[
        int, typer.Option(min=1, help="Lookups of each kind, at most one a key; a tenth as many scans.")
    ] = 20_000
    scan_pairs: Annotated[int, typer.Option(min=1, max=100_000, help="Pairs that a scan returns.")] = 100
    free: Annotated[
        bool,
        typer.Option(
            "--free", help="Do not wait for the background after each memtable: it may fall behind."
        ),
    ] = False
    option: OptionTexts = field(default_factory=list)

    @property
    def warm_up_count(self) -> int:
        """Writes before measuring begins."""
        return round(self.keys * self.warm_up)

    @property
    def overwrite_count(self) -> int:
        """Writes that are measured."""
        return max(1, round(self.keys * self.overwrites))

    @property
    def entry_bytes(self) -> int:
        """Bytes of a key and its value."""
        return self.key_bytes + self.value_bytes

    @property
    def is_steady(self) -> bool:
        """Whether enough is overwritten for theory to hold."""
        return self.warm_up + self.overwrites >= 3

    def store_options(self) -> lsm.Options:
        """Return the options of the store: sizes in proportion to the data, then what was asked for."""
        asked = parse_options(self.option)
        memtable_bytes = min(max(self.data_bytes // _MEMTABLES, _MEMTABLE_BYTES_MIN), _MEMTABLE_BYTES_MAX)
        options = lsm.Options(sync="os", memtable_bytes_max=memtable_bytes).with_changes(asked)
        if self.free and options.background == "manual":
            raise ValueError("--free needs a background; not background=manual, where nobody would flush")
        return options

    def simulation(self) -> simulate.Settings:
        """Return the same store for the simulator."""
        store = simulated_store(self.store_options(), batch=self.batch)
        sample = max(1, self.keys // _SAMPLED_KEYS)
        return replace(store, costs=replace(store.costs, sample=sample))
