"""What an engine's tree has written, by the engine's own account."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable


class BadStatistics(Exception):
    """An engine's account of itself is not in a form that is known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeWork:
    """Bytes of tables that flush and compaction have written since the store was made."""

    flush_bytes: int
    compaction_bytes: int
    flushes: int
    how: str
    """Where the figures come from."""
    stated: float | None = None
    """The ratio as the engine states it, where it does."""

    @property
    def tree_write_amp(self) -> float | None:
        """Flushed and compacted bytes over flushed ones, as RocksDB defines it; None before any flush."""
        return (self.flush_bytes + self.compaction_bytes) / self.flush_bytes if self.flush_bytes else None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@runtime_checkable
class Settles(Protocol):
    """A store that knows when it has nothing left to do."""

    def settle(self) -> None:
        """Wait until no flush or compaction is due."""


@runtime_checkable
class CountsWork(Protocol):
    """A store that keeps such an account."""

    def work(self) -> TreeWork:
        """Return what has been written until now."""
