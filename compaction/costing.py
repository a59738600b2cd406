"""What settings cost on a stream, in the figures that are weighed against each other."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from compaction import theory
from compaction.monkey import false_positive_rate
from compaction.predict import Predicted, level_sizes, predict
from compaction.resemble import Facts
from compaction.simulate import Settings, Trace, steady

How: TypeAlias = Literal["simulated", "predicted"]
Figure: TypeAlias = Literal["write_amp", "tree_write_amp", "space_amp", "miss_blocks", "scan_runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a stream costs under some settings."""

    write_amp: float
    """Bytes of log, flush and compaction over user bytes; the manifest is not in it."""
    tree_write_amp: float
    """Flushed and merged bytes over flushed ones."""
    space_amp: float
    """Bytes in tables over live bytes."""
    miss_blocks: float
    """Blocks that the lookup of an absent key reads; next to none with a hash index."""
    scan_runs: float
    """Runs that a scan merges."""
    how: How

    def figure(self, name: Figure) -> float:
        """One of the figures by its name."""
        value: float = getattr(self, name)
        return value


def simulated_cost(trace: Trace, settings: Settings) -> Cost:
    """What the simulator says."""
    found = steady(trace, settings)
    return Cost(
        write_amp=found.write_amp,
        tree_write_amp=found.figures.tree_write_amp,
        space_amp=found.space_amp,
        miss_blocks=0.0 if settings.costs.hash_index else found.miss_reads,
        scan_runs=found.runs,
        how="simulated",
    )


def predicted_cost(facts: Facts, settings: Settings) -> Cost:
    """What formulas say of uniform overwrites in a steady state."""
    shape, filters = settings.shape, settings.filters
    factor = _table_share(facts, settings)
    entries = shape.memtable_bytes / (facts.entry_bytes + settings.log_bytes_per_write)
    flush_bytes = entries * facts.flushed_share * facts.entry_bytes * factor
    predicted = predict(shape, facts.live_bytes * factor, flush_bytes)
    runs = _runs(settings, facts.live_bytes * factor, predicted)
    miss = runs * false_positive_rate(filters.bits_per_key)
    if filters.sharing == "monkey":
        monkey = theory.miss_monkey_leveled if shape.policy == "leveled" else theory.miss_monkey_tiered
        miss = min(miss, monkey(shape.level_ratio, filters.bits_per_key))
    return Cost(
        write_amp=1
        + settings.log_bytes_per_write / facts.entry_bytes
        + facts.flushed_share * factor * predicted.tree_write_amp,
        tree_write_amp=predicted.tree_write_amp,
        space_amp=factor * _garbage(settings, predicted),
        miss_blocks=0.0 if settings.costs.hash_index else miss,
        scan_runs=runs,
        how="predicted",
    )


def _table_share(facts: Facts, settings: Settings) -> float:
    """Bytes of table for a byte of key and value."""
    added = settings.costs.entry_bytes_while_written(settings.filters.bits_per_key)
    return (facts.entry_bytes * settings.costs.compressed_share + added) / facts.entry_bytes


def _runs(settings: Settings, data_bytes: float, predicted: Predicted) -> float:
    """Runs on average: those of L0, and of tiers half of what they may have."""
    shape = settings.shape
    l0_tables = (shape.l0_tables_max - 1) / 2
    if shape.policy == "leveled":
        return l0_tables + len(level_sizes(shape, data_bytes))
    if shape.policy == "tiered":
        return l0_tables + 1 + len(predicted.deeper) * (shape.level_ratio - 1) / 2
    waiting = predicted.l0 / (1 - predicted.l0)
    """How often L0 becomes a run until the last one is rewritten."""
    above = 0.0
    while waiting >= 1:
        above += min(shape.level_ratio - 1, waiting) / 2
        waiting //= shape.level_ratio
    return l0_tables + 1 + above


def _garbage(settings: Settings, predicted: Predicted) -> float:
    """All bytes over live ones, on average."""
    shape = settings.shape
    if shape.policy == "tiered":
        # Above the run of everything, on average half of the others of the last tier: what they are rewritten
        # into says how large they are.
        *_, flow, last = (1.0, *predicted.deeper)
        return 1 + flow / (2 * last)
    if shape.policy == "lazy":
        return (1 + theory.lazy_space_amp(shape.level_ratio)) / 2
    return theory.leveled_space_amp(shape.level_ratio)
