"""The compacted log: the latest change of every key, in order, and on into the tail."""

import threading
import time

import pytest

import lsm
from lsm.opening import open_on
from tests.lsm.log_models import LogModel
from tests.lsm.stores import MANUAL, TINY, ManualClock, open_memory
from tests.support.memfs import MemFS

SECOND = 1_000_000


def brief(changes):
    return [(change.seq, change.keyspace, change.key, change.value) for change in changes]


def expected(model, since=0, keyspace=None):
    return [
        (entry.seq, entry.keyspace, entry.key, entry.value)
        for entry in model.latest()
        if entry.seq > since and keyspace in (None, entry.keyspace)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_against_a_model_while_the_log_has_everything(seed):
    db = open_memory(options={**TINY, "log_retention": "all"})
    model = LogModel(db, seed)
    for step in range(120):
        model.write_something()
        model.live_something()
        if step % 20 == 19:
            since = model.rng.randint(0, model.seq)
            assert brief(db.changes(0, compacted=True)) == expected(model)
            assert brief(db.changes(since, compacted=True)) == expected(model, since)
            assert brief(db.changes(compacted=True, keyspace="orders")) == expected(model, 0, "orders")


@pytest.mark.parametrize("seed", range(4))
def test_against_a_model_while_the_log_goes(seed):
    """Puts are always there; a deletion is there while the log, or a table that has it, is."""
    fs = MemFS()
    db = open_memory(fs, options={**TINY, "log_retention_bytes": 0})
    reader = open_on(MemFS(disk=fs.disk), "r", clock=ManualClock())
    model = LogModel(db, seed)
    try:
        for step in range(150):
            model.write_something()
            model.live_something()
            if step % 25 == 24:
                for handle in (db, reader):
                    found = brief(handle.changes(compacted=True))
                    due = expected(model)
                    assert [row for row in found if row[3] is not None] == [
                        row for row in due if row[3] is not None
                    ]
                    assert set(found) <= set(due) and found == sorted(found)
                    in_log = {row for row in due if row[0] >= db.log.earliest}
                    assert in_log <= set(found)
    finally:
        reader.close()


def test_a_deletion_is_taken_from_the_log_when_tables_have_dropped_it():
    db = open_memory(options={**MANUAL, "log_retention": "all"})
    db.put(b"a", b"1")
    db.put(b"b", b"1")
    db.flush()
    db.delete(b"a")
    db.compact()

    assert brief(db.changes(compacted=True)) == [(2, "default", b"b", b"1"), (3, "default", b"a", None)]


def test_a_deletion_is_taken_from_a_table_when_the_log_has_gone():
    db = open_memory(options={**MANUAL, "log_retention_bytes": 0})
    db.put(b"a", b"1")
    db.flush()
    db.delete(b"a")
    db.flush()
    assert db.log.earliest == 3

    assert brief(db.changes(compacted=True)) == [(2, "default", b"a", None)]
    db.compact()
    assert brief(db.changes(compacted=True)) == []


@pytest.mark.parametrize("where", ["memory", "table and log", "log", "table"])
def test_old_deletions_are_left_out(where):
    clock = ManualClock()
    options = {**MANUAL, "log_retention_bytes": 0} if where == "table" else {**MANUAL, "log_retention": "all"}
    db = open_memory(options=options, clock=clock)
    for key in (b"a", b"b", b"c"):
        db.put(key, b"1")
    db.flush()
    for key in (b"a", b"b"):
        db.delete(key)
        clock.us += 1  # so that each segment ends after its deletion
        if where != "memory":
            db.flush()
        clock.us += 100 * SECOND
    if where == "log":
        db.compact()

    def keys(**how):
        return [change.key for change in db.changes(compacted=True, **how)]

    assert keys() == [b"c", b"a", b"b"]
    assert keys(tombstone_seconds=1000) == [b"c", b"a", b"b"]
    assert keys(tombstone_seconds=150) == [b"c", b"b"]
    assert keys(tombstone_seconds=0) == [b"c"]


def test_what_is_asked_for_is_cut_from_the_compacted_log_wherever_it_lies():
    for flush in (False, True):
        db = open_memory()
        for key, value in ((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1")):
            db.put(key, value)
        if flush:
            db.flush()
        assert [change.seq for change in db.changes(0, until=3, compacted=True)] == [2, 3]
        assert [change.seq for change in db.changes(2, until=3, compacted=True)] == [3]
        assert [change.seq for change in db.changes(0, until=2, compacted=True)] == [2]
        assert [change.seq for change in db.changes("latest", compacted=True)] == []


def test_a_key_that_is_written_again_before_the_first_look_is_not_lost():
    db = open_memory()
    db.put(b"a", b"1")
    changes = db.changes(compacted=True)
    db.put(b"a", b"2")
    db.flush()

    assert brief(changes) == [(2, "default", b"a", b"2")]


@pytest.mark.parametrize("retention", ["all", "limits"])
def test_it_goes_on_into_the_tail_without_a_gap(tmp_path, retention):
    """A store that is seeded by it, beside a busy writer, ends up the same."""
    options = {
        "memtable_bytes_max": 4000,
        "background": "thread",
        "log_retention": retention,
        "log_retention_bytes": 40_000,
        "sync": "os",
    }
    with lsm.open(tmp_path / "db", **options) as db, lsm.open(tmp_path / "db", "r") as beside:
        stop, written = threading.Event(), []

        def write():
            number = 0
            while not stop.is_set() or number < 500:
                key = b"%d" % (number * 7 % 50)
                db.delete(key) if number % 5 == 0 else db.put(key, b"%d" % number * 8)
                number += 1
                if number % 20 == 0:
                    time.sleep(0.002)
            written.append(db.seq)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for reader in (db, beside, db, beside):
                last = db.seq
                seeded, seqs = {}, []
                for change in reader.changes(compacted=True, follow=True, until=last + 60):
                    seqs.append(change.seq)
                    seeded[change.key] = change.value
                assert seqs == sorted(set(seqs))
                tail = [seq for seq in seqs if seq > last + 20]
                assert tail == list(range(tail[0], last + 61))
        finally:
            stop.set()
            writer.join()
        after = dict(seeded)
        for change in db.changes(last + 60):
            after[change.key] = change.value
        assert {key: value for key, value in after.items() if value is not None} == dict(db.scan())


def test_a_moment_never_falls_between_an_edit_on_disk_and_the_same_edit_in_memory(monkeypatch):
    db = open_memory()
    db.put(b"a", b"1")
    state, append_edit = db._state, db._state.append_edit
    found, readers = [], []

    def append_and_look(edit):
        version = append_edit(edit)
        readers.append(threading.Thread(target=lambda: found.append(brief(db.changes(compacted=True)))))
        readers[-1].start()
        readers[-1].join(0.2)  # it may wait for the flush, but it must not miss what is flushed
        return version

    monkeypatch.setattr(state, "append_edit", append_and_look)
    db.flush()
    for reader in readers:
        reader.join()

    assert len(found) >= 2  # the segment was closed, then flushed
    assert all(rows == [(1, "default", b"a", b"1")] for rows in found)
