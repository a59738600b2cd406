"""What a policy answers: which tables to merge or to move, and what is known of the levels below."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Literal

from compaction.levels import (
    KeyRange,
    Levels,
    Run,
    as_run,
    is_run,
    key_range,
    level_bytes,
    overlapping,
    reclaimable,
)
from sstable import TableMeta

GRANDPARENT_TABLES_MAX = 10
"""A table lies over at most this many full tables of the level below, so that its own merge stays small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """One job: the inputs leave their levels for `output_level`, merged into new tables or as they are."""

    kind: Literal["merge", "move"]
    level: int
    """The topmost level with an input."""
    output_level: int
    inputs: tuple[Run, ...]
    """Newest first: every L0 table is a run of its own, a deeper level is one run."""
    output_grandparents: Run
    """Tables of the level below the output that overlap the inputs."""
    deeper: tuple[KeyRange, ...]
    """Ranges of all tables below the output level that overlap the inputs."""
    reason: str
    score: float

    @property
    def tables(self) -> tuple[TableMeta, ...]:
        """All inputs."""
        return tuple(chain.from_iterable(self.inputs))

    @property
    def input_numbers(self) -> frozenset[int]:
        """Numbers of all inputs."""
        return frozenset(table.number for table in self.tables)

    @property
    def input_bytes(self) -> int:
        """Bytes on disk of all inputs."""
        return level_bytes(self.tables)

    @property
    def key_range(self) -> KeyRange:
        """From the smallest to the largest key of the inputs; outputs lie within."""
        return key_range(self.tables)

    @property
    def is_bottom(self) -> bool:
        """Whether no table below the output can hold a key of the inputs."""
        return not self.deeper

    @property
    def oldest_tombstone_time(self) -> int:
        """When the oldest tombstone among the inputs was written, 0 without tombstones.

        Outputs inherit it: a rewrite must not make a deletion look young.
        """
        return min((table.oldest_tombstone_time for table in self.tables if table.tombstones), default=0)


def plan_merge(
    levels: Levels, chosen: Sequence[TableMeta], output_level: int, *, reason: str, score: float = 0.0
) -> CompactionPlan:
    """Plan to merge the `chosen` tables of `levels`, all of them, into `output_level`."""
    smallest, largest = key_range(chosen)
    numbers = {table.number for table in chosen}
    within = (levels[0], *(overlapping(run, smallest, largest) for run in levels[1:]))
    upper, below = within[: output_level + 1], within[output_level + 1 :]
    picked = [tuple(table for table in tables if table.number in numbers) for tables in upper]
    return CompactionPlan(
        kind="merge",
        level=next(level for level, tables in enumerate(picked) if tables),
        output_level=output_level,
        inputs=(*((table,) for table in picked[0]), *filter(None, picked[1:])),
        output_grandparents=below[0] if below else (),
        deeper=tuple((table.smallest, table.largest) for run in below for table in run),
        reason=reason,
        score=score,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRules:
    """When relinking tables would leave the tree worse than rewriting them."""

    oldest_snapshot: int | None
    """Where a rewrite would drop something that no snapshot protects, it is worth its bytes."""
    grandparent_bytes_max: int
    """A table over more bytes of the level below would make its own next merge too large."""


def plan_down(
    levels: Levels,
    sources: Sequence[TableMeta],
    output_level: int,
    rules: MoveRules,
    *,
    reason: str,
    score: float = 0.0,
) -> CompactionPlan:
    """Plan to bring `sources` down into `output_level`: by a move if that does, else by a merge."""
    plan = plan_merge(levels, sources, output_level, reason=reason, score=score)
    if _may_move(plan, levels[output_level], rules):
        return replace(plan, kind="move")
    beneath = overlapping(levels[output_level], *plan.key_range)
    return plan_merge(levels, (*sources, *beneath), output_level, reason=reason, score=score)


def _may_move(plan: CompactionPlan, beneath: Run, rules: MoveRules) -> bool:
    # Tables that share no key shadow nothing, and none can end up below one that is older.
    if not is_run(as_run(plan.tables)):
        return False
    if plan.is_bottom and any(reclaimable(table, rules.oldest_snapshot) for table in plan.tables):
        return False
    return all(
        not overlapping(beneath, table.smallest, table.largest)
        and level_bytes(overlapping(plan.output_grandparents, table.smallest, table.largest))
        <= rules.grandparent_bytes_max
        for table in plan.tables
    )


class BusyRanges:
    """Where running jobs may put tables, given the numbers of their inputs.

    A job may put a table anywhere between the ends of its inputs, gaps included.  Which inputs
    belong to one job is not told, so others keep clear of everything from the first to the last.
    Only what is below a plan's own output does not matter to it: nothing comes up from there.
    """

    def __init__(self, levels: Levels, busy: frozenset[int]) -> None:
        inputs = [[table for table in tables if table.number in busy] for tables in levels]
        down_to = accumulate(inputs)
        self._by_level = [key_range(tables) if tables else None for tables in down_to]

    def leave_free(self, plan: CompactionPlan) -> bool:
        """Whether `plan` can run beside the running jobs."""
        taken = self._by_level[plan.output_level]
        if taken is None:
            return True
        smallest, largest = plan.key_range
        return largest < taken[0] or taken[1] < smallest
