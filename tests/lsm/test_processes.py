"""Several processes and one store, on a real disk: kills, locks, readers beside a writer."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import lsm
from tests.lsm.children import SECOND, TINY, children_of, pairs_into, wait_until_gone, write_of

ROOT = Path(__file__).resolve().parent.parent.parent
MANUAL = {"background": "manual"}


@contextmanager
def child(*arguments, before=()):
    """Start a process of tests.lsm.children; it is gone when the block ends."""
    command = [*before, sys.executable, "-m", "tests.lsm.children", *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def ask(process, line=""):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline().rstrip("\n")


def listing(path):
    return sorted(os.listdir(path))


# Kills


class Survivor:
    """A store whose writers are killed, and what it must hold: `done` writes of the history of `seed`."""

    def __init__(self, path, seed):
        self.path = path
        self.seed = seed
        self.done = 0
        self.contents = {}
        self.in_flight_survived = 0

    def check(self, acknowledged):
        """Every acknowledged write is there, and of the one in flight all or nothing; nothing else."""
        while self.done < acknowledged:
            self._apply(self.done)
        with lsm.open(self.path, "r") as db:
            seen_by_reader = self._read(db)
        with lsm.open(self.path, "w", background="manual", **TINY) as db:
            seen = self._read(db)
        assert seen == seen_by_reader
        if seen != self.contents:
            self._apply(self.done)
            self.in_flight_survived += 1
        assert seen == self.contents, f"neither {acknowledged} nor {acknowledged + 1} writes"

    def _apply(self, number):
        for place, value in write_of(self.seed, number).entries.items():
            if value is None:
                self.contents.pop(place, None)
            else:
                self.contents[place] = value
        self.done = number + 1

    @staticmethod
    def _read(db):
        return {(name, key): value for name in db.keyspaces() for key, value in db.keyspace(name).scan()}


def acknowledged_until_end(process, acknowledged):
    """Read what the killed writer still had said; return the number of acknowledged writes."""
    for line in process.stdout:
        word, number = line.split()
        if word == "end":
            assert int(number) == -signal.SIGKILL, "the writer ended by itself"
            return acknowledged
        acknowledged = int(number) + 1
    raise AssertionError("the process that starts writers has ended")


def kill_and_check(path, seed, cycles):
    print(f"seed {seed}")
    rng = random.Random(seed)
    store = Survivor(path, seed)
    with lsm.open(path, "n", **TINY, **MANUAL) as db:
        db.keyspace(SECOND)
    acknowledged_in_all = 0
    with child("victims") as process:
        for cycle in range(cycles):
            background = rng.choice(["manual", "thread", "process"])
            before = store.done
            started = ask(process, f"{path}\t{seed}\t{before}\t{background}")
            pid = int(started.removeprefix("pid "))
            acknowledged = before
            # A third dies while it opens the store, the others after some writes, each at any moment of one.
            if rng.random() < 0.33:
                time.sleep(rng.uniform(0, 0.03))
            else:
                for _ in range(rng.randint(1, 60)):
                    acknowledged = int(process.stdout.readline().split()[1]) + 1
                time.sleep(rng.uniform(0, 0.005))
            os.kill(pid, signal.SIGKILL)
            acknowledged = acknowledged_until_end(process, acknowledged)
            acknowledged_in_all += acknowledged - before
            store.check(acknowledged)
            if cycle % 10 == 9:
                assert lsm.verify(path).problems == ()
    assert acknowledged_in_all > 5 * cycles
    with lsm.open(path, "r") as db:
        assert any(level.tables for stats in db.stats().keyspaces for level in stats.levels[1:])
    # Nothing is left behind by all those ends: as many files as one opening and its tables need.
    with lsm.open(path, "w", **MANUAL) as db:
        tables = sum(level.tables for stats in db.stats().keyspaces for level in stats.levels)
        assert len(list(path.glob("*.sst"))) == tables
        assert len(list(path.glob("MANIFEST-*"))) == 1
    return store


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path, seed):
    kill_and_check(tmp_path / "s", seed, 40)


@pytest.mark.slow
def test_kill_9_a_thousand_times(tmp_path, seed):
    store = kill_and_check(tmp_path / "s", seed, 1000)

    assert store.in_flight_survived > 0  # else no kill ever met a write


def test_a_killed_writer_leaves_no_worker_and_no_lock(tmp_path):
    with child("busy", tmp_path / "s") as process:
        last, *workers = map(int, process.stdout.readline().split())
        while not workers:
            last, *workers = map(int, process.stdout.readline().split())
        process.kill()
        process.wait()
        said = process.stdout.read().splitlines()
        last = int(said[-1].split()[0]) if said else last

        with lsm.open(tmp_path / "s", "w") as db:  # at once, beside a worker that may still be at it
            assert int(db[b"last"]) in (last, last + 1)
            db.put(b"more", b"fine")
            db.compact()
            for worker in workers:
                wait_until_gone(worker)
            assert len(list(db.scan(prefix=b"1-"))) == 1500
            assert db[b"more"] == b"fine"
    assert lsm.verify(tmp_path / "s").problems == ()


def test_a_worker_that_slept_through_the_end_of_its_store_harms_nothing(tmp_path):
    """The worst case of the above: it wakes up when another writer has been at work for a while."""
    with child("busy", tmp_path / "s") as process:
        workers = []
        while not workers:
            _, *workers = map(int, process.stdout.readline().split())
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        process.kill()
        process.wait()

        try:
            with lsm.open(tmp_path / "s", "w", **MANUAL) as db:
                before = dict(db.scan())
                db.put(b"more", b"fine")
                db.compact()
                for worker in workers:
                    os.kill(worker, signal.SIGCONT)
                    wait_until_gone(worker)
                db.put(b"and", b"more")
                db.flush()
                assert dict(db.scan()) == before | {b"more": b"fine", b"and": b"more"}
        finally:
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
    assert lsm.verify(tmp_path / "s").problems == ()
    with lsm.open(tmp_path / "s", "r") as db:
        assert dict(db.scan()) == before | {b"more": b"fine", b"and": b"more"}


# Locks


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "s"
    with lsm.open(path, **MANUAL) as db:
        db.update({b"k%02d" % number: b"v" for number in range(20)})
        db.flush()
        db[b"tail"] = b"in the log"
    return path


def test_a_second_writer_in_another_process_is_told_who_has_the_store(store):
    with lsm.open(store, "w", **MANUAL) as db:
        before = listing(store)
        with child("holder", store) as process:
            answer = process.stdout.readline()
            assert answer.startswith("locked ")
            assert f"pid {os.getpid()} on " in answer
            assert process.wait(timeout=30) == 0
        assert listing(store) == before
        db[b"still"] = b"writable"


def test_a_second_writer_in_this_process_is_told_who_has_the_store(store):
    with lsm.open(store, "w", **MANUAL) as db:
        for flag in ("w", "c", "n"):
            with pytest.raises(lsm.LockedError, match=f"pid {os.getpid()} on "):
                lsm.open(store, flag)
        db[b"still"] = b"writable"
    with lsm.open(store, "w", **MANUAL) as db:
        assert db[b"still"] == b"writable"


def test_a_lock_is_free_when_its_process_was_killed_and_not_before(store):
    with child("holder", store) as process:
        pid = int(process.stdout.readline().removeprefix("open "))
        with pytest.raises(lsm.LockedError, match=f"pid {pid} on "):
            lsm.open(store, "w")
        os.kill(pid, signal.SIGSTOP)  # one that merely does not answer is still the writer
        with pytest.raises(lsm.LockedError, match=f"pid {pid} on "):
            lsm.open(store, "w")
        process.kill()
        process.wait()

        with lsm.open(store, "w", **MANUAL) as db:
            assert db[b"tail"] == b"in the log"


# Readers

KEYS = 40


def history(last):
    """Return what the store holds after write `last` of the reader tests."""
    pairs = {"n": str(last)}
    for number in range(max(0, last - KEYS + 1), last + 1):
        if number % 7:
            pairs[f"key-{number % KEYS:02d}"] = str(number)
    return pairs


class Writing:
    """A thread that writes the history, and knows how far it was acknowledged."""

    def __init__(self, db):
        self.db = db
        self.acknowledged = -1
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        number = 0
        while not self._is_over.is_set():
            key = b"key-%02d" % (number % KEYS)
            with self.db.batch() as batch:
                batch.put(b"n", b"%d" % number)
                if number % 7:
                    batch.put(key, b"%d" % number)
                else:
                    batch.delete(key)
            self.acknowledged = number
            number += 1
            if number % 50 == 0:
                self.db.compact()

    def __enter__(self):
        self._thread.start()
        while self.acknowledged < 0:
            time.sleep(0.001)
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()


def test_readers_in_other_processes_see_a_prefix_with_all_that_was_acknowledged(tmp_path):
    path = tmp_path / "s"
    with (
        lsm.open(path, background="thread", **TINY) as db,
        Writing(db) as writing,
        child("reader", path) as one,
        child("reader", path) as two,
    ):
        seen = rounds = 0
        while rounds < 25 or seen < 150:
            rounds += 1
            assert rounds < 1000, "the writer does not get on"
            for reader in (one, two):
                before = writing.acknowledged
                answer = json.loads(ask(reader))
                after = writing.acknowledged
                last = int(answer["pairs"]["n"])
                assert before <= last <= after + 1
                assert last >= seen  # never back, whichever process looks
                seen = last
                assert answer["pairs"] == history(last)
                assert answer["agree"]
        assert any(level.tables for level in db.stats().keyspaces[0].levels[1:])


def test_a_reader_makes_no_file_and_changes_none(store):
    def state():
        return {
            file.name: (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino)
            for file in store.iterdir()
        }

    (store / "LOCK").unlink()
    before = state()

    with child("reader", store) as process:
        answer = json.loads(ask(process))
        assert answer["listing"] == sorted(before)
        assert len(answer["pairs"]) == 21
        assert state() == before
        process.stdin.close()
        assert process.wait(timeout=30) == 0
    assert state() == before


def read_only_mount(path):
    """Return the words before a command that let it see `path` on a read-only mount, in a namespace of its
    own, so that nothing is left to unmount."""
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(path)]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_reader_works_where_nothing_can_be_written(store):
    before = listing(store)
    with child("holder", store, before=read_only_mount(store)) as process:
        assert process.wait(timeout=30) != 0, "the mount takes writes"

    with child("reader", store, before=read_only_mount(store)) as process:
        answer = json.loads(ask(process))

    assert len(answer["pairs"]) == 21
    assert answer["agree"]
    assert listing(store) == before


def test_a_spawned_process_reads_beside_the_writer(store):
    context = multiprocessing.get_context("spawn")
    with lsm.open(store, "w", **MANUAL) as db:
        db[b"fresh"] = b"acknowledged"
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=pairs_into, args=(theirs, str(store)))
        process.start()
        theirs.close()
        try:
            pairs, refusal = ours.recv()
        finally:
            ours.close()
            process.join()
            exit_code = process.exitcode
            process.close()

        assert exit_code == 0
        assert pairs == list(db.scan())
        assert "read-only" in refusal


def test_workers_end_with_their_store(tmp_path):
    before = set(children_of(os.getpid()))
    with lsm.open(tmp_path / "s", background="process", memory_limit="32MiB") as db:
        for number in range(3):
            db.update({b"%d-%04d" % (number, index): b"x" * 2000 for index in range(1500)})
            db.flush()
        db.compact()
        workers = set(children_of(os.getpid())) - before
        assert workers
    for worker in workers:
        wait_until_gone(worker)
