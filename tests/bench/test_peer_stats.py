"""The peers' accounts of themselves, as text of the form that they have, and from the real thing."""

import pytest

from bench.compare.amplification import AmplifyTask
from bench.peers.engines import find_peers
from bench.peers.leveldb_stats import LevelRow, level_rows, leveldb_work
from bench.peers.rocksdb_stats import counted, rocksdb_work, stated_write_amp
from bench.peers.work import BadStatistics, CountsWork, Settles, TreeWork

MIB = 1024 * 1024

STATISTICS = """\
rocksdb.block.cache.miss COUNT : 7
rocksdb.flush.write.bytes.else COUNT : 1
rocksdb.compact.write.bytes COUNT : 3000
rocksdb.flush.write.bytes COUNT : 1000
rocksdb.db.flush.micros P50 : 1.5 P95 : 2.0 P99 : 2.0 P100 : 2.0 COUNT : 12 SUM : 20
"""
CFSTATS = """\

** Compaction Stats [default] **
Level    Files   Size     Score Read(GB)  Write(GB) W-Amp Comp(sec)
-------------------------------------------------------------------
  L0      2/0    1.55 MB   0.5      0.0       0.1   1.0     0.46
  L6     24/0   22.17 MB   0.0      0.2       0.2   2.5     0.63
 Sum     26/0   23.72 MB   0.0      0.2       0.3   3.9     1.09
 Int      0/0    0.00 KB   0.0      0.2       0.3   9.9     1.09

Priority    Files   Size     Score Read(GB)  Write(GB) W-Amp Comp(sec)
 Sum      0/0    0.00 KB   0.0      0.4       0.3   7.7     1.14
"""


def test_rocksdbs_tickers_are_read_by_their_whole_name():
    work = rocksdb_work(STATISTICS, CFSTATS)

    assert (work.flush_bytes, work.compaction_bytes, work.flushes) == (1000, 3000, 12)
    assert work.tree_write_amp == 4.0 and work.stated == 3.9


@pytest.mark.parametrize(
    "text", ["", "rocksdb.flush.write.bytes COUNT : many", "xrocksdb.flush.write.bytes COUNT : 1"]
)
def test_a_ticker_that_is_not_there_is_named(text):
    with pytest.raises(BadStatistics, match=r"rocksdb\.flush\.write\.bytes"):
        counted(text, "rocksdb.flush.write.bytes")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " Sum 26/0 23.72 MB 1 2 3 4 5 6 7",  # without a head
        CFSTATS.replace("W-Amp", "WA"),
        CFSTATS.replace("3.9", "n/a"),
        "Level Files Size W-Amp\n Sum 1/0",  # cut off
    ],
)
def test_a_table_of_another_form_states_nothing(text):
    assert stated_write_amp(text) is None


LEVEL_STATS = """\
                               Compactions
Level  Files Size(MB) Time(sec) Read(MB) Write(MB)
--------------------------------------------------
  0        1        1         0        0        10
  1        3        5         1       30        28
  2        4        8         0       12        11
"""


def level_log(flushes, compactions):
    lines = ["2026/01/02-03:04:05.678901 140 Delete type=0 #3"]
    for number, size in enumerate(flushes):
        lines += [
            f"2026 140 Level-0 table #{number}: started",
            f"2026 140 Level-0 table #{number}: {size} bytes OK",
        ]
    for size in compactions:
        lines += [
            "2026 140 Compacting 4@0 + 1@1 files",
            "2026 140 Generated table #9@0: 100 keys, 1000 bytes",
            f"2026 140 Compacted 4@0 + 1@1 files => {size} bytes",
        ]
    return "\n".join(lines)


def test_leveldbs_log_is_believed_when_it_adds_up_to_the_table():
    log = level_log([5 * MIB, 6 * MIB], [20 * MIB, 18 * MIB + 1000])

    work = leveldb_work(LEVEL_STATS, log)

    assert (work.flush_bytes, work.compaction_bytes, work.flushes) == (11 * MIB, 38 * MIB + 1000, 2)
    assert work.stated == 4.9 and "LOG, which add up" in work.how


@pytest.mark.parametrize("log", ["", level_log([5 * MIB], [20 * MIB]), level_log([90 * MIB], [90 * MIB])])
def test_the_table_is_taken_when_the_log_says_something_else(log):
    work = leveldb_work(LEVEL_STATS, log)

    assert (work.flush_bytes, work.compaction_bytes) == (10 * MIB, 39 * MIB)
    assert work.tree_write_amp == 4.9 and "does not add up" in work.how


def test_rows_of_leveldbs_table_are_read_and_other_lines_passed_over():
    assert level_rows(LEVEL_STATS)[1] == LevelRow(1, 3, 5, 1, 30, 28)
    assert level_rows(LEVEL_STATS + "\n  and more\n 7 8") == level_rows(LEVEL_STATS)


@pytest.mark.parametrize("text", ["", "Compactions", "  0 1 1 0 0 10"])
def test_a_table_of_leveldb_without_its_head_is_an_error(text):
    with pytest.raises(BadStatistics, match="another form"):
        level_rows(text)


def test_nothing_flushed_means_no_figure():
    assert leveldb_work(LEVEL_STATS.split("  0 ")[0], "").tree_write_amp is None
    assert TreeWork(flush_bytes=0, compaction_bytes=0, flushes=0, how="").tree_write_amp is None


# A key is put so often that L0 must have been merged.
_TASK = AmplifyTask(
    keys=6000, key_bytes=16, value_bytes=100, seed=1, memtable_bytes=64 * 1024, level_ratio=10
)


@pytest.mark.parametrize("name", ["rocksdict", "plyvel"])
def test_the_real_engine_has_an_account_of_the_form_that_is_known(name, tmp_path):
    peers, missing = find_peers([name])
    if missing:
        pytest.skip(f"{name} is not installed")
    (engine,) = peers
    data = _TASK.data()
    store = engine.open(tmp_path, _TASK.store, False)
    try:
        put = store.putter()
        for pairs in _TASK.writes(data):
            for key, value in zip(*pairs, strict=True):
                put(key, value)
        store.compact()
        assert isinstance(store, CountsWork)
        if isinstance(store, Settles):
            store.settle()
        work = store.work()
    finally:
        store.close()

    assert work.flushes > 10 and work.compaction_bytes > _TASK.live_bytes
    # All of the stream was flushed; keys share most of their bytes, and some duplicates are gone before.
    assert 0.7 * _TASK.user_bytes < work.flush_bytes < 1.3 * _TASK.user_bytes
    assert work.tree_write_amp is not None and work.stated is not None
    assert work.stated == pytest.approx(work.tree_write_amp, rel=0.3)  # whole MiB, or a digit
