"""What single changes of settings would do to a store: present settings and others, simulated on one stream.

    facts = Facts(keys=1_000_000, key_bytes=16, value_bytes=100)
    advice = what_if(Settings(shape=Shape()), facts)
    advice.present.write_amp, advice.best.change.text, advice.best.cost.write_amp

The stream is a store's own (a `Trace`), or one that resembles it (`Facts`).  Of stores so large that a
simulation would take minutes, formulas answer instead; `Cost.how` tells which.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal, TypeAlias, get_args

from compaction.costing import Cost, Figure, predicted_cost, simulated_cost
from compaction.resemble import Facts, flushes_of_a_round, resembling
from compaction.shape import MIB, PolicyName
from compaction.simulate import BloomSharing, Settings, Trace

__all__ = [
    "Advice",
    "Change",
    "Cost",
    "Facts",
    "Figure",
    "OptionName",
    "Outcome",
    "single_changes",
    "what_if",
]

OptionName: TypeAlias = Literal[
    "policy", "level_ratio", "memtable_bytes_max", "bloom_bits_per_key", "bloom_sharing"
]
"""Names of options of a store."""

FLUSHES_MAX = 240
"""So many memtables are simulated for each change: a fraction of a second."""
GAIN_MIN = 0.02
"""A change that gains less is not worth a word."""
_MEMTABLE_FACTOR = 4
_MEMTABLE_BYTES_MAX = 1024 * MIB
_RATIO_MIN, _RATIO_MAX = 2, 32
_BITS_MORE, _BITS_MAX = 4.0, 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One option with another value."""

    option: OptionName
    value: int | float | str
    text: str
    """Such as "memtable of 64 MiB instead of 16 MiB"."""
    settings: Settings
    """All settings with this change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a change would do."""

    change: Change
    cost: Cost
    gain: float
    """How much better it is on the whole; below 0 it is worse.

    The sum of the logarithms of how many times smaller writing, space and reading become: a change that
    halves one of them and doubles another gains nothing.
    """

    def saves(self, figure: Figure, present: Cost) -> float:
        """The share of one figure that the change saves; negative if it costs more."""
        before = present.figure(figure)
        return 1 - self.cost.figure(figure) / before if before else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What the present settings cost, and what others would."""

    present: Cost
    outcomes: tuple[Outcome, ...]
    """The one that gains most comes first."""

    @property
    def best(self) -> Outcome | None:
        """The change that helps most on the whole, if any does."""
        return self.outcomes[0] if self.outcomes and self.outcomes[0].gain >= GAIN_MIN else None

    def best_for(self, figure: Figure) -> Outcome | None:
        """The change that lowers one figure most, if any lowers it, whatever else it costs."""
        best = max(self.outcomes, key=lambda outcome: outcome.saves(figure, self.present), default=None)
        return best if best is not None and best.saves(figure, self.present) >= GAIN_MIN else None


def what_if(
    settings: Settings,
    stream: Facts | Trace,
    changes: Sequence[Change] | None = None,
    *,
    flushes_max: int = FLUSHES_MAX,
) -> Advice:
    """Compare the present settings with single changes, all that may help if none are given."""
    if changes is None:
        changes = list(single_changes(settings))
    cost_of = _Costing(settings, stream, flushes_max)
    present = cost_of(settings)
    outcomes = []
    for change in changes:
        cost = cost_of(change.settings)
        outcomes.append(Outcome(change=change, cost=cost, gain=_gain(present, cost)))
    return Advice(present=present, outcomes=tuple(sorted(outcomes, key=lambda outcome: -outcome.gain)))


class _Costing:
    """The same stream for all settings, and the same way to cost it: only then can they be compared."""

    def __init__(self, settings: Settings, stream: Facts | Trace, flushes_max: int) -> None:
        self._facts = stream if isinstance(stream, Facts) else None
        self._trace = stream if isinstance(stream, Trace) else None
        if self._facts is not None and flushes_of_a_round(self._facts, settings) <= flushes_max:
            self._trace = resembling(self._facts, settings, flushes_max=flushes_max)

    def __call__(self, settings: Settings) -> Cost:
        if self._trace is not None:
            return simulated_cost(self._trace, settings)
        assert self._facts is not None
        return predicted_cost(self._facts, settings)


def single_changes(settings: Settings) -> Iterator[Change]:
    """The changes worth trying, each with all else as it is."""
    shape = settings.shape

    def shaped(option: OptionName, value: int | str, text: str, **changed: object) -> Change:
        other = replace(settings, shape=replace(shape, **changed))  # type: ignore[arg-type]  # fields of Shape
        return Change(option=option, value=value, text=text, settings=other)

    memtable_bytes = min(_MEMTABLE_BYTES_MAX, _MEMTABLE_FACTOR * shape.memtable_bytes)
    if memtable_bytes > shape.memtable_bytes:
        text = f"memtable of {_size(memtable_bytes)} instead of {_size(shape.memtable_bytes)}"
        yield shaped("memtable_bytes_max", memtable_bytes, text, memtable_bytes=memtable_bytes)
    for ratio in (shape.level_ratio // 2, shape.level_ratio * 2):
        if _RATIO_MIN <= ratio <= _RATIO_MAX:
            text = f"level ratio {ratio} instead of {shape.level_ratio}"
            yield shaped("level_ratio", ratio, text, level_ratio=ratio)
    for policy in get_args(PolicyName):
        if policy != shape.policy:
            yield shaped("policy", policy, f"policy {policy} instead of {shape.policy}", policy=policy)
    if not settings.costs.hash_index:  # else lookups ask that, and no filter
        yield from _filter_changes(settings)


def _filter_changes(settings: Settings) -> Iterator[Change]:
    filters = settings.filters
    sharing: BloomSharing = "monkey" if filters.sharing == "uniform" else "uniform"
    yield Change(
        option="bloom_sharing",
        value=sharing,
        text=f"bloom sharing {sharing} instead of {filters.sharing}",
        settings=replace(settings, filters=replace(filters, sharing=sharing)),
    )
    bits = filters.bits_per_key + _BITS_MORE
    if bits <= _BITS_MAX:
        yield Change(
            option="bloom_bits_per_key",
            value=bits,
            text=f"{bits:g} bloom bits a key instead of {filters.bits_per_key:g}",
            settings=replace(settings, filters=replace(filters, bits_per_key=bits)),
        )


def _gain(present: Cost, other: Cost) -> float:
    return sum(
        weight * log(max(1e-9, present.figure(figure) + offset) / max(1e-9, other.figure(figure) + offset))
        for figure, weight, offset in _WEIGHTS
    )


_WEIGHTS: tuple[tuple[Figure, float, float], ...] = (
    ("write_amp", 1.0, 0.0),
    ("space_amp", 1.0, 0.0),
    # Reading is both: lookups, of which each reads a block when it finds something, and scans.
    ("miss_blocks", 0.5, 1.0),
    ("scan_runs", 0.5, 0.0),
)


def _size(size_bytes: int) -> str:
    return f"{size_bytes / MIB:.4g} MiB" if size_bytes >= MIB else f"{size_bytes / 1024:.4g} KiB"
