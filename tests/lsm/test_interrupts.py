"""Ctrl-C at any moment of a write: the store goes on, and nobody's view of the past changes."""

import pytest

import lsm
from tests.lsm.hookfs import HookFS, fail_once
from tests.lsm.stores import open_memory
from tests.support.memfs import MemFS

WRITES = {
    "put": lambda db: db.put(b"a", b"new"),
    "delete": lambda db: db.delete(b"a"),
    "batch": lambda db: db.update({b"a": b"new", b"b": b"new"}),
    "other keyspace": lambda db: db.keyspace("other").put(b"a", b"new"),
}
MOMENTS = [("append", "*.log"), ("sync", "*.log")]


def interrupted(operation: str, pattern: str, write) -> tuple[HookFS, lsm.DB]:
    """Return a store whose last write was interrupted."""
    fs = HookFS(MemFS())
    db = open_memory(fs)
    db.keyspace("other")[b"a"] = b"old"
    db[b"a"] = b"old"
    fs.hook = fail_once(operation, pattern, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        write(db)
    return fs, db


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(("operation", "pattern"), MOMENTS)
def test_the_store_takes_the_next_write(operation, pattern, write):
    fs, db = interrupted(operation, pattern, write)
    db[b"next"] = b"1"
    db.flush()
    db.close()

    again = open_memory(MemFS.from_image(fs.image()))
    assert again[b"next"] == b"1"
    # The interrupted write happened or it did not; half of it is not a choice.
    assert (again.get(b"a"), again.get(b"b")) in [
        (b"old", None),
        (b"new", b"new" if write is WRITES["batch"] else None),
        (None, None),
    ]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(("operation", "pattern"), MOMENTS)
def test_a_snapshot_does_not_change_when_the_interrupted_write_comes_back(operation, pattern, write):
    _, db = interrupted(operation, pattern, write)
    snapshot = db.snapshot()
    seen = dict(snapshot), dict(snapshot.keyspace("other"))
    scan = db.scan()
    expected = list(db.scan())
    db[b"next"] = b"1"
    db.flush()
    db.compact()

    assert (dict(snapshot), dict(snapshot.keyspace("other"))) == seen
    assert list(scan) == expected
    snapshot.close()


@pytest.mark.parametrize(("operation", "pattern"), MOMENTS)
def test_closing_right_after_an_interrupt_keeps_everything_before_it(operation, pattern):
    fs, db = interrupted(operation, pattern, WRITES["put"])
    db.close()

    again = open_memory(MemFS.from_image(fs.image()))
    assert again[b"a"] in (b"old", b"new")
    assert again.keyspace("other")[b"a"] == b"old"


@pytest.mark.parametrize("pattern", ["*.sst", "MANIFEST-*", "*.log"])
@pytest.mark.parametrize("operation", ["create", "append", "sync"])
def test_an_interrupted_flush_is_done_the_next_time(operation, pattern):
    fs = HookFS(MemFS())
    db = open_memory(fs)
    db.update({b"%d" % number: b"x" for number in range(20)})
    fs.hook = fail_once(operation, pattern, KeyboardInterrupt())
    try:
        db.flush()
    except KeyboardInterrupt:
        fs.hook = None
    assert len(db) == 20
    try:
        db[b"more"] = b"x"
        db.flush()
        expected = 21
    except lsm.Error:
        expected = 20  # a manifest of unknown end takes no more; what is there stays readable
    assert len(db) >= expected
    db.close()

    assert len(open_memory(MemFS.from_image(fs.image()))) >= expected
