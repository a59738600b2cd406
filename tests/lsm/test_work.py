"""Totals of flush and compaction: against the file system's counters, over reopening, in the manifest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.edit_json import decode_edit, encode_edit
from lsm.opening import open_on
from lsm.version import VersionEdit
from lsm.work import LevelWork, Work
from tests.support.memfs import MemFS

OPTIONS = {
    "background": "manual",
    "sync": "os",
    "memory_limit": "16MiB",
    "memtable_bytes_max": 8 * 1024,
    "table_bytes_max": 4 * 1024,
    "l0_tables_max": 2,
    "level_ratio": 4,
}
NUMBERS = st.integers(0, 2**40)
LEVELS = st.builds(
    LevelWork,
    level=st.integers(0, 63),
    **{name: NUMBERS for name in LevelWork.__dataclass_fields__ if name != "level"},
)
WORKS = st.builds(
    Work,
    levels=st.lists(LEVELS, max_size=4, unique_by=lambda work: work.level).map(
        lambda levels: tuple(sorted(levels, key=lambda work: work.level))
    ),
    **{name: NUMBERS for name in Work.__dataclass_fields__ if name != "levels"},
)


def opened(fs, flag="c", **options):
    return open_on(fs, flag, {**OPTIONS, **options})


def overwrite(db, rounds=4, keys=300):
    handed_in = 0
    for number in range(rounds * keys):
        key, value = b"%08d" % (number * 7919 % keys), b"%d" % number * 9
        db.put(key, value)
        handed_in += len(key) + len(value)
    return handed_in


@pytest.mark.parametrize("policy", ["leveled", "tiered", "lazy"])
def test_work_is_what_the_file_system_has_seen(policy):
    with opened(MemFS(), policy=policy) as db:
        handed_in = overwrite(db)
        db.flush()
        assert db.settle()

        stats = db.stats()
        assert stats.work.user_bytes == stats.write.user_bytes == handed_in
        assert stats.work.flush_bytes == stats.write.written["flush"] > 0
        assert stats.work.compaction_bytes == stats.write.written["compaction"] > 0
        assert stats.work.log_bytes + 64 == stats.write.written["log"]  # and the header of the open segment
        came = sum(level.read_bytes + level.moved_bytes for level in stats.work.levels)
        assert came >= stats.work.flush_bytes - sum(
            level.size_bytes for level in stats.keyspaces[0].levels[:1]
        )
        assert stats.work.tree_write_amp > 1


def test_totals_go_on_when_the_store_is_opened_again():
    fs = MemFS()
    with opened(fs) as db:
        overwrite(db)
        db.flush()
        db.settle()
        before = db.stats().work
    with opened(fs) as db:
        assert db.stats().work == before
        overwrite(db)
        db.flush()
        db.settle()
        after = db.stats().work
        fs_saw = db.stats().write.written
    # This file system counts on, whoever opens it.
    assert after.flush_bytes == fs_saw["flush"] > before.flush_bytes
    assert after.compaction_bytes == fs_saw["compaction"] > before.compaction_bytes
    with opened(fs, "r") as db:
        assert db.stats().work == after


def test_what_only_the_log_holds_is_counted_when_it_is_flushed_after_all():
    fs = MemFS()
    with opened(fs, memtable_bytes_max="1MiB") as db:
        handed_in = overwrite(db)
        assert not db.stats().work
    with opened(fs) as db:
        db.flush()
        assert db.stats().work.user_bytes == handed_in


def test_a_load_is_counted_with_what_it_brought():
    with opened(MemFS()) as db:
        db.bulk_load([(b"%06d" % number, b"v" * 50) for number in range(500)])

        work = db.stats().work
        assert work.loads == 1 and work.user_bytes == 500 * 56
        assert work.load_bytes == db.stats().table_bytes
        (record,) = db.jobs()
        assert record.kind == "load" and record.entries_out == 500


def test_jobs_tell_what_was_done_and_only_since_when_asked():
    with opened(MemFS()) as db:
        overwrite(db)
        db.flush()
        db.settle()

        jobs = db.jobs()
        work = db.stats().work
        assert [job.number for job in jobs] == list(range(1, len(jobs) + 1))
        assert sum(job.written_bytes for job in jobs if job.kind == "flush") == work.flush_bytes
        assert sum(job.written_bytes for job in jobs if job.kind == "merge") == work.compaction_bytes
        assert sum(job.kind == "move" for job in jobs) == sum(level.moves for level in work.levels)
        assert all(job.seconds >= 0 and job.to_level > (job.from_level or 0) for job in jobs if job.reason)
        assert db.jobs(since=jobs[-3].number) == jobs[-2:]


def test_tables_are_listed_as_they_lie():
    with opened(MemFS(), bloom_bits_per_key=12.0) as db:
        overwrite(db)
        db.keyspace("other")[b"k"] = b"v"
        db.flush()
        db.settle()

        tables = db.tables()
        stats = db.stats()
        for keyspace in stats.keyspaces:
            for level in keyspace.levels:
                mine = [
                    table for table in tables if (table.keyspace, table.level) == (keyspace.name, level.level)
                ]
                assert len(mine) == level.tables
                assert sum(table.size_bytes for table in mine) == level.size_bytes
        deep = [table for table in tables if table.level > 0]
        assert deep and all(table.smallest <= table.largest for table in deep)
        assert all(12 <= table.bloom_bits_per_key < 16 for table in deep)


def test_a_store_that_has_nothing_to_do_is_settled(tmp_path):
    with lsm.open(tmp_path / "db", memtable_bytes_max="64KiB", l0_tables_max=1, sync="os") as db:
        assert db.settle(timeout=0)
        overwrite(db, keys=2000)
        db.flush()
        assert db.settle()
        (keyspace,) = db.stats().keyspaces
        assert keyspace.levels[0].tables < 1
    with lsm.open(tmp_path / "db", "r") as db, pytest.raises(lsm.ReadOnlyError):
        db.settle()


@given(WORKS, WORKS)
def test_work_survives_the_manifest_and_adds_up(one, other):
    assert decode_edit(encode_edit(VersionEdit(work=one))).work == one

    both = one.plus(other)
    assert both == other.plus(one)
    assert both.user_bytes == one.user_bytes + other.user_bytes
    assert both.compaction_bytes == one.compaction_bytes + other.compaction_bytes
    assert bool(both) == (bool(one) or bool(other))


def test_totals_that_have_grown_too_large_can_still_be_written():
    largest = 2**63 - 1
    figures = {name: largest for name in LevelWork.__dataclass_fields__ if name != "level"}
    most = Work(flushes=largest, levels=(LevelWork(level=1, **figures),))

    twice = most.plus(most)

    assert decode_edit(encode_edit(VersionEdit(work=twice))).work == twice == most


@pytest.mark.parametrize(
    "work",
    [
        "[]",
        '{"levels":3}',
        '{"levels":[[1,2]]}',
        '{"user_bytes":-1}',
        '{"user_bytes":true}',
        '{"levels":[[0,0,0,0,0,0,0,0,1e9]]}',
    ],
)
def test_work_that_no_store_wrote_is_refused(work):
    with pytest.raises(ValueError):
        decode_edit(b'{"work":%s}' % work.encode())
