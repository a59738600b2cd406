"""Consumers in the process that writes: where they begin, how they go on, what is kept, what is refused."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

import lsm
from lsm.opening import open_on
from tests.lsm.hookfs import HookFS
from tests.lsm.stores import MANUAL, TINY, ManualClock, open_memory
from tests.support.memfs import MemFS

# Every flush lets go of all log that nobody has pinned.
NO_LOG = {**TINY, "log_retention_bytes": 0}


@pytest.fixture
def db():
    return open_memory()


def fill(db, count, first=0):
    for number in range(first, first + count):
        db.put(b"%06d" % number, b"v%d" % number)


def keys(changes):
    return [int(change.key) for change in changes]


# Reading and committing


def test_a_consumer_gets_every_change_once_and_in_order(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        assert keys(consumer.poll(4)) == [0, 1, 2, 3]
        assert keys(consumer.poll(4)) == [4, 5, 6, 7]
        fill(db, 3, first=10)
        assert keys(consumer.poll(4)) == [8, 9, 10, 11]
        assert keys(consumer.poll(4)) == [12]
        assert consumer.poll() == []


def test_changes_are_those_of_the_store(db):
    db.keyspace("other")
    with db.batch() as batch:
        batch.put(b"a", b"1")
        batch.delete(b"b")
        batch.put(b"c", b"3", keyspace="other")
    with db.consumer("c") as consumer:
        assert consumer.poll() == list(db.changes())
        assert [change.keyspace for change in db.changes()] == ["default", "default", "other"]


def test_what_was_not_committed_comes_again(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll(4)
        consumer.commit()
        consumer.poll(4)
    with db.consumer("c") as consumer:
        assert (consumer.position, consumer.committed) == (4, 4)
        assert keys(consumer.poll()) == [4, 5, 6, 7, 8, 9]


def test_a_part_of_what_was_polled_can_be_committed(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit(3)
        assert consumer.committed == 3
        assert consumer.poll() == []  # what was handed out is not handed out again
        consumer.commit(7)
        assert consumer.committed == 7


def test_a_position_survives_closing_and_opening_the_store():
    fs = MemFS()
    with open_memory(fs) as db:
        fill(db, 10)
        with db.consumer("c", pin=False, max_lag_bytes="1KiB") as consumer:
            consumer.poll(6)
            consumer.commit()
    with open_memory(fs) as db:
        (info,) = db.consumers()
        assert (info.position, info.is_pinned, info.max_lag_bytes) == (6, False, 1024)
        with db.consumer("c", start="latest") as consumer:
            assert keys(consumer.poll()) == [6, 7, 8, 9]


def test_two_consumers_go_at_their_own_pace(db):
    fill(db, 10)
    with db.consumer("fast") as fast, db.consumer("slow") as slow:
        fast.poll()
        fast.commit()
        slow.poll(2)
        slow.commit()
        assert (fast.committed >= 10, slow.committed) == (True, 2)
        fill(db, 2, first=10)
        assert keys(fast.poll()) == [10, 11]
        assert keys(slow.poll()) == list(range(2, 12))


def test_lag_goes_to_nothing_when_there_is_nothing_to_do(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        assert consumer.lag >= 10
        for _ in range(3):
            consumer.poll()
            consumer.commit()
        consumer.poll()
        assert consumer.lag == 0
    assert [info.lag for info in db.consumers()] == [0]


def test_polling_and_committing_in_a_loop_comes_to_rest(db):
    fill(db, 10)
    with db.consumer("one") as one, db.consumer("two") as two:
        for consumer in (one, two) * 5:
            consumer.poll()
            consumer.commit()
        seq = db.seq
        for consumer in (one, two) * 5:
            consumer.poll()
            consumer.commit()
    assert db.seq == seq


def test_books_of_other_consumers_do_not_hold_the_log_for_ever():
    db = open_memory(options=NO_LOG)
    with db.consumer("idle") as idle, db.consumer("busy") as busy:
        for _ in range(100):
            db.put(b"000001", b"v")
            busy.poll()
            busy.commit()
            idle.poll()
            idle.commit()
            while db.step():
                pass
        assert len(db.log.segments) <= 2


def test_a_poll_waits_for_a_change(tmp_path):
    with lsm.open(tmp_path / "db", background="thread") as db, db.consumer("c") as consumer:
        timer = threading.Timer(0.05, db.put, (b"000007", b"v"))
        timer.start()
        assert keys(consumer.poll(timeout=30)) == [7]
        timer.join()
        assert consumer.poll(timeout=0.01) == []


def test_a_poll_that_waits_ends_when_the_store_is_closed(tmp_path):
    db = lsm.open(tmp_path / "db", background="thread")
    consumer = db.consumer("c")
    timer = threading.Timer(0.05, db.close)
    timer.start()
    with pytest.raises(lsm.ClosedError):
        consumer.poll(timeout=None)
    timer.join()


def test_nothing_is_shown_before_it_is_durable(tmp_path):
    with lsm.open(tmp_path / "db", sync="os", **MANUAL) as db, db.consumer("c") as consumer:
        fill(db, 3)
        assert keys(consumer.poll()) == [0, 1, 2]
        segment = db._committer.segment
        assert segment.synced_upto == segment.file.size


# Where to begin


def test_start(db):
    fill(db, 10)
    for start, first in (("earliest", [0]), ("latest", []), (0, [0]), (7, [7]), (10, [])):
        with db.consumer(f"from {start}", start=start) as consumer:
            assert keys(consumer.poll(1)) == first


def test_start_at_a_moment():
    clock = ManualClock()
    db = open_memory(clock=clock)
    for number in range(5):
        clock.us = 1_700_000_000_000_000 + number * 1_000_000
        fill(db, 1, first=number)
    moment = datetime.fromtimestamp(1_700_000_003, UTC)
    with db.consumer("c", start=moment) as consumer:
        assert keys(consumer.poll()) == [3, 4]
        consumer.seek(moment - timedelta(seconds=1.5))
        assert keys(consumer.poll()) == [2, 3, 4]
        consumer.seek(moment + timedelta(days=1))
        assert keys(consumer.poll()) == []


def test_seek_is_durable_at_once(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit()
        consumer.seek(4)
        assert (consumer.position, consumer.committed) == (4, 4)
        assert keys(consumer.poll(2)) == [4, 5]
        consumer.seek("latest")
        assert consumer.poll() == []
        consumer.seek("earliest")
    with db.consumer("c") as consumer:
        assert keys(consumer.poll()) == list(range(10))


@pytest.mark.parametrize("where", [-1, 999, 14])
def test_an_offset_that_the_log_does_not_have_is_refused(db, where):
    fill(db, 10)
    with db.consumer("c") as consumer:
        with pytest.raises(lsm.OffsetOutOfRange) as refused:
            consumer.seek(where)
        assert refused.value.requested == where
        assert consumer.committed == 0
    with pytest.raises(lsm.OffsetOutOfRange):
        db.consumer("new", start=where)
    assert [info.name for info in db.consumers()] == ["c"]
    assert not [name for name in db._state.fs.list() if b"new".hex() in name]


def test_an_offset_in_the_past_is_refused():
    db = open_memory(options=NO_LOG)
    fill(db, 30)
    db.flush()
    while db.step():
        pass
    assert db.log.earliest > 5
    with db.consumer("c") as consumer:
        assert consumer.position == db.log.earliest - 1 or db.log.earliest > db.log.latest
        with pytest.raises(lsm.OffsetOutOfRange):
            consumer.seek(3)
    with pytest.raises(lsm.OffsetOutOfRange):
        db.consumer("new", start=3)


@pytest.mark.parametrize("where", [True, 1.5, "soon", None, datetime(2024, 1, 1)])
def test_what_is_no_place_is_refused(db, where):
    with db.consumer("c") as consumer, pytest.raises(lsm.InvalidArgument):
        consumer.seek(where)


# Committing what makes no sense


def test_a_commit_does_not_go_back(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit(7)
        with pytest.raises(lsm.InvalidArgument, match=r"seek\(3\)"):
            consumer.commit(3)
        assert consumer.committed == 7
        consumer.commit(7)


def test_a_commit_of_the_future_is_refused(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        with pytest.raises(lsm.InvalidArgument, match="future"):
            consumer.commit(10**6)
        assert consumer.committed == 0


def test_a_commit_of_what_was_not_polled_skips_it(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll(2)
        consumer.commit(6)
        assert keys(consumer.poll()) == [6, 7, 8, 9]


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_changes": 0},
        {"max_changes": True},
        {"max_changes": 1.0},
        {"timeout": -1},
        {"timeout": "1"},
        {"timeout": float("nan")},
    ],
)
def test_polling_for_nonsense_is_refused(db, arguments):
    with db.consumer("c") as consumer, pytest.raises(lsm.InvalidArgument):
        consumer.poll(**arguments)


@pytest.mark.parametrize("name", ["", "x" * 65, "ö" * 33, "view:orders", "\ud800", b"bytes", 7, None])
def test_names_that_cannot_be(db, name):
    for use in (db.consumer, db.drop_consumer):
        with pytest.raises(lsm.InvalidArgument):
            use(name)


@pytest.mark.parametrize("name", ["x" * 64, "ö" * 32, "../../etc", "a/b", " ", "\n\0\x1b[31m", "💡", "."])
def test_names_with_odd_characters(tmp_path, name):
    with lsm.open(tmp_path / "db", **MANUAL) as db:
        fill(db, 3)
        with db.consumer(name) as consumer:
            consumer.poll(2)
            consumer.commit()
    with lsm.open(tmp_path / "db", "r") as db:
        with db.consumer(name) as consumer:
            assert keys(consumer.poll()) == [2]
            consumer.commit()
        assert [(info.name, info.where) for info in db.consumers()] == [(name, "file")]
        db.drop_consumer(name)
        assert db.consumers() == []


@pytest.mark.parametrize(
    "settings", [{"pin": 1}, {"max_lag_bytes": -1}, {"max_lag_bytes": "a lot"}, {"max_lag_bytes": True}]
)
def test_settings_that_cannot_be(db, settings):
    with pytest.raises(lsm.InvalidArgument):
        db.consumer("c", **settings)
    assert db.consumers() == []


def test_settings_given_later_replace_those_kept(db):
    db.consumer("c").close()
    db.consumer("c", pin=False, max_lag_bytes=77).close()
    (info,) = db.consumers()
    assert (info.is_pinned, info.max_lag_bytes) == (False, 77)


# Batches: exactly once


def test_a_position_can_be_part_of_a_batch(db):
    fill(db, 10)
    db.keyspace("output")
    with db.consumer("c") as consumer:
        changes = consumer.poll(4)
        with db.batch() as batch:
            for change in changes:
                batch.put(change.key, b"seen", keyspace="output")
            consumer.commit(batch=batch)
            assert consumer.committed == 0
        assert consumer.committed == 4
    assert len(db.keyspace("output")) == 4


def test_a_batch_that_is_discarded_takes_the_position_with_it(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll(4)
        with suppress(ZeroDivisionError), db.batch() as batch:
            batch.put(b"out", b"1")
            consumer.commit(batch=batch)
            raise ZeroDivisionError
        assert consumer.committed == 0
        assert b"out" not in db
        consumer.commit()
        assert consumer.committed == 4


def test_nothing_is_committed_beside_a_batch_that_is_still_open(db):
    fill(db, 10)
    with db.consumer("c") as consumer:
        consumer.poll(4)
        batch = db.batch()
        consumer.commit(2, batch=batch)
        consumer.commit(3, batch=batch)  # the same batch again is the later position
        for use in (consumer.commit, lambda: consumer.seek(0), lambda: consumer.commit(batch=db.batch())):
            with pytest.raises(lsm.InvalidArgument, match="joined a batch"):
                use()
        batch.commit()
        assert consumer.committed == 3
        consumer.commit()


def test_a_batch_of_another_store_is_refused(db):
    fill(db, 3)
    other = open_memory()
    with db.consumer("c") as consumer:
        consumer.poll()
        with pytest.raises(lsm.InvalidArgument, match="another store"), other.batch() as batch:
            consumer.commit(batch=batch)
        consumer.commit()


# Who may use it


def test_a_consumer_is_used_by_one_at_a_time(db):
    with db.consumer("c"), pytest.raises(lsm.ConsumerBusy, match=r"'c' is in use by pid \d+"):
        db.consumer("c")
    db.consumer("c").close()


def test_a_consumer_in_use_is_not_dropped_by_hand(db):
    with db.consumer("c"):
        with pytest.raises(lsm.ConsumerBusy):
            db.drop_consumer("c")
        assert len(db.consumers()) == 1


def test_after_close_nothing_works(db):
    consumer = db.consumer("c")
    consumer.close()
    consumer.close()
    for use in (consumer.poll, consumer.commit, lambda: consumer.seek(0), lambda: consumer.lag):
        with pytest.raises(lsm.ClosedError):
            use()


def test_closing_the_store_frees_its_consumers(tmp_path):
    db = lsm.open(tmp_path / "db", **MANUAL)
    consumer = db.consumer("c")
    db.close()
    with pytest.raises(lsm.ClosedError):
        consumer.poll()
    with lsm.open(tmp_path / "db", **MANUAL) as again:
        again.consumer("c").close()


def test_a_forgotten_consumer_is_freed_and_said_so(db):
    forgotten = [db.consumer("c")]
    with pytest.warns(ResourceWarning, match="'c'"):
        forgotten.clear()
    db.consumer("c").close()


# Removing


def test_an_unknown_consumer(db):
    with pytest.raises(lsm.ConsumerNotFound, match="'nobody'"):
        db.drop_consumer("nobody")
    with pytest.raises(lsm.ConsumerNotFound, match="'nobody'"):
        db.consumer("nobody", start=None)
    assert not [name for name in db._state.fs.list() if name.startswith("consumer-")]


def test_a_dropped_name_is_free_again(db):
    fill(db, 5)
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit()
    db.drop_consumer("c")
    assert db.consumers() == []
    assert not [name for name in db._state.fs.list() if name.startswith("consumer-")]
    with db.consumer("c") as consumer:
        assert keys(consumer.poll()) == [0, 1, 2, 3, 4]


def test_the_keyspace_of_consumers_is_hidden(db):
    with db.consumer("c") as consumer:
        fill(db, 1)
        consumer.poll()
        consumer.commit()
    assert db.keyspaces() == ["default"]
    assert [change.key for change in db.changes()] == [b"000000"]
    with pytest.raises(lsm.InvalidArgument):
        db.keyspace("lsm:consumers")
    with pytest.raises(lsm.InvalidArgument), db.batch() as batch:
        batch.put(b"c", b"{}", keyspace="lsm:consumers")


# Retention


def settle(db):
    db.flush()
    while db.step():
        pass


def test_a_pinned_consumer_holds_the_log():
    db = open_memory(options=NO_LOG)
    with db.consumer("c") as consumer:
        fill(db, 60)
        settle(db)
        assert db.log.earliest == 1
        assert keys(consumer.poll(40)) == list(range(40))
        consumer.commit()
        settle(db)
        assert 1 < db.log.earliest <= 41
        assert keys(consumer.poll()) == list(range(40, 60))


def test_an_unpinned_consumer_holds_nothing_and_is_told():
    db = open_memory(options=NO_LOG)
    with db.consumer("c", pin=False) as consumer:
        fill(db, 60)
        settle(db)
        assert db.log.earliest > 1
        with pytest.raises(lsm.OffsetOutOfRange) as told:
            consumer.poll()
        assert (told.value.requested, told.value.earliest) == (0, db.log.earliest)
        consumer.seek("earliest")
        consumer.poll()


def test_a_consumer_beyond_its_cap_is_dropped_and_told():
    fs = MemFS()
    db = open_memory(fs, options=NO_LOG)
    with db.consumer("c", max_lag_bytes=1500) as consumer, db.consumer("patient") as patient:
        consumer.poll()
        fill(db, 60)
        settle(db)
        assert db.log.earliest == 1  # the other one holds it
        for use in (consumer.poll, consumer.commit, lambda: consumer.commit(batch=db.batch())):
            with pytest.raises(lsm.ConsumerDropped) as told:
                use()
        assert (told.value.name, told.value.position, told.value.earliest) == ("c", 0, 1)
        patient.poll()
        patient.commit()
        settle(db)
        assert db.log.earliest > 1
        infos = {info.name: info for info in db.consumers()}
        assert infos["c"].is_dropped
        assert not infos["c"].is_pinned
        assert not infos["patient"].is_dropped
    db.close()
    db = open_memory(fs, options=NO_LOG)
    with db.consumer("c", max_lag_bytes=1500) as consumer:
        with pytest.raises(lsm.ConsumerDropped):
            consumer.poll()
        consumer.seek("earliest")
        consumer.poll()
        consumer.commit()
        fill(db, 2, first=100)
        assert keys(consumer.poll()) == [100, 101]
    assert not [info for info in db.consumers() if info.is_dropped]


def test_a_consumer_within_its_cap_is_not_dropped():
    db = open_memory(options=NO_LOG)
    with db.consumer("c", max_lag_bytes="1MiB") as consumer:
        fill(db, 60)
        settle(db)
        assert keys(consumer.poll()) == list(range(60))


def test_a_commit_that_crosses_a_drop_takes_the_consumer_up_again():
    db = open_memory(options=NO_LOG)
    with db.consumer("c", max_lag_bytes=1500) as consumer:
        fill(db, 10)
        consumer.poll()
        batch = db.batch()
        consumer.commit(batch=batch)
        fill(db, 60, first=10)
        settle(db)
        with pytest.raises(lsm.ConsumerDropped):
            consumer.poll()
        batch.commit()
        (info,) = db.consumers()
        assert not info.is_dropped
        assert info.position == 11  # its registration is a write, too
        # But what comes next is gone, and is never skipped in silence.
        with pytest.raises(lsm.ConsumerDropped):
            consumer.poll()


def test_dropping_works_while_a_writer_waits_for_room():
    """Without a background the writer itself flushes, in the middle of its write, and so drops."""
    db = open_memory(options={**NO_LOG, "sealed_max": 1})
    with db.consumer("c", max_lag_bytes=1500) as consumer:
        consumer.poll()
        fill(db, 200)
        with pytest.raises(lsm.ConsumerDropped):
            consumer.poll()


# Damage and foreign logs


def test_what_comes_before_damage_is_read_and_the_damage_is_named():
    fs = MemFS()
    db = open_memory(fs, options={**TINY, "log_retention": "all"})
    fill(db, 60)
    settle(db)
    middle = db.log.segments[2]
    with db.consumer("c") as consumer:
        inode = fs.disk.inodes[fs._names[f"{middle.number:06d}.log"]]
        inode.data[100] ^= 1
        inode.frozen = None
        read = keys(consumer.poll())
        assert read == list(range(middle.first_seq - 1))[: len(read)]
        with pytest.raises(lsm.LogCorrupt, match=f"{middle.number:06d}.log"):
            consumer.poll()
        consumer.commit()
        consumer.seek(middle.last_seq)
        assert consumer.poll()


def test_a_position_in_the_future_is_of_another_log():
    """As after a restore: the file of an outside consumer is newer than the store."""
    fs = MemFS()
    with open_memory(fs) as db:
        fill(db, 10)
    before = fs.image()
    with open_memory(fs) as db:
        fill(db, 10, first=10)
        with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
            consumer.poll()
            consumer.commit()
    position = [name for name in fs.list() if name.endswith(".json")]
    restored = MemFS.from_image({**before, **{name: fs.image()[name] for name in position}})
    with open_memory(restored) as db, db.consumer("c") as consumer:
        for use in (consumer.poll, consumer.commit):
            with pytest.raises(lsm.ForeignLog, match="the log ends at 1"):
                use()
        consumer.seek("earliest")
        assert keys(consumer.poll()) == list(range(10))


def test_a_failing_disk_loses_no_position():
    fs = HookFS(MemFS())
    db = open_on(fs, "c", MANUAL)
    try:
        fill(db, 10)
        with db.consumer("c") as consumer:
            consumer.poll(4)
            consumer.commit()
            consumer.poll(4)

            def hook(operation, name, cause):
                if operation == "sync" and name.endswith(".log"):
                    raise OSError(5, "no luck")

            fs.hook = hook
            with pytest.raises(lsm.CommitUncertain):
                consumer.commit()
            fs.hook = None
            assert consumer.committed == 4
    finally:
        db.close()
    with open_memory(fs.inner) as again, again.consumer("c") as consumer:
        assert consumer.committed in (4, 8)
