"""How new tables are written: the bits of their filters follow from the options and the tree."""

from collections.abc import Iterable
from dataclasses import replace

from compaction import CompactionPlan, Levels
from compaction.monkey import bits_for_run
from lsm.options import Options
from sstable import TableOptions


def flush_options(options: Options, trees: Iterable[Levels], log_bytes: int) -> TableOptions:
    """Return how tables of L0 are written: one flush makes tables for all keyspaces, the largest decides."""
    plain = options.table_options()
    if options.bloom_sharing == "uniform":
        return plain
    levels = max(trees, key=_entries, default=())
    user_bytes = sum(table.key_bytes + table.value_bytes for run in levels for table in run)
    # Nobody knows yet how many keys it will be: as many as fit if entries are as they were so far.
    keys = log_bytes * _entries(levels) // max(1, user_bytes)
    bits = bits_for_run(levels, 0, max(1, keys), options.bloom_bits_per_key)
    return replace(plain, bloom_bits_per_key=bits)


def merge_options(options: Options, levels: Levels, plan: CompactionPlan) -> TableOptions:
    """Return how the outputs of a merge are written."""
    plain = options.table_options()
    if options.bloom_sharing == "uniform":
        return plain
    keys = sum(table.distinct_keys for table in plan.tables)
    bits = bits_for_run(
        levels, plan.output_level, keys, options.bloom_bits_per_key, without=plan.input_numbers
    )
    return replace(plain, bloom_bits_per_key=bits)


def _entries(levels: Levels) -> int:
    return sum(table.entries for run in levels for table in run)
