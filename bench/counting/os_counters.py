"""Bytes that the operating system has seen this process and its children write."""

from dataclasses import dataclass
from pathlib import Path

from bench.counting.processes import PROC, child_ids


@dataclass(frozen=True, slots=True)
class OsCounters:
    """Of this process, children that have ended, and those that are there: the store's worker is one."""

    passed_bytes: int
    """Handed to `write` and its like, pipes included (`wchar`)."""
    stored_bytes: int
    """Pages that must go to a disk, each counted when it is first touched (`write_bytes`)."""

    def __sub__(self, earlier: "OsCounters") -> "OsCounters":
        """Return what was counted since `earlier`."""
        return OsCounters(self.passed_bytes - earlier.passed_bytes, self.stored_bytes - earlier.stored_bytes)

    @property
    def best_bytes(self) -> int:
        """What reached a disk, or what was written where the file system has none, as one in memory."""
        return self.stored_bytes or self.passed_bytes

    @property
    def best_name(self) -> str:
        """Which of the two that is."""
        return "write_bytes" if self.stored_bytes else "wchar"


def read_os_counters(proc: Path = PROC) -> OsCounters | None:
    """Return the counters of this moment; None where the system has none or does not show them."""
    own = _counters(proc / "self")
    if own is None:
        return None
    # A child's counters are added to ours when it has ended and been waited for.
    children = filter(None, (_counters(proc / child) for child in child_ids(proc)))
    everything = [own, *children]
    return OsCounters(
        sum(each.passed_bytes for each in everything), sum(each.stored_bytes for each in everything)
    )


def _counters(process: Path) -> OsCounters | None:
    try:
        lines = (process / "io").read_text(encoding="ascii").splitlines()
        counts = {name: int(count) for name, _, count in (line.partition(":") for line in lines)}
        return OsCounters(counts["wchar"], counts["write_bytes"])
    except (OSError, ValueError, KeyError):  # not Linux, a child that has just ended, or not ours to read
        return None
