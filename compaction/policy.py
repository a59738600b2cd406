"""What every policy can do, and what all of them demand of their settings."""

from typing import Protocol

from compaction.levels import Levels
from compaction.plan import CompactionPlan


class Policy(Protocol):
    """A pure decision: the same arguments give the same plan, and nothing is touched."""

    @property
    def levels_max(self) -> int:
        """How many levels the policy may use, L0 included."""

    def choose(
        self, levels: Levels, busy: frozenset[int], now_us: int, oldest_snapshot: int | None = None
    ) -> CompactionPlan | None:
        """The most pressing plan whose tables are clear of the `busy` ones, or None.

        Called again with the levels after each plan, it comes to None: there is no endless work.
        `oldest_snapshot` is the smallest seq that a reader still holds; worth a new call when it moves.
        """


class Settings(Protocol):
    """What policies have in common."""

    @property
    def tombstone_share(self) -> float: ...

    @property
    def tombstone_age_seconds(self) -> float: ...


def check_settings(policy: Settings, *sizes: str) -> None:
    """Raise ValueError if a setting that policies share, or one of `sizes`, cannot work."""
    for name, least in [("level_ratio", 2), ("levels_max", 2), *((name, 1) for name in sizes)]:
        value = getattr(policy, name)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}")
    share, age = policy.tombstone_share, policy.tombstone_age_seconds
    if not 0 < share <= 1:
        raise ValueError(f"tombstone_share must be above 0 and at most 1, not {share}")
    if age < 0:
        raise ValueError(f"tombstone_age_seconds must not be negative, not {age}")


def padded(levels: Levels, levels_max: int) -> Levels:
    """`levels` with empty ones at the end, so that there are `levels_max` of them."""
    return levels + ((),) * (levels_max - len(levels))
