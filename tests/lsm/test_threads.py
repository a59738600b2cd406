"""Threads beside each other: reads in commit order, slow jobs, work that meets other work."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

import lsm
from tests.lsm.hookfs import WAIT_SECONDS, HookFS
from tests.lsm.stores import open_memory
from tests.support.memfs import MemFS

# Sizes that let the background work all the time.
BUSY = {
    "background": "thread",
    "memory_limit": "4MiB",
    "memtable_bytes_max": "64KiB",
    "table_bytes_max": "64KiB",
    "block_bytes": 1024,
    "l0_tables_max": 2,
    "level_ratio": 3,
}
OLD = {b"a": b"old", b"b": b"old", b"c": b"old"}


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(*work: Callable[[], object]) -> list[object]:
    """Run all at once; return what each returned, raise what any raised."""
    results: list[object] = [None] * len(work)
    errors: list[BaseException] = []

    def run(at: int) -> None:
        try:
            results[at] = work[at]()
        except BaseException as error:  # noqa: BLE001  # handed to the test below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(at,), daemon=True) for at in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"
    return results


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run something in another thread while the block runs; it must have ended soon after."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def write_tags(db: lsm.DB, count: int, seed: int, done: threading.Event) -> None:
    """Write one tag to four keys over two keyspaces, batch after batch, with something around it."""
    rng = random.Random(seed)
    for tag in range(count):
        value = b"%d" % tag
        with db.batch(sync=False) as batch:
            batch.put(b"a", value)
            batch.put(b"b", value, keyspace="other")
            batch.put(b"filler%d" % rng.randrange(50), bytes(300))
            batch.put(b"c", value)
            batch.put(b"d", value, keyspace="other")
    done.set()


def tags_of_snapshot(db: lsm.DB, other: lsm.Keyspace) -> set[bytes | None]:
    with db.snapshot() as snapshot:
        beside = snapshot.keyspace("other")
        return {snapshot.get(b"a"), beside.get(b"d"), beside.get(b"b"), snapshot.get(b"c")}


def tags_of_scan(db: lsm.DB, other: lsm.Keyspace) -> set[bytes | None]:
    return {value for _, value in db.scan(stop=b"d")} or {None}


def tags_of_reverse_scan(db: lsm.DB, other: lsm.Keyspace) -> set[bytes | None]:
    return {value for _, value in other.scan(reverse=True)} or {None}


def tags_of_multi_get(db: lsm.DB, other: lsm.Keyspace) -> set[bytes | None]:
    return set(other.multi_get([b"b", b"d"]))


READS = [tags_of_snapshot, tags_of_scan, tags_of_reverse_scan, tags_of_multi_get]


def test_every_read_is_one_moment_and_no_earlier_than_the_read_before(tmp_path, seed):
    print(f"seed {seed}")
    done = threading.Event()
    with lsm.open(tmp_path / "db", **BUSY) as db:
        other = db.keyspace("other")

        def read(tags_of: Callable[[lsm.DB, lsm.Keyspace], set[bytes | None]]) -> int:
            count, last = 0, -1
            while not done.is_set():
                tags = tags_of(db, other)
                assert len(tags) == 1, f"{tags_of.__name__} saw {tags}"
                tag = int(tags.pop() or -1)
                assert tag >= last, "a later read saw an older state"
                count, last = count + 1, tag
            return count

        readers = [lambda tags_of=tags_of: read(tags_of) for tags_of in READS]
        counts = in_threads(lambda: write_tags(db, 3000, seed, done), *readers)[1:]
        print(f"reads {counts}")
        assert all(count > 10 for count in counts)


def test_gets_over_two_keyspaces_never_go_back_in_commit_order(tmp_path, seed):
    print(f"seed {seed}")
    done = threading.Event()
    with lsm.open(tmp_path / "db", **BUSY) as db:
        other = db.keyspace("other")

        def read() -> int:
            count, last = 0, -1
            while not done.is_set():
                for source, key in ((db, b"a"), (other, b"b"), (db, b"c"), (other, b"d")):
                    tag = int(source.get(key) or -1)
                    assert tag >= last
                    count, last = count + 1, tag
            return count

        counts = in_threads(lambda: write_tags(db, 2500, seed, done), *[read] * 4)[1:]
        assert all(count > 100 for count in counts)


def test_a_long_scan_is_one_moment_while_others_overwrite_everything(tmp_path):
    done = threading.Event()
    with lsm.open(tmp_path / "db", **BUSY) as db:
        db.update({b"%04d" % number: b"0" for number in range(2000)})

        def write() -> None:
            for tag in range(1, 25):
                db.update({b"%04d" % number: b"%d" % tag for number in range(2000)}, sync=False)
            done.set()

        def read(reverse: bool) -> None:
            while not done.is_set():
                assert len({value for _, value in db.scan(reverse=reverse)}) == 1

        in_threads(write, lambda: read(False), lambda: read(True))


def stuck_store() -> tuple[HookFS, lsm.DB]:
    fs = HookFS(MemFS())
    db = open_memory(fs)
    db.update({b"a": b"old", b"b": b"old"})
    db.flush()
    db[b"c"] = b"old"
    return fs, db


def test_a_snapshot_taken_during_a_sync_does_not_see_the_write_afterwards():
    fs, db = stuck_store()
    with fs.holding("sync", "*.log") as gate, beside(lambda: db.put(b"a", b"new")):
        gate.wait_until_reached()
        snapshot = db.snapshot()
        scan = db.scan()
        gate.opened.set()
    db.flush()

    assert (db.get(b"a"), snapshot.get(b"a")) == (b"new", b"old")
    assert dict(scan) == OLD
    snapshot.close()


def test_readers_do_not_wait_for_a_rotation_that_is_stuck_in_the_manifest():
    fs, db = stuck_store()
    with fs.holding("sync", "MANIFEST-*") as gate, beside(db.flush):
        gate.wait_until_reached()
        assert dict(db) == OLD
        assert db.get(b"a") == b"old"
        with db.snapshot() as snapshot:
            assert dict(snapshot) == OLD
        gate.opened.set()


def test_syncing_beside_a_rotation_is_harmless():
    fs, db = stuck_store()
    with fs.holding("sync", "MANIFEST-*") as gate, beside(db.flush):
        gate.wait_until_reached()  # the old segment is closed, the new one is not in force
        db.sync()
        gate.opened.set()
    db[b"d"] = b"new"

    assert dict(db) == {**OLD, b"d": b"new"}


def test_a_slow_flush_holds_nobody_up():
    fs = HookFS(MemFS())
    db = open_memory(fs, options={"background": "thread"})
    db[b"a"] = b"old"
    with fs.holding("sync", "*.sst") as gate, beside(db.flush):
        gate.wait_until_reached()
        db[b"b"] = b"new"
        assert dict(db) == {b"a": b"old", b"b": b"new"}
        gate.opened.set()


def test_closing_while_a_writer_waits_for_room_tells_the_writer():
    fs = HookFS(MemFS())
    options = {"background": "thread", "memtable_bytes_max": 500, "sealed_max": 1}
    db = open_memory(fs, options=options)
    outcome: list[BaseException] = []

    def write() -> None:
        try:
            for number in range(10**6):
                db.put(b"%d" % number, bytes(100), sync=False)
        except BaseException as error:  # noqa: BLE001  # looked at below
            outcome.append(error)

    with fs.holding("create", "*.sst") as gate, beside(write):
        gate.wait_until_reached()
        while not db.stats().background.stops:
            gate.reached.wait(0.01)
            threading.Event().wait(0.01)
        closer = threading.Thread(target=db.close, daemon=True)
        closer.start()
        closer.join(0.2)
        gate.opened.set()
        closer.join(WAIT_SECONDS)

    assert not closer.is_alive()
    assert [type(error) for error in outcome] == [lsm.ClosedError]


@pytest.mark.parametrize("background", ["thread", "manual"])
def test_a_keyspace_dropped_in_the_middle_of_its_compaction_harms_nobody(background):
    fs = HookFS(MemFS())
    db = open_memory(fs, options={"background": background, "l0_tables_max": 2})
    doomed = db.keyspace("doomed")
    dropped = threading.Event()

    def drop_at_first_read(operation: str, name: str, cause: str) -> None:
        if operation == "open" and cause == "compaction" and not dropped.is_set():
            dropped.set()
            db.drop_keyspace("doomed")

    fs.hook = drop_at_first_read
    for number in range(4):
        with suppress(lsm.KeyspaceNotFound):
            doomed.update({b"a": b"%d" % number, b"b": b"x"})
            db.flush()
            db.compact()
    assert dropped.wait(WAIT_SECONDS)
    db[b"k"] = b"v"
    db.compact()

    assert db.stats().background.failure == ""
    assert dict(db) == {b"k": b"v"}
    assert db.keyspaces() == ["default"]
