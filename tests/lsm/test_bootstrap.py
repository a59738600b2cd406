"""Snapshot, then stream: no gap and no duplicate, however busy the writers are."""

import threading

import pytest

import lsm
from lsm.opening import open_on
from tests.lsm.stores import MANUAL, ManualClock, open_memory
from tests.support.memfs import MemFS


def test_the_scan_and_the_changes_after_it_make_the_whole():
    db = open_memory()
    orders = db.keyspace("orders")
    db.update({b"a": b"1", b"b": b"2"})
    orders.put(b"o", b"1")
    with db.bootstrap() as moment:
        db.delete(b"a")
        orders.put(b"o", b"2")
        db.flush()

        assert moment.seq == 3
        assert moment.keyspaces == ["default", "orders"]
        assert list(moment.scan()) == [(b"a", b"1"), (b"b", b"2")]
        assert list(moment.scan(prefix=b"b")) == [(b"b", b"2")]
        assert list(moment.scan("orders")) == [(b"o", b"1")]
        assert [(change.seq, change.key, change.value) for change in moment.changes()] == [
            (4, b"a", None),
            (5, b"o", b"2"),
        ]


def test_the_moment_is_durable_before_it_is_shown():
    fs = MemFS()
    db = open_memory(fs)
    db.put(b"a", b"1", sync=False)
    before = fs.counters.snapshot()

    with db.bootstrap():
        pass

    assert sum((fs.counters.snapshot() - before).syncs.values()) == 1


def test_it_can_be_closed_twice_and_not_be_used_after_the_store_was_closed():
    db = open_memory()
    moment = db.bootstrap()
    moment.close()
    moment.close()
    left = db.bootstrap()
    db.close()
    left.close()
    with pytest.raises(lsm.ClosedError):
        db.bootstrap()


def test_a_reader_beside_bootstraps_too():
    fs = MemFS()
    db = open_memory(fs)
    db.put(b"a", b"1")
    reader = open_on(MemFS(disk=fs.disk), "r", clock=ManualClock())
    try:
        db.put(b"b", b"2")
        with reader.bootstrap() as moment:
            db.put(b"c", b"3")
            assert (moment.seq, [key for key, _ in moment.scan()]) == (2, [b"a", b"b"])
            assert [change.key for change in moment.changes()] == [b"c"]
    finally:
        reader.close()


@pytest.mark.parametrize("is_beside", [False, True], ids=["writer", "reader beside"])
def test_beside_busy_writers_there_is_no_gap_and_no_duplicate(tmp_path, is_beside):
    """Writers count up; what a bootstrap and its stream give must be an unbroken count for each."""
    options = {"memtable_bytes_max": 4000, "background": "thread", "log_retention": "all", "sync": "os"}
    with lsm.open(tmp_path / "db", **options) as db:
        stop = threading.Event()

        def count(name):
            number = 0
            while not stop.is_set():
                db.put(name, b"%d" % number, sync=number % 50 == 0)
                number += 1
                stop.wait(0.0005)

        writers = [threading.Thread(target=count, args=(b"%d" % number,)) for number in range(3)]
        for writer in writers:
            writer.start()
        reader = lsm.open(tmp_path / "db", "r") if is_beside else db
        try:
            for _ in range(5):
                with reader.bootstrap() as moment:
                    last = {key: int(value) for key, value in moment.scan()}
                    seqs = []
                    for change in moment.changes(follow=True):
                        assert int(change.value) == last.get(change.key, -1) + 1
                        last[change.key] = int(change.value)
                        seqs.append(change.seq)
                        if len(seqs) == 150:
                            break
                    assert seqs == list(range(moment.seq + 1, moment.seq + 151))
        finally:
            stop.set()
            for writer in writers:
                writer.join()
            if is_beside:
                reader.close()


def test_while_it_is_held_nothing_after_it_goes():
    db = open_memory(options={**MANUAL, "log_retention_bytes": 0})
    for number in range(5):
        with db.bootstrap() as moment:
            for key in (b"a", b"b"):
                db.put(key, b"%d" % number)
                db.flush()
            assert [change.seq for change in moment.changes()] == [moment.seq + 1, moment.seq + 2]
