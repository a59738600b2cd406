"""Settings of `simulate`, and the stream and the variants that follow from them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, get_args

import typer

import lsm
from bench.data import Data
from bench.ranges import parse_counts, parse_decimals, parse_names, parse_sizes
from bench.settings import Shape
from bench.simulate.variants import Value
from bench.workload import Size, Workload, capacity, find_workload, parse_distribution
from bench.workload.options import DistributionText, OptionTexts, OptionValue, parse_options
from compaction.simulate import BloomSharing, PolicyName

_ROUNDS = 3
"""A workload goes on for so many times what suits it: until the tree is in a steady state."""

Policies = Annotated[str, typer.Option(help=f"Policies to try, of {', '.join(get_args(PolicyName))}.")]
Ratios = Annotated[str, typer.Option(help="Level ratios to try: 4,8,10 or 4..16.")]
Memtables = Annotated[str, typer.Option(help="Memtable sizes to try: 4MiB,64MiB, or 4MiB..64MiB, doubling.")]
Bits = Annotated[str, typer.Option(help="Bloom bits a key to try: 5,10 or 8..12.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateSettings(Shape):
    """Settings of `simulate`."""

    workload: Annotated[
        str, typer.Argument(help="The workload, as for `run`; or --from.", show_default=False)
    ] = ""
    from_store: Annotated[
        Path | None, typer.Option("--from", help="Replay the log of this store instead.", show_default=False)
    ] = None
    keyspace: Annotated[str, typer.Option(help="With --from: which keyspace.")] = "default"
    operations: Annotated[
        int, typer.Option(min=0, help="How many; 0 takes three times what suits the workload.")
    ] = 0
    dist: DistributionText = ""
    batch: Annotated[int, typer.Option(min=1, max=100_000, help="Writes committed together.")] = 1
    policy: Policies = ""
    level_ratio: Ratios = ""
    memtable: Memtables = ""
    bits: Bits = ""
    sharing: Annotated[
        str, typer.Option(help=f"Ways to share out bits to try, of {', '.join(get_args(BloomSharing))}.")
    ] = ""
    kept: Annotated[
        int,
        typer.Option(min=64, help="Writes of the stream that are kept; of longer ones, those of a sample."),
    ] = 100_000
    doing_seconds: Annotated[
        float,
        typer.Option(min=0, help="How long the same is done to a real store, to compare; 0 does not."),
    ] = 2.0
    check: Annotated[
        bool, typer.Option("--check", help="Do all of it to a real store, and compare the figures.")
    ] = False
    option: OptionTexts = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Return the settings as they took effect, without places of this machine."""
        # Not super(): a slotted dataclass is a copy of the class that the compiler has in mind.
        plain = Shape.to_json(self)
        plain["from_store"] = self.from_store is not None
        if self.from_store is not None:
            for name in (
                "workload",
                "keys",
                "key_bytes",
                "value_bytes",
                "seed",
                "operations",
                "dist",
                "batch",
            ):
                del plain[name]  # the log has its own
            return plain
        del plain["keyspace"]
        return plain | {"operations": self.size.count, "dist": str(self.size.distribution)}

    @property
    def chosen(self) -> Workload:
        """The workload."""
        return find_workload(self.workload)

    @property
    def size(self) -> Size:
        """How much is done."""
        chosen = self.chosen
        suits = chosen.operations(self.keys)
        return Size(
            keys=self.keys,
            count=self.operations or (_ROUNDS * suits if chosen.needs_load else suits),
            distribution=parse_distribution(self.dist or chosen.distribution),
            seed=self.seed,
        )

    @property
    def wanted(self) -> dict[str, list[Value]]:
        """The values of options to try; none for one that stays as it is."""
        return {
            "policy": [*parse_names(self.policy, "policy", get_args(PolicyName))],
            "level_ratio": [*parse_counts(self.level_ratio, "--level-ratio")],
            "memtable_bytes_max": [*parse_sizes(self.memtable, "--memtable")],
            "bloom_bits_per_key": [*parse_decimals(self.bits, "--bits")],
            "bloom_sharing": [*parse_names(self.sharing, "way to share bits", get_args(BloomSharing))],
        }

    def changes(self) -> dict[str, OptionValue]:
        """Return the options that are set for all variants."""
        return parse_options(self.option)

    def options(self, stored: lsm.Options | None = None) -> lsm.Options:
        """Return the options of the store as it is: those of a stored one, then what was asked for."""
        return (stored or lsm.Options(sync="os")).with_changes(self.changes())

    def data(self) -> Data:
        """Return keys and values for doing it."""
        return Data.make(
            capacity(self.chosen, self.size),
            key_bytes=self.key_bytes,
            value_bytes=self.value_bytes,
            seed=self.seed,
        )

    def check_them(self) -> None:
        """Raise ValueError for what cannot be done, before anything is."""
        if bool(self.workload) == (self.from_store is not None):
            raise ValueError("simulate a workload (`bench run --list` names them), or --from a store")
        if self.from_store is not None and self.check:
            raise ValueError("--check needs a workload: what a log has cost, the store knows itself")
        _ = self.wanted
        self.options()
        if self.workload:
            self.data()
