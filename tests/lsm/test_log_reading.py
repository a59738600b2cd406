"""Reading the log: where to begin and to end, waiting, selecting, and never before it is durable."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

import lsm
from lsm.clock import SystemClock
from lsm.opening import open_on
from tests.lsm.hookfs import HookFS, fail_once
from tests.lsm.stores import MANUAL, ManualClock, counting_entropy, open_memory
from tests.support.crash import crash_states
from tests.support.memfs import MemFS

SECOND = 1_000_000


def seqs(changes):
    return [change.seq for change in changes]


def keys(changes):
    return [change.key for change in changes]


@pytest.fixture
def ten():
    """Return a store of ten changes in three segments, a second apart, of which two are tables."""
    clock = ManualClock()
    db = open_memory(clock=clock)
    for number in range(1, 11):
        db.put(b"%02d" % number, b"v")
        clock.us += SECOND
        if number in (3, 6):
            db.flush()
    db.start_us = clock.us - 10 * SECOND
    return db


def at(db, seconds):
    """Return the moment so many seconds after the first change."""
    return datetime.fromtimestamp((db.start_us + int(seconds * SECOND)) / SECOND, UTC)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (0, None, range(1, 11)),
        ("earliest", None, range(1, 11)),
        ("latest", None, []),
        (3, None, range(4, 11)),
        (4, 7, [5, 6, 7]),
        (0, 1, [1]),
        (9, 100, [10]),
        (10, None, []),
        (7, 3, []),
        ("earliest", 2, [1, 2]),
        ("latest", 4, []),
        (0, 0, []),
    ],
)
def test_from_where_to_where(ten, since, until, expected):
    assert seqs(ten.changes(since, until)) == list(expected)
    assert [seq for part in ten.change_columns(since, until) for seq in part.columns.seqs] == list(expected)


@pytest.mark.parametrize(
    ("seconds", "first"),
    [(-5, 1), (0, 1), (0.5, 2), (1, 2), (2, 3), (2.5, 4), (5.5, 7), (8, 9), (9, 10), (9.5, None)],
)
def test_from_a_moment_on(ten, seconds, first):
    assert seqs(ten.changes(at(ten, seconds))) == list(range(first, 11) if first else [])


def test_a_moment_in_another_time_zone_is_the_same_moment(ten):
    moment = at(ten, 4).astimezone(timezone(timedelta(hours=5, minutes=30)))

    assert seqs(ten.changes(moment)) == [5, 6, 7, 8, 9, 10]


def test_a_clock_that_goes_back_misses_nothing_of_the_time_that_is_asked_for():
    clock = ManualClock()
    db = open_memory(clock=clock)
    start = clock.us
    for seconds in (0, 10, 20, -30, -20, 40):  # the clock is set back in the middle
        clock.us = start + seconds * SECOND
        db.put(b"%d" % seconds, b"v")
        db.flush()

    def since(seconds):
        return keys(db.changes(datetime.fromtimestamp(start / SECOND + seconds, UTC)))

    assert since(-100) == [b"0", b"10", b"20", b"-30", b"-20", b"40"]
    assert since(10) == [b"10", b"20", b"-30", b"-20", b"40"]
    assert since(15) == [b"20", b"-30", b"-20", b"40"]
    assert since(30) == [b"40"]
    assert since(41) == []


@pytest.mark.parametrize(
    ("since", "error"),
    [
        ("first", lsm.InvalidType),
        (None, lsm.InvalidType),
        (1.5, lsm.InvalidType),
        (True, lsm.InvalidType),
        (b"1", lsm.InvalidType),
        (datetime(2024, 1, 1), lsm.InvalidArgument),  # without a time zone
        (-1, lsm.OffsetOutOfRange),
        (11, lsm.OffsetOutOfRange),
    ],
)
def test_what_is_no_place_in_the_log_is_refused_at_once(ten, since, error):
    with pytest.raises(error):
        ten.changes(since)
    with pytest.raises(error):
        ten.changes(since, follow=True)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"timeout": 1}, lsm.InvalidArgument),
        ({"follow": True, "timeout": "1"}, lsm.InvalidType),
        ({"follow": True, "timeout": -1}, lsm.InvalidArgument),
        ({"follow": True, "timeout": float("nan")}, lsm.InvalidArgument),
        ({"until": -1}, lsm.InvalidArgument),
        ({"until": "latest"}, lsm.InvalidType),
        ({"before": True, "compacted": True}, lsm.InvalidArgument),
        ({"tombstone_seconds": 5}, lsm.InvalidArgument),
        ({"compacted": True, "tombstone_seconds": "x"}, lsm.InvalidType),
        ({"keyspace": "nothing"}, lsm.KeyspaceNotFound),
        ({"keyspace": "lsm:consumers"}, lsm.KeyspaceNotFound),
        ({"log_id": "another"}, lsm.ForeignLog),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(ten, how, error):
    ten.consumer("a").close()  # so that its books are there
    with pytest.raises(error):
        ten.changes(**how)


def test_a_position_of_this_log_is_taken(ten):
    assert seqs(ten.changes(8, log_id=ten.log.id)) == [9, 10]


def test_the_middle_of_a_batch_is_a_place_to_go_on():
    db = open_memory()
    db.put(b"a", b"1")
    db.update({b"%d" % number: b"v" for number in range(5)})
    db.put(b"z", b"2")

    found = list(db.changes(3, until=5))

    assert seqs(found) == [4, 5]
    assert {(change.batch_first_seq, change.batch_count) for change in found} == {(2, 5)}


def test_one_keyspace_is_selected_and_the_stores_own_are_never_shown():
    db = open_memory()
    orders = db.keyspace("orders")
    with db.batch() as batch:
        batch.put(b"a", b"1")
        batch.put(b"o", b"2", keyspace="orders")
    with db.consumer("reader") as consumer:
        consumer.poll()
        consumer.commit()
    db._system_keyspace("lsm:books").put(b"secret", b"x")
    orders.delete(b"o")

    assert [(change.keyspace, change.key) for change in db.changes()] == [
        ("default", b"a"),
        ("orders", b"o"),
        ("orders", b"o"),
    ]
    assert keys(db.changes(keyspace="orders")) == [b"o", b"o"]
    assert keys(db.changes(keyspace="default")) == [b"a"]


def test_a_keyspace_made_after_the_reader_was_opened_is_not_passed_over():
    fs = MemFS()
    db = open_memory(fs)
    db.put(b"a", b"1")
    reader = open_on(MemFS(disk=fs.disk), "r")
    try:
        follower = reader.changes(follow=True, timeout=5)
        assert next(follower).key == b"a"
        db.keyspace("new").put(b"b", b"2")
        assert next(follower)[3:6] == (b"b", b"2", "new")
        db.keyspace("newer").put(b"c", b"3")
        assert keys(reader.changes(keyspace="newer", follow=True, timeout=0)) == [b"c"]
    finally:
        reader.close()


def test_a_keyspace_that_is_made_again_is_another_one():
    db = open_memory()
    db.keyspace("k").put(b"old", b"1")
    db.drop_keyspace("k")
    db.keyspace("k").put(b"new", b"2")

    assert keys(db.changes()) == [b"new"]


def test_reading_ends_with_what_was_there_at_the_call():
    db = open_memory()
    db.put(b"a", b"1")
    changes = db.changes()
    db.put(b"b", b"2")

    assert keys(changes) == [b"a"]


# Following


def test_following_ends_after_so_long_without_a_change():
    db = open_on(MemFS(), "c", MANUAL, clock=SystemClock())
    try:
        db.put(b"a", b"1")
        assert keys(db.changes(follow=True, timeout=0)) == [b"a"]
        assert keys(db.changes(follow=True, timeout=0.1)) == [b"a"]
    finally:
        db.close()


def test_following_ends_at_the_number_that_was_asked_for():
    db = open_memory()
    db.update({b"a": b"1", b"b": b"2", b"c": b"3"})

    assert seqs(db.changes(follow=True, until=2)) == [1, 2]


def test_hidden_writes_do_not_keep_a_follower_waiting():
    db = open_on(MemFS(), "c", MANUAL, clock=SystemClock())
    stop = threading.Event()

    def keep_books():
        while not stop.wait(0.02):
            db._system_keyspace("lsm:books").put(b"n", b"x")

    thread = threading.Thread(target=keep_books)
    thread.start()
    try:
        assert list(db.changes(follow=True, timeout=0.3)) == []
    finally:
        stop.set()
        thread.join()
        db.close()


def test_following_goes_over_rotations_while_it_waits(tmp_path):
    with lsm.open(tmp_path / "db", memtable_bytes_max=2000, background="thread", log_retention="all") as db:
        found = []

        def follow(reader):
            found.append(seqs(reader.changes(follow=True, until=300)))

        with lsm.open(tmp_path / "db", "r") as beside:
            threads = [threading.Thread(target=follow, args=(reader,)) for reader in (db, db, beside)]
            for thread in threads:
                thread.start()
            for number in range(300):
                db.put(b"%d" % number, b"v" * 50, sync=number % 3 == 0)
            for thread in threads:
                thread.join(30)

        assert found == [list(range(1, 301))] * 3


# Durability


def lost_all_unsynced(fs):
    """Return the store as a power cut right now leaves it at worst."""
    fs.log.mark("now", len(fs.log.ops))
    now = len(fs.log.ops)
    worst = min(
        (state.image for state in crash_states(fs.log) if state.cut == now),
        key=lambda image: sum(len(data.rstrip(b"\0")) for data in image.values()),
    )
    return open_on(MemFS.from_image(worst), "w", MANUAL, clock=ManualClock(), entropy=counting_entropy())


@pytest.mark.parametrize("is_beside", [False, True], ids=["writer", "reader beside"])
def test_what_was_shown_survives_a_crash(is_beside):
    fs = MemFS()
    db = open_on(fs, "c", MANUAL, clock=SystemClock())
    reader = open_on(MemFS(disk=fs.disk), "r") if is_beside else db
    changes = reader.changes(follow=True)
    try:
        for number in range(6):
            key = b"%d" % number
            db.put(key, b"v\0\0", sync=number == 0)
            assert next(changes).key == key

            survivor = lost_all_unsynced(fs)
            assert keys(survivor.changes()) == [b"%d" % before for before in range(number + 1)]
            survivor.close()
    finally:
        changes.close()
        reader.close()
        db.close()


def test_a_read_that_does_not_wait_makes_durable_what_it_shows():
    fs = MemFS()
    db = open_memory(fs)
    for number in range(5):
        db.put(b"%d" % number, b"v", sync=False)

    assert len(list(db.changes())) == 5

    survivor = lost_all_unsynced(fs)
    assert len(list(survivor.changes())) == 5
    survivor.close()


def test_a_write_that_was_interrupted_and_shown_is_not_taken_back():
    """Its record may be whole in the log, and a reader beside the writer makes durable what it finds."""
    disk = MemFS()
    fs = HookFS(disk)
    db = open_memory(fs)
    db.put(b"a", b"1")
    fs.hook = fail_once("sync", "*.log", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        db.put(b"b", b"2")
    with open_on(MemFS(disk=disk.disk), "r", clock=ManualClock()) as reader:
        shown = [(change.seq, change.key) for change in reader.changes()]
        db.put(b"c", b"3")  # in a new segment

        assert [(change.seq, change.key) for change in db.changes()][: len(shown)] == shown
        assert [(change.seq, change.key) for change in reader.changes(len(shown))] == [(3, b"c")]


# What there is


def test_the_log_tells_its_range_and_its_segments(ten):
    log = ten.log

    assert (log.earliest, log.latest, log.epoch) == (1, 10, 1)
    assert log.id == f"{log.store_id}-1" and len(log.store_id) == 32
    assert [(one.first_seq, one.last_seq, one.is_closed, one.is_flushed) for one in log.segments] == [
        (1, 3, True, True),
        (4, 6, True, True),
        (7, None, False, False),
    ]
    first, second, live = log.segments
    assert first.first_time == at(ten, 0) and second.first_time == at(ten, 3) == first.last_time
    assert live.first_time == at(ten, 6) and live.last_time is None
    assert log.size_bytes == sum(one.size_bytes for one in log.segments)
    assert 0 < live.size_bytes < 1000  # of records, not of the space that is reserved


def test_an_empty_log_has_a_range_too():
    log = open_memory().log

    assert (log.earliest, log.latest) == (1, 0)
    assert log.segments[0].first_time is None


def test_a_reader_and_a_closed_store_tell_the_same():
    fs = MemFS()
    db = open_memory(fs)
    db.put(b"a", b"1")
    db.flush()
    db.put(b"b", b"2", sync=False)
    reader = open_on(MemFS(disk=fs.disk), "r", clock=ManualClock())
    assert reader.log == db.log
    reader.close()
    db.close()

    after = open_on(MemFS(disk=fs.disk), "r", clock=ManualClock())
    assert (after.log.earliest, after.log.latest) == (1, 2)
    assert keys(after.changes()) == [b"a", b"b"]
    assert all(segment.is_closed for segment in after.log.segments)
    after.close()
