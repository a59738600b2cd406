"""Settings of `sweep`: a base, as for `amplify`, and the values that each factor takes."""

from dataclasses import dataclass, field, fields
from typing import Annotated, get_args

import typer

from bench.amplify.settings import AmplifySettings
from bench.ranges import parse_counts, parse_decimals, parse_names, parse_sizes
from bench.settings import Shape
from bench.workload.options import OptionTexts, OptionValue, parse_options
from compaction.simulate import PolicyName

FACTORS = ("policy", "level_ratio", "memtable", "bits", "value_size")
_OPTION_OF = {
    "policy": "policy",
    "level_ratio": "level_ratio",
    "memtable": "memtable_bytes_max",
    "bits": "bloom_bits_per_key",
}
_VALUE_BYTES_MAX = 1 << 20
Value = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings(AmplifySettings):
    """Settings of `sweep`."""

    keys: Annotated[int, typer.Option(min=10, help="Entries in the store.")] = 50_000
    samples: Annotated[
        int, typer.Option(min=1, help="Lookups of each kind, at most one a key; a tenth as many scans.")
    ] = 5_000
    factors: Annotated[str, typer.Option(help="Factors to vary, with commas between.")] = ",".join(FACTORS)
    policy: Annotated[str, typer.Option(help="Policies, of leveled, tiered, lazy.")] = ",".join(
        get_args(PolicyName)
    )
    level_ratio: Annotated[str, typer.Option(help="Level ratios: 4,8,10 or 4..16.")] = "4,6,8,10,16"
    memtable: Annotated[
        str,
        typer.Option(
            help="Memtable sizes: 4MiB,64MiB, or 4MiB..64MiB, doubling; "
            "without, a quarter and four times the base.",
            show_default=False,
        ),
    ] = ""
    bits: Annotated[str, typer.Option(help="Bloom bits a key: 5,10 or 8..12.")] = "5,8,10,12,16"
    value_size: Annotated[str, typer.Option(help="Bytes a value; there are fewer keys of larger ones.")] = (
        "20,100,400,1600"
    )
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Simulator only: seconds instead of minutes.")
    ] = False
    option: OptionTexts = field(default_factory=list)

    def wanted(self) -> dict[str, list[Value]]:
        """Return the values of each factor that is varied; ValueError for what cannot be."""
        lists: dict[str, list[Value]] = {
            "policy": [*parse_names(self.policy, "policy", get_args(PolicyName))],
            "level_ratio": [*parse_counts(self.level_ratio, "--level-ratio")],
            "memtable": [*parse_sizes(self.memtable, "--memtable")] or self._memtables(),
            "bits": [*parse_decimals(self.bits, "--bits")],
            "value_size": [*parse_counts(self.value_size, "--value-size")],
        }
        return {name: lists[name] for name in parse_names(self.factors, "factor", FACTORS)}

    def _memtables(self) -> list[Value]:
        base_bytes = self.base().store_options().seal_bytes
        return [base_bytes // 4, base_bytes * 4]

    def base_options(self) -> dict[str, OptionValue]:
        """Return the options of the base: of `amplify`, with filters that are asked."""
        asked = parse_options(self.option)
        return {
            # With a hash index no lookup asks a filter, and bits a key would change nothing.
            "hash_index": False,
            "memtable_bytes_max": AmplifySettings.store_options(self).seal_bytes,
        } | asked

    def base(self) -> AmplifySettings:
        """Return the base as settings of `amplify`."""
        return self._amplify(self.base_options())

    def point(self, factor: str, value: Value) -> AmplifySettings:
        """Return the base with another value of one factor."""
        if factor != "value_size":
            return self._amplify(self.base_options() | {_OPTION_OF[factor]: value})
        assert isinstance(value, int)
        if not 1 <= value <= _VALUE_BYTES_MAX:
            raise ValueError(f"--value-size: from 1 to {_VALUE_BYTES_MAX:,} bytes; not {value:,}")
        keys = max(10, self.data_bytes // (self.key_bytes + value))
        return self._amplify(self.base_options(), keys=keys, value_bytes=value)

    def base_value(self, factor: str) -> Value:
        """Return the value that the base has of a factor."""
        if factor == "value_size":
            return self.value_bytes
        value: Value = getattr(self.base().store_options(), _OPTION_OF[factor])
        return value

    def _amplify(self, options: dict[str, OptionValue], **changed: int) -> AmplifySettings:
        values = {each.name: getattr(self, each.name) for each in fields(AmplifySettings)} | changed
        values["option"] = [f"{name}={value}" for name, value in options.items()]
        made = AmplifySettings(**values)
        made.store_options()
        return made

    def to_json(self) -> dict[str, object]:
        """Return the settings as they took effect."""
        # Not super(): a slotted dataclass is a copy of the class that the compiler has in mind.
        return Shape.to_json(self) | {"factors": self.wanted()}
