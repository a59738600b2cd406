"""The log as a stream of changes."""

import threading
from datetime import UTC, datetime

import pytest

import lsm
from lsm.opening import open_on
from tests.reliability.tiny import StepClock
from tests.support.memfs import MemFS

TINY = {"background": "manual"}


def brief(changes):
    return [(change.seq, change.kind, change.key, change.value, change.keyspace) for change in changes]


def test_every_change_comes_once_and_in_commit_order(tmp_path):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db[b"a"] = b"1"
        db.keyspace("orders")
        with db.batch() as batch:
            batch.put(b"b", b"2")
            batch.delete(b"a")
            batch.put(b"7", b"x", keyspace="orders")

        assert brief(db.changes()) == [
            (1, "put", b"a", b"1", "default"),
            (2, "put", b"b", b"2", "default"),
            (3, "delete", b"a", None, "default"),
            (4, "put", b"7", b"x", "orders"),
        ]


def test_a_batch_keeps_its_boundaries_and_its_time(tmp_path):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db.update({b"a": b"1", b"b": b"2"})

        changes = list(db.changes())

    assert [(change.batch_first_seq, change.batch_count) for change in changes] == [(1, 2), (1, 2)]
    assert changes[0].time == changes[1].time > 0


def test_the_last_number_seen_is_where_to_go_on(tmp_path):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db.update({b"%d" % i: b"v" for i in range(10)})
        seen = list(db.changes(since=4))

        assert [change.seq for change in seen] == [5, 6, 7, 8, 9, 10]
        assert list(db.changes(since=seen[-1].seq)) == []


@pytest.mark.parametrize("since", [-1, 11])
def test_an_offset_the_log_does_not_have_is_refused(tmp_path, since):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db.update({b"%d" % i: b"v" for i in range(10)})

        with pytest.raises(lsm.OffsetOutOfRange) as refused:
            db.changes(since=since)

    assert (refused.value.requested, refused.value.earliest, refused.value.latest) == (since, 1, 10)


def test_what_was_let_go_is_refused_and_never_skipped(tmp_path):
    with lsm.open(tmp_path / "db", log_retention_bytes=0, **TINY) as db:
        db.update({b"%d" % i: b"v" for i in range(10)})
        db.flush()
        db[b"new"] = b"1"

        with pytest.raises(lsm.OffsetOutOfRange):
            db.changes(since=0)
        assert brief(db.changes(since=10)) == [(11, "put", b"new", b"1", "default")]


def test_changes_go_on_over_segments_that_are_sealed(tmp_path):
    with lsm.open(tmp_path / "db", memtable_bytes_max=1024, sealed_max=64, **TINY) as db:
        for number in range(100):
            db.put(b"%03d" % number, b"v" * 20, sync=False)

        assert db.stats().log_segments > 3
        assert [change.seq for change in db.changes()] == list(range(1, 101))


def test_a_record_larger_than_one_read_is_whole(tmp_path):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db[b"small"] = b"1"
        db[b"large"] = bytes(5_000_000)
        db[b"last"] = b"3"

        assert [(change.key, len(change.value)) for change in db.changes()] == [
            (b"small", 1),
            (b"large", 5_000_000),
            (b"last", 1),
        ]


def test_changes_of_a_dropped_keyspace_are_passed_over(tmp_path):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db.keyspace("gone")[b"a"] = b"1"
        db[b"b"] = b"2"
        db.drop_keyspace("gone")

        assert brief(db.changes()) == [(2, "put", b"b", b"2", "default")]


def test_following_waits_for_what_comes_and_ends_with_the_store(tmp_path):
    db = lsm.open(tmp_path / "db", **TINY)
    seen = []
    three = threading.Event()

    def take_all():
        for change in db.changes(follow=True):
            seen.append(change.key)
            if len(seen) == 3:
                three.set()

    def follow():
        with pytest.raises(lsm.ClosedError):
            take_all()

    thread = threading.Thread(target=follow)
    thread.start()
    for key in (b"a", b"b", b"c"):
        db[key] = b"v"
    assert three.wait(30)
    db.close()
    thread.join(30)

    assert seen == [b"a", b"b", b"c"]


def test_a_reader_beside_the_writer_sees_the_durable_changes(tmp_path):
    with lsm.open(tmp_path / "db", **TINY) as db:
        db[b"a"] = b"1"
        with lsm.open(tmp_path / "db", "r") as reader:
            db[b"b"] = b"2"
            assert [change.key for change in reader.changes()] == [b"a", b"b"]


def test_times_never_go_back_though_the_clock_does(tmp_path):
    clock = StepClock()
    fs = MemFS()
    with open_on(fs, "c", {"background": "manual", "log_retention": "all"}, clock=clock) as db:
        db[b"a"] = b"1"
        clock._now_ns -= 3_600_000_000_000
        db[b"b"] = b"2"
        db.update({b"c": b"3"})
        db.flush()
    with open_on(fs, "w", clock=clock) as db:
        db[b"d"] = b"4"
        times = [change.time for change in db.changes()]
        moment = datetime.fromtimestamp(times[0] / 1e6, UTC)

        assert times == sorted(times)
        assert [change.key for change in db.changes(moment)] == [b"a", b"b", b"c", b"d"]
