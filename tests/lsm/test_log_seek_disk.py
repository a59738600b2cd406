"""Finding a place in a log on a disk reads little of it, also in the segment that is being written."""

from datetime import UTC, datetime, timedelta

import pytest

import lsm

KIB = 1024
ENTRIES = 60_000
VALUE = bytes(100)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "db"


def fill(db, first=0):
    for start in range(first, first + ENTRIES, 100):
        db.update({b"%08d" % number: VALUE for number in range(start, start + 100)}, sync=False)
    db.sync()


def moment(time_us):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)


def read_bytes(db, find):
    before = db.stats().read["log"]
    found = find()
    return found, db.stats().read["log"] - before


def check_seeks(db, log_bytes_min):
    log = db.log
    assert log.size_bytes > log_bytes_min
    for seq in [0, log.latest // 3, log.latest // 2, log.latest - 1000, log.latest - 1]:
        change, count = read_bytes(db, lambda seq=seq: next(db.changes(seq)))
        assert change.seq == seq + 1
        assert count < 512 * KIB, f"{count} bytes for {seq} of {log.latest}"
        found, count = read_bytes(db, lambda change=change: next(db.changes(moment(change.time))))
        assert found.time == change.time and found.seq <= change.seq
        assert count < 900 * KIB, f"{count} bytes for the time of {seq}"


def test_a_place_in_the_segment_that_is_being_written(path):
    with lsm.open(path, "n", memtable_bytes_max="64MiB") as db:
        fill(db)
        assert len(db.log.segments) == 1

        check_seeks(db, 6_000_000)


def test_a_place_before_and_behind_the_end_of_a_segment(path):
    with lsm.open(path, "n", memtable_bytes_max="64MiB", log_retention="all") as db:
        fill(db)
        db.flush()
        fill(db, ENTRIES)

        check_seeks(db, 12_000_000)


def test_a_reader_knows_what_it_has_read_when_it_was_opened(path):
    with lsm.open(path, "n", memtable_bytes_max="64MiB") as db:
        fill(db)
        with lsm.open(path, "r") as reader:
            check_seeks(reader, 6_000_000)


def test_a_reader_knows_what_it_has_read_since(path):
    with lsm.open(path, "n", memtable_bytes_max="64MiB") as db:
        db.put(b"first", b"")
        with lsm.open(path, "r") as reader:
            fill(db)
            assert sum(1 for _ in reader.changes()) == ENTRIES + 1

            check_seeks(reader, 6_000_000)


def test_a_reader_goes_on_when_the_segment_that_it_knew_is_finished(path):
    with lsm.open(path, "n", memtable_bytes_max="64MiB", log_retention="all") as db:
        fill(db)
        with lsm.open(path, "r") as reader:
            db.flush()
            fill(db, ENTRIES)
            due = list(range(ENTRIES, 2 * ENTRIES + 1))
            assert [change.seq for change in reader.changes(ENTRIES - 1)] == due

            check_seeks(reader, 12_000_000)
