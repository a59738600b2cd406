"""A handle in a forked child raises, and harms neither the store nor the parent."""

import faulthandler
import gc
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from pathlib import Path

import pytest

import lsm
from tests.lsm.children import TINY, children_of

ROOT = Path(__file__).resolve().parent.parent.parent
# Forking beside threads is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

BIG = {"background": "process", "memory_limit": "32MiB", "sync": "os"}


def in_child(work, timeout=30):
    """Run `work` in a forked child; return what it returned, by way of JSON."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(here)
            faulthandler.register(signal.SIGUSR1, file=2)
            os.write(there, json.dumps(work()).encode())
            code = 0
        except BaseException:  # noqa: BLE001  # the child must not come back into the test run, whatever it is
            os.write(there, json.dumps(traceback.format_exc()).encode())
        finally:
            os._exit(code)
    os.close(there)
    with os.fdopen(here, "rb") as answers:
        ready, _, _ = select.select([answers], [], [], timeout)
        if not ready:
            os.kill(pid, signal.SIGUSR1)  # say where
            time.sleep(0.5)
            os.kill(pid, signal.SIGKILL)
        answer = answers.read()
    _, status = os.waitpid(pid, 0)
    assert ready, "the child hangs"
    result = json.loads(answer)
    assert status == 0, result
    return result


def digest(path):
    """Return a hash of every file, by name."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in path.iterdir()}


class Handles:
    """Everything that a program can hold of a store."""

    def __init__(self, db):
        self.db = db
        self.orders = db.keyspace("orders")
        self.snapshot = db.snapshot()
        self.scan = db.scan()
        self.begun = db.scan(reverse=True)
        next(self.begun)
        self.batch = db.batch()
        self.batch.put(b"from the child", b"")
        self.changes = db.changes(db.seq - 1)
        self.view = db.items()

    def calls(self):
        """Return every public call by name."""
        calls = self._store_calls(self.db) | {
            f"orders.{name}": call for name, call in self._keyspace_calls(self.orders).items()
        }
        calls |= {f"snapshot.{name}": call for name, call in self.read_calls(self.snapshot).items()}
        return calls | {
            "snapshot.keyspace": lambda: self.snapshot.keyspace("orders"),
            "scan of before": lambda: list(self.scan),
            "batch.commit": self.batch.commit,
            "changes": lambda: next(self.changes),
            "view": lambda: list(self.view),
        }

    @staticmethod
    def read_calls(mapping):
        return {
            "get": lambda: mapping.get(b"k1"),
            "get of an absent key": lambda: mapping.get(b"absent"),
            "[]": lambda: mapping[b"k1"],
            "in": lambda: b"k1" in mapping,
            "multi_get": lambda: mapping.multi_get([b"k1"]),
            "scan": lambda: list(mapping.scan()),
            "scan reverse": lambda: list(mapping.scan(b"a", b"z", reverse=True, limit=1)),
            "iter": lambda: list(mapping),
            "reversed": lambda: list(reversed(mapping)),
            "len": lambda: len(mapping),
            "bool": lambda: bool(mapping),
            "keys": lambda: list(mapping.keys()),
            "items": lambda: list(mapping.items()),
            "values": lambda: list(mapping.values()),
            "==": lambda: mapping == {},
        }

    @classmethod
    def _keyspace_calls(cls, keyspace):
        def batch():
            with keyspace.batch() as batch:
                batch.put(b"k1", b"child")

        return cls.read_calls(keyspace) | {
            "put": lambda: keyspace.put(b"k1", b"child"),
            "put unsynced": lambda: keyspace.put(b"k1", b"child", sync=False),
            "[]=": lambda: keyspace.__setitem__(b"k1", b"child"),
            "delete": lambda: keyspace.delete(b"k1"),
            "del": lambda: keyspace.__delitem__(b"k1"),
            "pop": lambda: keyspace.pop(b"k1"),
            "popitem": keyspace.popitem,
            "setdefault": lambda: keyspace.setdefault(b"absent", b"child"),
            "update": lambda: keyspace.update({b"k1": b"child"}),
            "clear": keyspace.clear,
            "batch": batch,
            "snapshot": keyspace.snapshot,
        }

    @classmethod
    def _store_calls(cls, db):
        return cls._keyspace_calls(db) | {
            "keyspace": lambda: db.keyspace("orders"),
            "new keyspace": lambda: db.keyspace("child"),
            "keyspaces": db.keyspaces,
            "drop_keyspace": lambda: db.drop_keyspace("orders"),
            "flush": db.flush,
            "compact": db.compact,
            "step": db.step,
            "sync": db.sync,
            "checkpoint": lambda: db.checkpoint(f"{db.path}-copy"),
            "changes()": lambda: list(db.changes(db.seq)),
            "changes(0)": lambda: db.changes(),
            "refresh": db.refresh,
            "resume": db.resume,
            "stats": db.stats,
            "seq": lambda: db.seq,
        }


def outcomes(calls):
    """Return the calls that did anything but raise ForkedError, with what they did."""
    wrong = {}
    for name, call in calls.items():
        try:
            wrong[name] = f"returned {call()!r}"
        except lsm.ForkedError as error:
            if "the child process must open it for itself" not in str(error):
                wrong[name] = f"says {error}"
        except Exception as error:  # noqa: BLE001  # any other is the finding
            wrong[name] = repr(error)
    return wrong


def fill(db):
    for number in range(60):
        db.put(b"k%d" % number, b"v" * number)
        db.keyspace("orders").put(b"k%d" % number, b"%d" % number)
    db.flush()
    db.put(b"tail", b"in the log")


@pytest.mark.parametrize("background", ["manual", "thread", "process"])
def test_every_call_in_the_child_says_that_it_is_one(tmp_path, background):
    path = tmp_path / "s"
    with lsm.open(path, background=background, **TINY) as db:
        fill(db)
        handles = Handles(db)
        contents = dict(db.scan())

        assert in_child(lambda: outcomes(handles.calls())) == {}

        assert not Path(f"{path}-copy").exists()
        assert dict(db.scan()) == contents == dict(handles.scan)
        assert handles.snapshot.get(b"tail") == b"in the log"
        assert handles.batch.commit() == db.seq
        assert [change.key for change in handles.changes] == [b"tail"]  # what there was when it was made
        handles.begun.close()
        handles.snapshot.close()
        db[b"after"] = b"the fork"
    with lsm.open(path, "r") as db:
        assert dict(db.scan()) == contents | {b"after": b"the fork", b"from the child": b""}


def read_on_in_child(db, scan):
    """Read a scan to its end in a child, while locks are held as by another thread that scans, too."""
    held = [layer._lock for layer in db._space.view.layers]
    for lock in held:
        lock.acquire()
    try:
        return in_child(lambda: outcomes({"scan": lambda: list(scan)}), timeout=3)
    finally:
        for lock in held:
            lock.release()


def test_a_scan_of_before_the_fork_does_not_wait_for_a_lock(tmp_path):
    with lsm.open(tmp_path / "s", background="manual") as db:
        fill(db)
        scan = db.scan()
        assert read_on_in_child(db, scan) == {}
        assert len(list(scan)) == 61


def test_a_scan_begun_before_the_fork_does_not_wait_for_a_lock(tmp_path):
    with lsm.open(tmp_path / "s", background="manual") as db:
        db.update({b"%05d" % number: b"" for number in range(5000)})
        scan = db.scan()
        next(scan)
        assert read_on_in_child(db, scan) == {}
        assert len(list(scan)) == 4999


def test_a_scan_that_was_begun_ends_with_the_fork(tmp_path):
    with lsm.open(tmp_path / "s", background="manual") as db:
        db.update({b"1": b"", b"2": b"", b"3": b""})
        scan = db.scan()
        next(scan)
        assert in_child(lambda: outcomes({"scan": lambda: list(scan)})) == {}
        assert [key for key, _ in scan] == [b"2", b"3"]


def test_a_reader_in_the_child_is_of_no_more_use(tmp_path):
    path = tmp_path / "s"
    with lsm.open(path, background="manual") as db:
        fill(db)
        with lsm.open(path, "r") as reader:
            calls = Handles.read_calls(reader)
            calls |= {"refresh": reader.refresh, "stats": reader.stats, "snapshot": reader.snapshot}
            assert in_child(lambda: outcomes(calls)) == {}
            assert reader.refresh() == db.seq


def test_the_child_may_name_the_handle_and_close_it(tmp_path):
    with lsm.open(tmp_path / "s", background="thread") as db:

        def look():
            text = repr(db)
            db.close()
            db.close()
            return [db.path, text, db.is_read_only]

        path, text, _ = in_child(look)
        assert path == str(tmp_path / "s")
        assert "DB" in text


@pytest.mark.parametrize("background", ["manual", "thread", "process"])
def test_closing_and_collecting_in_the_child_changes_no_byte(tmp_path, background):
    path = tmp_path / "s"
    db = lsm.open(path, background=background, log_retention_bytes=0)
    fill(db)
    handles = [Handles(db)]
    while len(list(path.glob("*.log"))) > 1:
        time.sleep(
            0.01
        )  # flush() does not wait for the old segment to be removed; nothing else is to be done
    before = digest(path)

    def close_and_collect():
        held = handles.pop()
        held.snapshot.close()
        held.scan.close()
        held.changes.close()
        held.db.close()
        del held
        gc.collect()
        return digest(path)

    assert in_child(close_and_collect) == before
    assert digest(path) == before
    with pytest.raises(lsm.LockedError, match=f"pid {os.getpid()} on "):
        lsm.open(path, "w")  # the child has not let the lock go
    with db:
        db[b"after"] = b"the fork"
        handles.clear()
    with lsm.open(path, "w") as db:
        assert db[b"after"] == b"the fork"
        assert len(db) == 62


def test_the_child_opens_the_store_for_itself_as_any_other_process(tmp_path):
    path = tmp_path / "s"
    with lsm.open(path, background="manual") as db:
        fill(db)

        def look():
            try:
                lsm.open(path, "w").close()
            except lsm.LockedError as error:
                refusal = str(error)
            with lsm.open(path, "r") as reader:
                return [refusal, len(reader), reader[b"tail"].decode()]

        refusal, count, tail = in_child(look)
        assert f"pid {os.getpid()} on " in refusal
        assert (count, tail) == (61, "in the log")


def test_the_child_writes_once_the_parent_has_let_go(tmp_path):
    """The child's own copy of the parent's lock must not stand in anybody's way."""
    path = tmp_path / "s"
    db = lsm.open(path, background="manual")
    ready, go = os.pipe()

    def write():
        os.read(ready, 1)
        with lsm.open(path, "w", background="manual") as own:
            own[b"child"] = b"was here"
        return True

    def let_go():
        db.close()
        os.write(go, b"x")

    timer = threading.Timer(0.2, let_go)
    timer.start()
    try:
        assert in_child(write)
    finally:
        timer.join()
        os.close(ready)
        os.close(go)
    with lsm.open(path, "r") as reader:
        assert dict(reader) == {b"child": b"was here"}


def load(db, number):
    db.update({b"%d-%04d" % (number, index): b"x" * 2000 for index in range(1500)})
    db.flush()


def test_worker_processes_of_the_parent_are_unharmed(tmp_path):
    others = set(children_of(os.getpid()))
    with lsm.open(tmp_path / "s", **BIG) as db:
        for number in range(3):
            load(db, number)
        db.compact()
        workers = set(children_of(os.getpid())) - others
        assert workers

        def end():
            calls = outcomes({"flush": db.flush, "put": lambda: db.put(b"k", b"v")})
            db.close()
            gc.collect()
            return calls

        assert in_child(end) == {}

        for number in range(3, 6):
            load(db, number)
        db.compact()
        assert set(children_of(os.getpid())) - others == workers  # the same ones, and they still work
        assert db.stats().background.failure == ""
        assert len(db) == 9000
    assert set(children_of(os.getpid())) <= others
    assert lsm.verify(tmp_path / "s").problems == ()


def test_a_fork_in_the_midst_of_everything(tmp_path):
    """A lock that another thread held at the fork is held for ever in the child: nothing may wait for it."""
    path = tmp_path / "s"
    with lsm.open(path, background="thread", **(TINY | {"memtable_bytes_max": 20_000})) as db:
        is_over = threading.Event()
        written = []

        def write():
            while not is_over.is_set():
                db.put(b"k%d" % (len(written) % 60), b"%d" % len(written), sync=False)
                written.append(None)

        def read():
            while not is_over.is_set():
                with db.snapshot() as snapshot:
                    snapshot.get(b"k1")
                list(db.scan(limit=3))

        threads = [threading.Thread(target=target) for target in (write, read, read)]
        db.keyspace("orders")
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                handles = Handles(db)

                def end(held=handles):
                    wrong = outcomes(held.calls())
                    held.snapshot.close()
                    held.begun.close()
                    held.db.close()
                    gc.collect()
                    return wrong

                assert in_child(end) == {}
                handles.snapshot.close()
                handles.scan.close()
                handles.begun.close()
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        last = {b"k%d" % (number % 60): b"%d" % number for number in range(len(written))}
        assert dict(db.scan()) == last
    with lsm.open(path, "w") as db:
        assert dict(db.scan()) == last


@pytest.mark.parametrize("background", ["manual", "thread", "process"])
def test_a_child_that_ends_like_any_program_changes_no_byte(tmp_path, background):
    """With everything that the interpreter does at its end, and warnings for what was not closed."""
    path = tmp_path / "s"
    program = f"""
        import os, pathlib, time, lsm
        path = {str(path)!r}
        def names():
            return sorted(os.listdir(path))
        def state():
            return {{name: pathlib.Path(path, name).read_bytes() for name in names()}}
        db = lsm.open(path, background={background!r}, log_retention_bytes=0)
        db.update({{b"%d" % n: b"v" for n in range(100)}})
        scan, snapshot = db.scan(), db.snapshot()
        next(scan)
        db.flush()
        db[b"tail"] = b"v"
        while len([name for name in names() if name.endswith(".log")]) > 1:
            time.sleep(0.01)
        before = state()
        pid = os.fork()
        if pid:
            _, status = os.waitpid(pid, 0)
            assert status == 0, status
            assert state() == before
            db[b"parent"] = b"goes on"
            db.close()
    """
    command = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-X", "dev", "-c"]
    command.append(textwrap.dedent(program))
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    with lsm.open(path, "r") as db:
        assert db[b"parent"] == b"goes on"
        assert len(db) == 102
