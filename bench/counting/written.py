"""What went to storage between two moments, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import lsm

_CAUSES = ("log", "flush", "compaction", "manifest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Bytes that went to storage."""

    user_bytes: int
    by_cause: Mapping[str, int]
    """As the file system layer has counted them."""
    by_level: Mapping[int, int] = field(default_factory=dict)
    """What compaction wrote, as its jobs have counted."""

    @classmethod
    def between(cls, first: lsm.Stats, last: lsm.Stats) -> "Written":
        """Return what a store has written between two looks at it."""
        before = {work.level: work.written_bytes for work in first.work.levels}
        return cls(
            user_bytes=last.write.user_bytes - first.write.user_bytes,
            by_cause={
                cause: count - first.write.written.get(cause, 0)
                for cause, count in last.write.written.items()
            },
            by_level={
                work.level: work.written_bytes - before.get(work.level, 0)
                for work in last.work.levels
                if work.written_bytes > before.get(work.level, 0)
            },
        )

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return sum(self.by_cause.values())

    @property
    def tree_write_amp(self) -> float | None:
        """Flushed and compacted bytes over flushed ones; None if nothing was flushed."""
        flushed = self.by_cause.get("flush", 0)
        return (flushed + self.by_cause.get("compaction", 0)) / flushed if flushed else None

    def figures(self) -> dict[str, float]:
        """Return write amplification, all of it and by cause; nothing if no user wrote."""
        if not self.user_bytes:
            return {}
        found = {"write_amp": self.total_bytes / self.user_bytes}
        for cause in _CAUSES:
            found[f"{cause}_write_amp"] = self.by_cause.get(cause, 0) / self.user_bytes
        if self.tree_write_amp is not None:
            found["tree_write_amp"] = self.tree_write_amp
        return found

    def rows(self) -> list[dict[str, object]]:
        """Return the rows of the table of write amplification, for people."""
        if not self.user_bytes:
            return []
        rows = [("log", "records, their headers and checksums", self.by_cause.get("log", 0))]
        rows.append(("flush", "memtables as tables", self.by_cause.get("flush", 0)))
        rows += [
            (f"into L{level}", "tables that compaction wrote", size) for level, size in self.by_level.items()
        ]
        rows.append(("manifest", "changes of the set of files", self.by_cause.get("manifest", 0)))
        rows.append(("total", "bytes to storage over user bytes", self.total_bytes))
        found: list[dict[str, object]] = [
            {"name": name, "what": what, "measured": size / self.user_bytes, "predicted": None}
            for name, what, size in rows
        ]
        if self.tree_write_amp is not None:
            what = "(flush + compaction) over flush"
            found.append(
                {"name": "tree only", "what": what, "measured": self.tree_write_amp, "predicted": None}
            )
        return found
