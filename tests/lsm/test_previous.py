"""Changes with the values that they replaced, against a model."""

import threading

import pytest

import lsm
from lsm.opening import open_on
from tests.lsm.log_models import LogModel
from tests.lsm.stores import TINY, ManualClock, open_memory
from tests.support.memfs import MemFS

HISTORY = {**TINY, "log_history": True, "log_retention": "all"}


def check(model, db, since):
    """Hold every change after `since` against the model; return how many there were."""
    expected = model.before()
    found = list(db.changes(since, before=True))
    assert [change.seq for change in found] == list(range(since + 1, model.seq + 1))
    for change in found:
        entry = model.entries[change.seq - 1]
        assert (change.key, change.value, change.before) == (entry.key, entry.value, expected[change.seq])
    return len(found)


@pytest.mark.parametrize("seed", range(6))
def test_previous_values_are_those_of_the_model(seed):
    model = LogModel(open_memory(options=HISTORY), seed)
    for step in range(150):
        model.write_something()
        model.live_something()
        if step % 30 == 29:
            check(model, model.db, model.rng.randint(0, model.seq))
    assert check(model, model.db, 0) == model.seq
    model.db.compact()
    assert check(model, model.db, 0) == model.seq


@pytest.mark.parametrize("seed", range(3))
def test_while_segments_go_the_rest_keeps_its_past(seed):
    db = open_memory(options={**HISTORY, "log_retention": "limits", "log_retention_bytes": 2500})
    model = LogModel(db, seed)
    for _ in range(200):
        model.write_something()
        model.live_something()
        since = model.rng.randint(db.log.earliest - 1, model.seq)
        if model.rng.random() < 0.2:
            check(model, db, since)
    db.compact()
    assert db.log.earliest > 100
    check(model, db, db.log.earliest - 1)


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_beside_the_writer_knows_the_past_too(seed):
    fs = MemFS()
    model = LogModel(open_memory(fs, options=HISTORY), seed)
    reader = open_on(MemFS(disk=fs.disk), "r", clock=ManualClock())
    try:
        for step in range(100):
            model.write_something()
            model.live_something()
            if step % 10 == 9:
                check(model, reader, model.rng.randint(0, model.seq))
            if model.rng.random() < 0.05:
                reader.refresh()
    finally:
        reader.close()


def test_without_history_the_log_must_begin_with_the_first_write():
    model = LogModel(open_memory(options={**TINY, "log_retention": "all"}), 1)
    for _ in range(60):
        model.write_something()
        model.live_something()
    model.db.compact()

    check(model, model.db, 0)
    check(model, model.db, model.seq // 2)


def test_without_history_and_without_the_beginning_they_are_refused():
    db = open_memory(options={**TINY, "log_retention_bytes": 0})
    db.put(b"a", b"1")
    db.flush()
    db.put(b"a", b"2")

    with pytest.raises(lsm.InvalidArgument, match="log_history"):
        db.changes(1, before=True)


def test_history_that_is_turned_on_later_covers_what_comes_from_then_on():
    fs = MemFS()
    db = open_memory(fs, options={**TINY, "log_retention_bytes": 0})
    for value in (b"1", b"2"):
        db.put(b"a", value)
        db.flush()
    db.compact()
    db.put(b"a", b"3")  # in the log only
    db.close()

    db = open_memory(fs, "w", options={"log_history": True, "log_retention": "all"})
    for value in (b"4", b"5"):
        db.put(b"a", value)
        db.compact()
    db.delete(b"a")
    found = [(change.value, change.before) for change in db.changes(2, before=True)]
    assert found == [(b"3", b"2"), (b"4", b"3"), (b"5", b"4"), (None, b"5")]
    db.close()

    db = open_memory(fs, "w", options={"log_history": False, "log_retention": "limits"})
    db.compact()
    with pytest.raises((lsm.InvalidArgument, lsm.OffsetOutOfRange)):
        db.changes(2, before=True)


def test_following_with_previous_values_goes_over_segments(tmp_path):
    options = {
        "log_history": True,
        "log_retention": "all",
        "memtable_bytes_max": 2000,
        "background": "thread",
    }
    with lsm.open(tmp_path / "db", **options) as db:
        found = []

        def follow(reader):
            before = {}
            for change in reader.changes(follow=True, until=400, before=True):
                found.append(change.before == before.get(change.key))
                before[change.key] = change.value

        with lsm.open(tmp_path / "db", "r") as beside:
            threads = [threading.Thread(target=follow, args=(reader,)) for reader in (db, beside)]
            for thread in threads:
                thread.start()
            for number in range(400):
                db.put(b"%d" % (number % 17), b"%d" % number * 10, sync=False)
            for thread in threads:
                thread.join(60)

    assert found == [True] * 800


def test_a_segment_that_goes_while_it_is_read_is_an_error_and_never_a_wrong_value():
    db = open_memory(options={**HISTORY, "log_retention": "limits", "log_retention_bytes": 0})
    with db.bootstrap():
        for number in range(30):
            db.put(b"%d" % (number % 3), b"%d" % number * 20)
            db.flush()
        changes = db.changes(0, before=True)
        assert next(changes).before is None
        assert next(changes).before is None
    db.compact()

    with pytest.raises(lsm.OffsetOutOfRange):
        list(changes)
