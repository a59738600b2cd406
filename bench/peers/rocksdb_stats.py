"""RocksDB's statistics, as text.

`Options.get_statistics` has a line for every ticker and histogram, with exact numbers.  The property
`rocksdb.cfstats` has a table by level, rounded to tenths of gigabytes, and in it W-Amp.
"""

import re

from bench.peers.work import BadStatistics, TreeWork

_FLUSHED, _COMPACTED = "rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes"
_FLUSHES = "rocksdb.db.flush.micros"
_SIZE_AT = 2  # the one column whose cells are two words: "27.06 MB"


def rocksdb_work(statistics: str, cfstats: str) -> TreeWork:
    """Return what RocksDB says that it has written."""
    return TreeWork(
        flush_bytes=counted(statistics, _FLUSHED),
        compaction_bytes=counted(statistics, _COMPACTED),
        flushes=counted(statistics, _FLUSHES),
        stated=stated_write_amp(cfstats),
        how=f"tickers {_FLUSHED} and {_COMPACTED}; stated: W-Amp of rocksdb.cfstats",
    )


def counted(statistics: str, name: str) -> int:
    """Return the number of a ticker, or how many values a histogram has taken in."""
    found = re.search(rf"^{re.escape(name)} (?:.* )?COUNT : (\d+)", statistics, re.MULTILINE)
    if found is None:
        raise BadStatistics(f"RocksDB's statistics have no {name}")
    return int(found[1])


def stated_write_amp(cfstats: str) -> float | None:
    """Return the W-Amp of all levels together, to a digit behind the point; None if it is not there."""
    at = None
    for line in cfstats.splitlines():
        words = line.split()
        if words[:1] == ["Level"] and "W-Amp" in words:
            at = words.index("W-Amp")
            at += at > _SIZE_AT
        elif words[:1] == ["Sum"] and at is not None:
            try:
                return float(words[at])
            except (IndexError, ValueError):
                return None
    return None
