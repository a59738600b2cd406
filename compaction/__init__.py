"""Decides which tables to merge, merges them, and keeps what somebody can still see.

A policy looks at `Levels`, the facts of all tables, and answers with a `CompactionPlan` or None; it
touches nothing.  A plan of kind "move" is carried out by relinking its inputs, one of kind "merge"
by `run_plan`, which writes new tables through the sinks it is handed.  Whoever calls installs the
result.  DESIGN.md, beside this file, has the rules and the reasons.
"""

from compaction.full import plan_full
from compaction.joining import bytes_while_written
from compaction.lazy import LazyPolicy
from compaction.leveled import LeveledPolicy, Targets
from compaction.levels import (
    KeyRange,
    Levels,
    Run,
    check_levels,
    key_range,
    level_bytes,
    overlapping,
    reclaimable,
    replaced,
)
from compaction.order import Ordered, merge, sort_columns
from compaction.outputs import Outputs, TableSink
from compaction.plan import BusyRanges, CompactionPlan
from compaction.policy import Policy
from compaction.result import CompactionError, CompactionResult
from compaction.retain import Retention, Survivors, retain
from compaction.run import compact, flush_columns, run_plan
from compaction.tiered import TieredPolicy
from compaction.windows import InputTable, windows

__all__ = [
    "BusyRanges",
    "CompactionError",
    "CompactionPlan",
    "CompactionResult",
    "InputTable",
    "KeyRange",
    "LazyPolicy",
    "LeveledPolicy",
    "Levels",
    "Ordered",
    "Outputs",
    "Policy",
    "Retention",
    "Run",
    "Survivors",
    "TableSink",
    "Targets",
    "TieredPolicy",
    "bytes_while_written",
    "check_levels",
    "compact",
    "flush_columns",
    "key_range",
    "level_bytes",
    "merge",
    "overlapping",
    "plan_full",
    "reclaimable",
    "replaced",
    "retain",
    "run_plan",
    "sort_columns",
    "windows",
]
