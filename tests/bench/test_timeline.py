"""Samples of a store over time."""

import time

import pytest

import lsm
from bench.counting.levels import level_rows
from bench.counting.timeline import Sample, Timeline, job_rows, worst_second


def sample(seconds, operations):
    return Sample(
        seconds=seconds,
        operations=operations,
        user_bytes=0,
        written={},
        table_bytes=0,
        log_bytes=0,
        temporary_bytes=0,
        live_bytes=None,
        stall_seconds=0.0,
    )


@pytest.mark.parametrize(
    ("points", "worst"),
    [
        ([], None),
        ([(0, 0)], None),
        ([(0, 0), (0.9, 900)], None),
        ([(0, 0), (1, 1000), (2, 1500), (3, 2500)], 500),
        ([(0, 0), (0.5, 500), (1.0, 500), (1.5, 500), (2.0, 1000)], 0),
        ([(0, 0), (0.4, 400), (0.8, 500), (1.2, 600)], 500),
        ([(0, 0), (10, 1000)], 100),
    ],
)
def test_the_worst_second_is_the_slowest_of_all(points, worst):
    assert worst_second([sample(*point) for point in points]) == worst


def test_a_timeline_counts_from_its_beginning(tmp_path):
    with lsm.open(tmp_path / "db", sync="os", background="thread", memtable_bytes_max=64 * 1024) as db:
        _put(db, 500, b"before")
        db.flush()
        timeline = Timeline(db, 7)
        before = time.monotonic()
        for turn in range(4):
            _put(db, 500, b"%d" % turn)
            db.flush()
            timeline.add(turn + 1.0, 500 * (turn + 1), None)
        db.settle()
        timeline.add(9.0, 2000, None)
        written = timeline.to_json()
        jobs, tables = job_rows(db.jobs(), before), level_rows(db.tables())

    assert written["seconds"] == [0, 1, 2, 3, 4, 9]
    assert written["operations"] == [0, 500, 1000, 1500, 2000, 2000]
    assert written["user_bytes"][0] == 0 and written["user_bytes"][-1] == 4 * 500 * (4 + 100)
    assert list(written["written"])[:3] == ["log", "flush", "manifest"]
    assert [name for name in written["written"] if name.startswith("L")]
    for values in (*written["written"].values(), written["stall_seconds"]):
        assert values[0] == 0 and values == sorted(values) and len(values) == 6
    assert written["live_bytes"] == [7, None, None, None, None, None]
    assert all(len(column) == 6 for name, column in written.items() if name != "written")

    assert {job["kind"] for job in jobs} >= {"flush", "merge"}
    assert jobs[0]["start"] < 0 < jobs[-1]["start"]  # the first flush was before
    assert [level["level"] for level in tables] == sorted(level["level"] for level in tables)
    assert all(bytes.fromhex(table["smallest"]) for level in tables for table in level["tables"])


def test_jobs_can_be_shown_on_another_clock():
    job = lsm.JobRecord(
        number=1,
        kind="flush",
        started=12.0,
        seconds=0.5,
        keyspace=None,
        from_level=None,
        to_level=0,
        read_bytes=1,
        written_bytes=2,
        entries_in=3,
        entries_out=3,
    )

    (row,) = job_rows([job], 10.0, lambda seconds: seconds / 2)

    assert (row["start"], row["seconds"], row["to_level"]) == (1.0, 0.5, 0)


def test_tables_that_are_not_of_the_store_are_temporary(tmp_path):
    with lsm.open(tmp_path / "db") as db:
        timeline = Timeline(db)
        (tmp_path / "db" / "999999.sst").write_bytes(b"x" * 1000)
        timeline.add(1.0, 0, None)
        (tmp_path / "db" / "999999.sst").unlink()

    assert [each.temporary_bytes for each in timeline.samples] == [0, 1000]


def _put(db, count, mark):
    for number in range(count):
        db.put(b"%04d" % number, mark.ljust(100))
