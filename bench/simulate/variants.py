"""Which settings are simulated: every combination of the values that were asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

import lsm
from bench.ranges import size_text

VARIANTS_MAX = 1000
"""More would take minutes, and nobody reads so long a table."""

Value = int | float | str

SHORT_NAMES = {
    "policy": "policy",
    "level_ratio": "ratio",
    "memtable_bytes_max": "memtable",
    "bloom_bits_per_key": "bits",
    "bloom_sharing": "sharing",
}
"""Options that make variants, and what they are called in tables."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Options of a store, and what is different about them."""

    options: lsm.Options
    changed: Mapping[str, Value] = field(default_factory=dict)
    """The options that were asked for, by name; none for the store as it is."""

    @property
    def label(self) -> str:
        """Return one line for people."""
        parts = [f"{SHORT_NAMES[name]} {value_text(name, value)}" for name, value in self.changed.items()]
        return ", ".join(parts) or "as it is"


def value_text(name: str, value: Value) -> str:
    """Return the value of an option for people."""
    if name == "memtable_bytes_max" and isinstance(value, int):
        return size_text(value)
    return value if isinstance(value, str) else f"{value:g}"


def grid(base: lsm.Options, wanted: Mapping[str, Sequence[Value]]) -> list[Variant]:
    """Return every combination of the values of the options that have any; the base alone without."""
    asked = {name: values for name, values in wanted.items() if values}
    count = prod(map(len, asked.values()))
    if count > VARIANTS_MAX:
        raise ValueError(f"{count:,} combinations; at most {VARIANTS_MAX:,} are simulated")
    combinations = (dict(zip(asked, values, strict=True)) for values in product(*asked.values()))
    return [Variant(base.with_changes(changed), changed) for changed in combinations]
