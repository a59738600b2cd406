"""Counters of a store at one moment; the difference of two is what was spent between."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import lsm
from bench.counting.os_counters import OsCounters, read_os_counters


@dataclass(frozen=True, slots=True)
class LevelBytes:
    """What merges brought into one level."""

    taken: int
    """Read from the levels above."""
    written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Totals since the store was made."""

    operations: int
    user_bytes: int
    """Keys and values handed in, as the bench has counted them."""
    store_user_bytes: int
    """The same as the store has."""
    written: Mapping[str, int]
    """By cause, as the file system layer has counted them."""
    flush_bytes: int
    """Tables that flushes have made, as the jobs have counted them; in `levels` the same for merges."""
    flushes: int
    levels: Mapping[int, LevelBytes] = field(default_factory=dict)
    os: OsCounters | None = None

    def __sub__(self, earlier: "Moment") -> "Moment":
        """Return what happened since `earlier`."""
        nothing = LevelBytes(0, 0)
        return Moment(
            operations=self.operations - earlier.operations,
            user_bytes=self.user_bytes - earlier.user_bytes,
            store_user_bytes=self.store_user_bytes - earlier.store_user_bytes,
            written={cause: count - earlier.written.get(cause, 0) for cause, count in self.written.items()},
            flush_bytes=self.flush_bytes - earlier.flush_bytes,
            flushes=self.flushes - earlier.flushes,
            levels={
                level: LevelBytes(
                    now.taken - earlier.levels.get(level, nothing).taken,
                    now.written - earlier.levels.get(level, nothing).written,
                )
                for level, now in self.levels.items()
            },
            os=None if self.os is None or earlier.os is None else self.os - earlier.os,
        )

    @property
    def total_bytes(self) -> int:
        """Everything that the file system layer saw written."""
        return sum(self.written.values())


def moment_of(stats: lsm.Stats, operations: int, user_bytes: int) -> Moment:
    """Return the totals of an open store, which was made in this session."""
    work = stats.work
    return Moment(
        operations=operations,
        user_bytes=user_bytes,
        store_user_bytes=stats.write.user_bytes,
        written=stats.write.written,
        flush_bytes=work.flush_bytes,
        flushes=work.flushes,
        levels={each.level: LevelBytes(each.read_bytes, each.written_bytes) for each in work.levels},
        os=read_os_counters(),
    )
