"""How much the demo does, and where."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The settings of one run."""

    directory: Path
    seed: int
    scale: float

    @property
    def store(self) -> Path:
        """The store that is written and killed."""
        return self.directory / "store"

    @property
    def checkpoint(self) -> Path:
        """The copy that is made of it."""
        return self.directory / "checkpoint"

    @property
    def follower(self) -> Path:
        """The copy that follows its log."""
        return self.directory / "follower"

    @property
    def in_spark(self) -> Path:
        """The store that Spark writes."""
        return self.directory / "in-spark"

    def scaled(self, count: int) -> int:
        """Return a count of the full demo for this run."""
        return max(1, round(count * self.scale))
