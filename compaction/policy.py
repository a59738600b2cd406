"""What every policy can do."""

from typing import Protocol

from compaction.levels import Levels
from compaction.plan import CompactionPlan


class Policy(Protocol):
    """A pure decision: the same arguments give the same plan, and nothing is touched."""

    def choose(
        self, levels: Levels, busy: frozenset[int], now_us: int, oldest_snapshot: int | None = None
    ) -> CompactionPlan | None:
        """The most pressing plan whose tables are clear of the `busy` ones, or None.

        Called again with the levels after each plan, it comes to None: there is no endless work.
        `oldest_snapshot` is the smallest seq that a reader still holds; worth a new call when it moves.
        """
