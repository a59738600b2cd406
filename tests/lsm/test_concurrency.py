"""Many threads on one handle: order, atomicity, who waits for whom, and what errors reach whom."""

import errno
import itertools
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import lsm
from lsm.fs_types import Cause
from tests.lsm.hookfs import WAIT_SECONDS, HookFS, fail_once
from tests.lsm.stores import open_memory
from tests.support.memfs import MemFS

THREADS = 8
SMALL = {"memtable_bytes_max": 8192, "block_bytes": 512, "table_bytes_max": 8192, "l0_tables_max": 2}


@pytest.fixture(autouse=True)
def _many_switches() -> Iterator[None]:
    """Let threads take turns far more often than usual, so that little time tries many orders."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2 * THREADS) as pool:
        yield pool


@pytest.fixture(params=["memory", "memory and tables", "directory"])
def db(request: pytest.FixtureRequest, tmp_path) -> Iterator[lsm.DB]:
    """A store: durable writes to memory only; with flush and compaction beside it; and on a real disk."""
    if request.param == "memory":
        yield open_memory()
    elif request.param == "memory and tables":
        yield open_memory(options={**SMALL, "background": "thread"})
    else:
        with lsm.open(tmp_path / "store", **SMALL, background="thread", sync="interval") as db:
            yield db


def run_all(pool: ThreadPoolExecutor, jobs: list[Callable]) -> list:
    """Run all at once, from one starting shot; return their results."""
    start = threading.Barrier(len(jobs))

    def run(job: Callable) -> object:
        start.wait(WAIT_SECONDS)
        return job()

    return [future.result(WAIT_SECONDS) for future in [pool.submit(run, job) for job in jobs]]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@dataclass(frozen=True, slots=True)
class Operation:
    """One call on one key: what it wrote or read, and the stamps before and after."""

    is_write: bool
    key: bytes
    value: bytes | None
    begin: int
    end: int


def check_register(operations: list[Operation]) -> None:
    """Raise unless the history of one key, each value written once, is that of an atomic register.

    Gibbons and Korach: all operations on one value make up a cluster.  From the first that ended to the last
    that began the register must have held that value: such zones may not overlap.  Where all operations of
    a cluster overlap, some moment between must be free.
    """
    clusters: dict[bytes | None, list[Operation]] = defaultdict(list)
    clusters[None].append(Operation(True, b"", None, -2, -1))
    for operation in operations:
        clusters[operation.value].append(operation)
    held, free = [], []
    for value, cluster in clusters.items():
        writes = [operation for operation in cluster if operation.is_write]
        assert len(writes) == 1, f"{value!r} was read and never written"
        assert all(operation.end > writes[0].begin for operation in cluster), f"{value!r} read before written"
        first_end, last_begin = min(o.end for o in cluster), max(o.begin for o in cluster)
        if first_end < last_begin:
            held.append((first_end, last_begin))
        else:
            free.append((last_begin, first_end))
    held.sort()
    for (_, end), (begin, _) in itertools.pairwise(held):
        assert end < begin, "two values held at once"
    for begin, end in free:
        assert not any(low < begin and end < high for low, high in held), "no moment left for a write"


def test_the_checker_knows_what_is_wrong():
    def history(*rows: tuple[bool, bytes | None, int, int]) -> list[Operation]:
        return [Operation(is_write, b"k", value, begin, end) for is_write, value, begin, end in rows]

    check_register(history((True, b"1", 0, 3), (False, None, 1, 2), (False, b"1", 4, 5)))
    for wrong in (
        history((True, b"1", 0, 1), (False, None, 2, 3)),  # an old value
        history((False, b"1", 0, 1), (True, b"1", 2, 3)),  # a value from the future
        history((False, b"2", 0, 1)),  # a value from nowhere
        history((True, b"1", 0, 1), (True, b"2", 2, 3), (False, b"1", 4, 5)),  # a lost write
        history((True, b"1", 0, 9), (False, b"1", 1, 2), (False, None, 3, 4)),  # there, and gone again
    ):
        with pytest.raises(AssertionError):
            check_register(wrong)


def test_every_key_is_an_atomic_register(db, pool, seed):
    print(f"seed {seed}")
    stamps = itertools.count()
    keys = [b"key%d" % number for number in range(4)]

    def worker(name: int) -> list[Operation]:
        rng, history = random.Random(seed + name), []
        for number in range(150):
            key, how = rng.choice(keys), rng.randrange(8)
            value = b"%d.%d" % (name, number) + bytes(50)
            begin = next(stamps)
            if how < 2:
                db.put(key, value)
            elif how == 2:
                db.put(key, value, sync=False)
            elif how == 3:
                db.update({key: value})
            elif how == 4:
                (value,) = db.multi_get([key])
            elif how == 5:
                value = dict(db.scan(prefix=key)).get(key)
            else:
                value = db.get(key)
            history.append(Operation(how < 4, key, value, begin, next(stamps)))
        return history

    histories = run_all(pool, [lambda name=name: worker(name) for name in range(THREADS)])
    operations = list(itertools.chain(*histories))
    assert len(operations) == THREADS * 150
    for key in keys:
        final = next(stamps)
        last = Operation(False, key, db.get(key), final, next(stamps))
        check_register([*(operation for operation in operations if operation.key == key), last])


def test_nobody_sees_half_a_batch(db, pool):
    other = db.keyspace("other")
    writers_left = threading.Semaphore(4)
    stop = threading.Event()

    def write(name: int) -> int:
        for number in range(80):
            tag = b"%d.%d" % (name, number) + bytes(30)
            with db.batch() as batch:
                for key in (b"a", b"b"):
                    batch.put(key, tag)
                    batch.put(key, tag, keyspace="other")
        writers_left.acquire()
        if not writers_left._value:
            stop.set()
        return 0

    def read_one(how: int) -> list[bytes | None]:
        if how == 0:
            return db.multi_get([b"a", b"b"])
        if how == 1:
            return [value for _, value in db.scan()] or [None, None]
        if how == 2:
            return [value for _, value in other.scan(reverse=True)] or [None, None]
        with db.snapshot() as snapshot, snapshot.keyspace("other") as beside:
            values = [snapshot.get(b"a"), beside.get(b"b"), *snapshot.multi_get([b"b"])]
            return [*values, *(value for _, value in beside.scan())] if any(values) else values

    def read() -> int:
        seen = 0
        while not stop.is_set():
            for how in range(4):
                values = read_one(how)
                assert len(values) >= 2
                assert len(set(values)) == 1, f"two tags at once, seen by way {how}"
                seen += 1
        return seen

    results = run_all(pool, [*(lambda name=name: write(name) for name in range(4)), *[read] * 4])
    assert sum(results[4:]) > 0
    assert db[b"a"] == db[b"b"] == other[b"a"] == other[b"b"]


WRITES = {
    "put": lambda db: db.put(b"k", b"new"),
    "delete": lambda db: db.delete(b"k"),
    "batch": lambda db: db.update({b"k": b"new", b"l": b"new"}),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_readers_neither_wait_for_a_sync_nor_see_what_is_not_synced(pool, write):
    fs = HookFS(MemFS())
    db = open_memory(fs)
    db[b"k"] = b"old"
    db.flush()
    db[b"m"] = b"old"
    other = db.keyspace("other")
    before = {b"k": b"old", b"m": b"old"}

    def read() -> None:
        assert db.get(b"k") == db[b"k"] == b"old"
        assert b"l" not in db
        assert db.multi_get([b"k", b"l", b"m"]) == [b"old", None, b"old"]
        assert list(db.scan()) == list(before.items())
        assert list(db.scan(reverse=True, limit=1)) == [(b"m", b"old")]
        assert len(db) == 2
        with db.snapshot() as snapshot:
            assert snapshot == before
        assert not other
        assert db.seq == 2
        assert db.stats().seq == 2
        assert db.keyspaces() == ["default", "other"]

    with fs.holding("sync", "*.log") as gate:
        writer = pool.submit(write, db)
        gate.wait_until_reached()
        for _ in range(3):
            pool.submit(read).result(10)
        assert not writer.done()
    writer.result(WAIT_SECONDS)
    assert db.get(b"k") in (b"new", None)
    assert db.seq > 2


class GroupOfWriters:
    """One writer held in its sync, and others that queue up behind it, each for a key of its own."""

    def __init__(self, pool: ThreadPoolExecutor, hook: Callable[[int], None] | None = None) -> None:
        self.fs = HookFS(MemFS())
        self.db = open_memory(self.fs)
        self.db[b"before"] = b"1"
        self.pool = pool
        self.syncs = 0
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.on_sync = hook
        self.fs.hook = self.before

    def before(self, operation: str, name: str, cause: Cause) -> None:
        if operation == "sync" and name.endswith(".log"):
            self.syncs += 1
            if self.syncs == 1:
                self.reached.set()
                assert self.opened.wait(WAIT_SECONDS)
            elif self.on_sync is not None:
                self.on_sync(self.syncs)

    def run(self, size: int) -> tuple[Future, list[Future]]:
        first = self.pool.submit(self.db.put, b"first", b"1")
        assert self.reached.wait(WAIT_SECONDS)
        waiting = self.db._committer._queue.waiting
        others = []
        for number in range(size):
            others.append(self.pool.submit(self.db.put, b"%d" % number, b"%d" % number))
            wait_until(lambda: len(waiting) == len(others))  # it is called at once
        assert not any(future.done() for future in others)
        self.opened.set()
        for future in [first, *others]:
            future.exception(WAIT_SECONDS)
        return first, others


@pytest.mark.parametrize("size", [1, THREADS - 1, 2 * THREADS - 1])
def test_writers_that_wait_share_one_sync(pool, size):
    group = GroupOfWriters(pool)
    before = group.db.stats().write.syncs["log"]
    first, others = group.run(size)
    assert [future.exception() for future in [first, *others]] == [None] * (size + 1)
    assert group.syncs == 2
    assert group.db.stats().write.syncs["log"] == before + 2
    assert group.db.seq == size + 2
    assert len(group.db) == size + 2


def test_writers_that_run_free_share_syncs_too(pool, tmp_path):
    with lsm.open(tmp_path / "store", background="manual") as db:
        before = db.stats().write.syncs["log"]
        writes = [[b"%d.%d" % (name, number) for number in range(50)] for name in range(THREADS)]
        run_all(pool, [lambda keys=keys: [db.put(key, key) for key in keys] for keys in writes])
        assert len(db) == THREADS * 50
        assert db.stats().write.syncs["log"] - before < THREADS * 50 * 0.75


def test_a_failed_sync_reaches_everybody_who_waited_for_it(pool):
    def fail(number: int) -> None:
        raise OSError(errno.EIO, "the disk is gone")

    group = GroupOfWriters(pool, fail)
    first, others = group.run(THREADS)
    db = group.db
    assert first.exception() is None
    for future in others:
        error = future.exception()
        assert isinstance(error, lsm.CommitUncertain)
        assert isinstance(error, OSError)
        assert error.errno == errno.EIO
        assert "the disk is gone" in str(error)
        assert "reopening" in str(error)
    acknowledged = {b"before": b"1", b"first": b"1"}
    assert group.syncs == 2, "a sync that failed is not tried again"
    for write in (lambda: db.put(b"x", b"y"), lambda: db.delete(b"first"), lambda: db.update({b"x": b"y"})):
        with pytest.raises(lsm.ReadOnlyError, match=r"until it is reopened.*the disk is gone"):
            write()
    assert db == acknowledged
    assert db.multi_get([b"first", b"0", b"x"]) == [b"1", None, None]
    with db.snapshot() as snapshot:
        assert snapshot == acknowledged
    assert "the disk is gone" in db.stats().background.failure
    db.close()
    with open_memory(group.fs.inner) as db:
        found = dict(db)
        assert {key: found.pop(key) for key in acknowledged} == acknowledged
        survived = [b"%d" % number for number in range(len(found))]
        assert found == {key: key for key in survived}, "of a group that failed a prefix survives, or nothing"
        db[b"x"] = b"y"
    with open_memory(group.fs.inner) as db:
        assert db == {**acknowledged, **found, b"x": b"y"}


def test_an_interrupt_of_the_one_that_writes_for_all_is_an_error_for_all(pool):
    def interrupt(number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    group = GroupOfWriters(pool, interrupt)
    first, others = group.run(THREADS)
    errors = [future.exception() for future in others]
    assert first.exception() is None
    assert sum(isinstance(error, KeyboardInterrupt) for error in errors) == 1
    for error in errors:
        assert isinstance(error, KeyboardInterrupt | lsm.CommitUncertain), repr(error)
    assert group.db == {b"before": b"1", b"first": b"1"}
    group.db[b"next"] = b"2"
    found = dict(group.db)
    survived = {key: key for key in found if key not in (b"before", b"first", b"next")}
    assert found == {b"before": b"1", b"first": b"1", b"next": b"2", **survived}
    whole = {b"%d" % number for number in range(THREADS)}
    assert set(survived) in (set(), whole), "what is whole in the log stays"
    group.db.close()
    with open_memory(group.fs.inner) as db:
        assert db == found


@pytest.mark.parametrize("operation", ["append", "sync"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interrupted_write_does_not_keep_the_turn(pool, operation, write, interrupt):
    fs = HookFS(MemFS())
    db = open_memory(fs)
    db[b"k"] = b"old"
    fs.hook = fail_once(operation, "*.log", interrupt())
    with pytest.raises(interrupt):
        write(db)
    assert db == {b"k": b"old"}
    for number in range(3):
        pool.submit(db.put, b"%d" % number, b"next").result(WAIT_SECONDS)
    pool.submit(db.update, {b"batch": b"next"}).result(WAIT_SECONDS)
    later = {b"0": b"next", b"1": b"next", b"2": b"next", b"batch": b"next"}
    expected = dict(db)
    assert later.items() <= expected.items()
    if operation == "append":
        assert expected == {b"k": b"old"} | later
    else:  # it is whole in the log, where a reader may have seen it by now: it stays
        assert expected != {b"k": b"old"} | later
    assert [change.seq for change in db.changes()] == list(range(1, db.seq + 1))
    db.flush()
    db.close()
    with open_memory(fs.inner) as db:
        assert db == expected


USES: dict[str, Callable] = {
    "put": lambda db, n: db.put(b"%d" % (n % 50), bytes(100)),
    "put without sync": lambda db, n: db.put(b"%d" % (n % 50), bytes(100), sync=False),
    "batch": lambda db, n: db.update({b"%d" % n: b"1", b"x": b"2"}),
    "delete": lambda db, n: db.delete(b"%d" % (n % 50)),
    "get": lambda db, n: db.get(b"%d" % (n % 50)),
    "multi_get": lambda db, n: db.multi_get([b"1", b"2", b"x"]),
    "scan": lambda db, n: list(db.scan()),
    "snapshot": lambda db, n: dict(db.snapshot()),
    "stats": lambda db, n: db.stats(),
    "sync": lambda db, n: db.sync(),
    "keyspace": lambda db, n: db.keyspace(f"k{n % 3}").put(b"a", b"b"),
    "refresh": lambda db, n: (db.refresh(), db.seq, db.keyspaces()),
}
WORK: dict[str, Callable] = {"flush": lambda db, n: db.flush(), "compact": lambda db, n: db.compact()}


def use_until_closed(
    pool: ThreadPoolExecutor, db: lsm.DB, uses: dict[str, Callable]
) -> dict[str, BaseException]:
    """Use the store in threads, close it meanwhile; return what ended each of them."""

    def loop(use: Callable) -> BaseException:
        for number in itertools.count():
            try:
                use(db, number)
            except BaseException as error:  # noqa: BLE001  # it is what is looked at
                return error
        raise AssertionError("unreachable")

    futures = {name: pool.submit(loop, use) for name, use in uses.items()}
    time.sleep(0.1)
    db.close()
    return {name: future.result(WAIT_SECONDS) for name, future in futures.items()}


@pytest.mark.parametrize("attempt", range(3))
def test_closing_under_use_is_a_closed_error_for_all(db, pool, attempt):
    errors = use_until_closed(pool, db, USES)
    assert {name: type(error) for name, error in errors.items()} == dict.fromkeys(USES, lsm.ClosedError), (
        errors
    )


def test_closing_under_work_is_a_closed_error_too(db, pool):
    errors = use_until_closed(pool, db, {**WORK, "put": USES["put"]})
    assert {type(error) for error in errors.values()} == {lsm.ClosedError}, errors


def test_closing_twice_at_once(db, pool):
    db[b"k"] = b"v"
    run_all(pool, [db.close] * 4)
    with pytest.raises(lsm.ClosedError):
        db.get(b"k")


def test_two_threads_make_the_same_keyspace_once(db, pool):
    names = [keyspace.name for keyspace in run_all(pool, [lambda: db.keyspace("same")] * THREADS)]
    assert names == ["same"] * THREADS
    assert db.keyspaces() == ["default", "same"]


def test_step_beside_the_background_does_no_job_twice(pool):
    fs = HookFS(MemFS())
    db = open_memory(fs, options={"background": "thread"})
    db[b"k"] = b"v"
    with fs.holding("create", "*.sst") as gate:
        flush = pool.submit(db.flush)
        gate.wait_until_reached()
        step = pool.submit(db.step)
        time.sleep(0.1)
    flush.result(WAIT_SECONDS)
    step.result(WAIT_SECONDS)
    db[b"l"] = b"w"
    db.flush()
    assert db == {b"k": b"v", b"l": b"w"}
    assert db.stats().background.flushes == 2
