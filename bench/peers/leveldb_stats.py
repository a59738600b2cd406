"""LevelDB's statistics, as text.

The property `leveldb.stats` has a row for every level, in whole MiB: what flushes and compactions wrote
into it.  A flush goes to L0, but to L1 or L2 when nothing there overlaps it, and then its bytes cannot be
told from a compaction's.  The file LOG, which LevelDB begins anew when a store is opened, has every flush and
compaction with its exact size; so the figures are LOG's, as long as both agree.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.work import BadStatistics, TreeWork

_MIB = 1024 * 1024
_ROUNDING = 0.5  # of a row of the table, in MiB
_HEAD = re.compile(r"Level\s+Files\s+Size\(MB\)\s+Time\(sec\)\s+Read\(MB\)\s+Write\(MB\)")
_ROW = re.compile(r"\s*(\d+)" + r"\s+(\d+)" * 5 + r"\s*")
_FLUSH = re.compile(r"Level-0 table #\d+: (\d+) bytes OK\b")
_COMPACTION = re.compile(r"Compacted \d+@\d+ \+ \d+@\d+ files => (\d+) bytes\b")


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One row of `leveldb.stats`; sizes are in MiB, rounded."""

    level: int
    tables: int
    size: int
    seconds: int
    read: int
    written: int


def leveldb_work(stats: str, log: str) -> TreeWork:
    """Return what LevelDB says that it has written."""
    rows = level_rows(stats)
    flushes = [int(size) for size in _FLUSH.findall(log)]
    compaction_bytes = sum(map(int, _COMPACTION.findall(log)))
    if _agree(rows, sum(flushes) + compaction_bytes):
        return TreeWork(
            flush_bytes=sum(flushes),
            compaction_bytes=compaction_bytes,
            flushes=len(flushes),
            stated=_stated(rows),
            how="flushes and compactions in LOG, which add up to leveldb.stats; stated: that, in whole MiB",
        )
    top = sum(row.written for row in rows if row.level == 0)
    return TreeWork(
        flush_bytes=top * _MIB,
        compaction_bytes=sum(row.written for row in rows if row.level > 0) * _MIB,
        flushes=len(flushes),
        stated=_stated(rows),
        how="leveldb.stats in whole MiB, what was written to L0 taken as flushed; LOG does not add up to it",
    )


def level_rows(stats: str) -> list[LevelRow]:
    """Return the rows of `leveldb.stats`; levels without anything have none."""
    lines = stats.splitlines()
    start = next((at for at, line in enumerate(lines) if _HEAD.search(line)), None)
    if start is None:
        raise BadStatistics("leveldb.stats has another form than the one that is known")
    rows = (_ROW.fullmatch(line) for line in lines[start + 1 :])
    return [LevelRow(*map(int, row.groups())) for row in rows if row is not None]


def _agree(rows: Sequence[LevelRow], written_bytes: int) -> bool:
    written = sum(row.written for row in rows)
    # A level without tables whose work took no time has no row: one rounding more.
    return abs(written - written_bytes / _MIB) <= _ROUNDING * (len(rows) + 1)


def _stated(rows: Sequence[LevelRow]) -> float | None:
    """What the table by itself says, to a digit behind the point as RocksDB does."""
    flushed = sum(row.written for row in rows if row.level == 0)
    return round(sum(row.written for row in rows) / flushed, 1) if flushed else None
