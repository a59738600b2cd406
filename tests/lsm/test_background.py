"""Lanes of the background: they miss nothing that changes, and what stops them is told by its name."""

import threading

import pytest

import lsm
from lsm import background as module
from lsm.history import JobHistory, JobRecord
from tests.lsm.stores import MANUAL, open_memory
from tests.support.faultfs import Fault, FaultFS, FaultRule, Operation
from tests.support.memfs import MemFS

WAIT_SECONDS = 60
THREAD = {"background": "thread"}
NO_TABLES = FaultRule(operation=Operation.CREATE, fault=Fault.ENOSPC, pattern="*.sst", sticky=True)


@pytest.fixture
def waits(monkeypatch):
    """A store without lanes, and a count of the times that one of them would have waited."""
    db = open_memory()
    counted = []

    def count(seconds):
        counted.append(seconds)
        db._background._stopping.set()

    monkeypatch.setattr(db._state.changed, "wait", count)
    return db, counted


def run_lane(db, step):
    db._background._lane_loop("lane", step, db._background._inline)


def test_a_lane_waits_when_nothing_has_changed(waits):
    db, counted = waits

    run_lane(db, lambda _: False)

    assert len(counted) == 1


@pytest.mark.parametrize("change", ["seal", "flush", "keyspace", "compact", "fail", "stop"])
def test_a_change_after_a_lane_has_looked_is_not_slept_through(waits, change):
    db, counted = waits
    db[b"a"] = b"1"
    db.flush()
    db[b"a"] = b"2"
    steps = []

    def look_and_miss_it(_):
        steps.append(len(counted))
        if len(steps) == 1:
            {
                "seal": db._committer.seal,
                "flush": db.flush,
                "keyspace": lambda: db.keyspace("another"),
                "compact": db.compact,
                "fail": lambda: db._state.fail(lsm.DiskFull("mem", "trying")),
                "stop": db._background.stop,
            }[change]()
        return False

    run_lane(db, look_and_miss_it)

    assert steps == ([0] if change == "stop" else [0, 0])
    assert counted == [] or change != "stop"


@pytest.mark.parametrize("wait", [lsm.DB.flush, lsm.DB.settle, lsm.DB.compact])
def test_who_waits_for_a_full_disk_is_told_so_and_can_go_on(wait, monkeypatch):
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.001)
    fs = FaultFS(MemFS())
    db = open_memory(fs, options=THREAD)
    db[b"k"] = b"v"
    fs.rule = NO_TABLES
    db._committer.seal()

    with pytest.raises(lsm.DiskFull):
        wait(db)

    fs.heal()
    while db._background.throttle.trouble is not None:
        db._background._stopping.wait(0.001)
    wait(db)
    assert db.stats().work.flushes == 1


def test_a_lane_with_nothing_to_do_does_not_hide_the_trouble_of_another(monkeypatch):
    monkeypatch.setattr(module, "_RETRY_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.001)
    fs = FaultFS(MemFS(), NO_TABLES)
    db = open_memory(fs, options=THREAD)
    throttle, looked = db._background.throttle, threading.Semaphore(0)
    next_compaction = db._background.jobs.next_compaction
    db[b"k"] = b"v"
    with pytest.raises(lsm.DiskFull):
        db.flush()

    def look():
        looked.release()
        return next_compaction()

    monkeypatch.setattr(db._background.jobs, "next_compaction", look)
    for _ in range(3):
        assert looked.acquire(timeout=WAIT_SECONDS)
    assert isinstance(throttle.trouble, lsm.DiskFull)


def test_a_store_is_not_settled_before_a_flush_has_come_to_its_end():
    db = open_memory()
    with db._background.jobs.flushing:
        assert not db.settle(timeout=0)
    assert db.settle(timeout=0)


@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_there_are_numbers_for_all_tables_that_compressed_ones_become(compression):
    # They are cut by their size before compression, into many more tables than their bytes on disk suggest.
    options = {**MANUAL, "memtable_bytes_max": 4096, "compression": compression, "sync": "os"}
    with open_memory(options=options) as db:
        pairs = {b"%04d" % number: b"a" * 1000 for number in range(400)}
        for key, value in sorted(pairs.items(), key=lambda pair: pair[0][::-1]):
            db[key] = value
        db.compact()

        assert len(db.tables()) > 16
        assert dict(db) == pairs


def test_there_are_numbers_for_a_batch_of_entries_smaller_than_what_an_index_adds():
    options = {**MANUAL, "memtable_bytes_max": 1000, "bloom_bits_per_key": 64.0}
    with open_memory(options=options) as db:
        with db.batch() as batch:
            for number in range(20_000):
                batch.put(number.to_bytes(2, "big"), b"")
        db.flush()

        assert len(db) == 20_000


def test_jobs_are_numbered_in_the_order_in_which_they_are_remembered():
    history = JobHistory()
    record = JobRecord(
        kind="flush",
        started=0.0,
        seconds=1.0,
        keyspace=None,
        from_level=None,
        to_level=0,
        read_bytes=1,
        written_bytes=1,
        entries_in=1,
        entries_out=1,
    )

    def remember():
        for _ in range(200):
            history.add(record)

    threads = [threading.Thread(target=remember) for _ in range(4)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    while len(seen) < 800:
        seen += [found.number for found in history.since(seen[-1] if seen else 0)]
    for thread in threads:
        thread.join()

    assert seen == list(range(1, 801))
