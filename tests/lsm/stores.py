"""Stores for tests: in memory, with a clock and an entropy of their own, and very small sizes."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress

import lsm
from lsm.opening import Flag, open_on
from lsm.options import OptionValue
from tests.support.memfs import MemFS

# Ten writes reach level 2.
TINY: dict[str, OptionValue] = {
    "background": "manual",
    "memory_limit": "1MiB",
    "memtable_bytes_max": 700,
    "block_bytes": 64,
    "table_bytes_max": 256,
    "l0_tables_max": 2,
    "level_ratio": 2,
    "levels_max": 4,
}
MANUAL: dict[str, OptionValue] = {"background": "manual"}

_opened: list[lsm.DB] = []


class ManualClock:
    """Time that passes only when somebody lets it."""

    def __init__(self, start_us: int = 1_700_000_000_000_000) -> None:
        self.us = start_us
        self.time_ns: Callable[[], int] = lambda: self.us * 1000

    def now_us(self) -> int:
        return self.us

    def monotonic(self) -> float:
        return self.us / 1e6

    def sleep(self, seconds: float) -> None:
        self.us += int(seconds * 1e6)


def counting_entropy() -> Callable[[int], bytes]:
    """Return a source of ids that are all different and the same in every run."""
    numbers = itertools.count(1)
    return lambda size: next(numbers).to_bytes(size, "big")


def open_memory(
    fs: MemFS | None = None,
    flag: Flag = "c",
    *,
    options: Mapping[str, OptionValue] = MANUAL,
    clock: ManualClock | None = None,
) -> lsm.DB:
    """Open a store on a file system in memory, a new one if none is given; closed when the test ends."""
    db = open_on(fs or MemFS(), flag, options, clock=clock or ManualClock(), entropy=counting_entropy())
    _opened.append(db)
    return db


def close_all() -> None:
    """Close what a test left open; a store that has failed on purpose may complain."""
    while _opened:
        with suppress(lsm.Error):
            _opened.pop().close()
