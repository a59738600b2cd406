"""Tiny stores on any file system: a clock that moves when asked, ids that never change, sizes that hurry.

With these options a segment is sealed after about four puts, and ten writes reach level 2.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from lsm.db import DB
from lsm.fs_types import FileSystem
from lsm.opening import Flag, open_on
from lsm.options import OptionValue

RESERVE_BYTES = 512
TINY: Mapping[str, OptionValue] = {
    "background": "manual",
    "memtable_bytes_max": 256,
    "table_bytes_max": 256,
    "block_bytes": 256,
    "l0_tables_max": 2,
    "l0_tables_slow": 8,
    "l0_tables_stop": 12,
    "level_ratio": 2,
    "levels_max": 4,
    "sealed_max": 4,
    "log_retention_bytes": 0,
}


class StepClock:
    """Moves a microsecond at every look, and by what is slept: the same calls give the same times."""

    time_ns: Callable[[], int]

    def __init__(self) -> None:
        self._now_ns = 1_700_000_000_000_000_000
        self.time_ns = self._time_ns

    def _time_ns(self) -> int:
        self._now_ns += 1000
        return self._now_ns

    def now_us(self) -> int:
        return self._time_ns() // 1000

    def monotonic(self) -> float:
        return self._time_ns() / 1e9

    def sleep(self, seconds: float) -> None:
        self._now_ns += int(seconds * 1e9)


def open_tiny(
    fs: FileSystem,
    flag: Flag = "c",
    *,
    clock: StepClock | None = None,
    identity: int = 1,
    **changes: OptionValue,
) -> DB:
    """Open a store that does everything early and nothing by itself; a new one gets a fixed identity."""
    return open_on(
        fs,
        flag,
        {**TINY, **changes},
        clock=clock or StepClock(),
        entropy=lambda count: identity.to_bytes(count, "little"),
    )


def let_go(db: DB) -> None:
    """Leave a store as a crash would: nothing more is written, and the handle is dead."""
    db._after_fork_in_child()


@contextmanager
def held(db: DB) -> Iterator[DB]:
    """Let a store go at the end, unless it was closed before."""
    try:
        yield db
    finally:
        let_go(db)
