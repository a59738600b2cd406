"""Followers and real processes: writers and followers that are killed, and streams through pipes."""

import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import lsm
from tests.lsm.children import SECOND, TINY

KEEP = {"log_retention": "all"}
ROOT = Path(__file__).resolve().parent.parent.parent

WRITE = """
import sys
from tests.lsm.children import write_for_ever
write_for_ever(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), "thread")
"""
SHIP = """
import lsm, sys
lsm.ship(sys.argv[1], sys.stdout.buffer, since=int(sys.argv[2]) or None, follow=True)
"""
SHIP_ONCE = "import lsm, sys; lsm.ship(sys.argv[1], sys.stdout.buffer)"
APPLY = "import lsm, sys; print(lsm.apply(sys.stdin.buffer, sys.argv[1]))"
FOLLOW = """
import lsm, sys, time
with lsm.follow(sys.argv[1], sys.argv[2], options={"background": "thread"}) as follower:
    while True:
        print(follower.catch_up(), flush=True)
        time.sleep(0.001)
"""


@contextmanager
def python(code, *arguments, **how):
    """Run a piece of Python in a process of its own, which is gone when the block ends."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, **how) as process:
        try:
            yield process
        finally:
            process.kill()


def writer(path, seed, number):
    """Run a process that writes from `number` on, saying which writes have returned, until it is killed."""
    if not path.exists():
        lsm.open(path, **TINY, **KEEP).close()  # options stay with the store
    return python(WRITE, path, seed, number, text=True)


def read_acks(process, count):
    """Wait until so many writes have returned."""
    for _ in range(count):
        line = process.stdout.readline()
        assert line.startswith("ack "), line


def kill(process):
    """Kill a process, and read the lines that it had said whole."""
    process.send_signal(signal.SIGKILL)
    lines = [line for line in process.stdout if line.endswith("\n")]
    process.wait()
    return lines


def assert_same(copy, source):
    with lsm.open(copy, "r") as ours, lsm.open(source, "r") as theirs:
        assert ours.seq == theirs.seq
        assert ours.keyspaces() == theirs.keyspaces()
        for name in ours.keyspaces():
            assert dict(ours.keyspace(name).scan()) == dict(theirs.keyspace(name).scan())
        since = max(ours.log.earliest, theirs.log.earliest) - 1
        assert list(ours.changes(since)) == list(theirs.changes(since))
    assert lsm.verify(copy).is_sound


def wait_for(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.005)


def test_a_writer_that_is_killed_and_comes_back_is_followed_on(tmp_path, seed):
    source, copy = tmp_path / "source", tmp_path / "copy"
    rng = random.Random(seed)
    with writer(source, seed, 0) as process:
        read_acks(process, 20)
        follower = lsm.follow(source, copy, background=True, options={"background": "thread"})
        read_acks(process, rng.randint(1, 200))
        kill(process)
    with follower:
        for round_ in range(1, 4):
            before = follower.seq
            with writer(source, seed, 1000 * round_) as process:
                read_acks(process, rng.randint(50, 300))
                wait_for(lambda before=before: follower.seq > before)
                kill(process)
        follower.catch_up()
        assert follower.error is None
        assert follower.lag == 0
    assert_same(copy, source)


def test_a_follower_that_is_killed_goes_on_where_it_was(tmp_path, seed):
    source, copy = tmp_path / "source", tmp_path / "copy"
    rng = random.Random(seed)
    with writer(source, seed, 0) as process:
        read_acks(process, 20)
        threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True).start()
        reached = 0
        for _ in range(4):
            with python(FOLLOW, source, copy, text=True) as follower:
                for _ in range(rng.randint(1, 30)):
                    seq = int(follower.stdout.readline())
                    assert seq >= reached
                    reached = seq
                time.sleep(rng.random() / 50)
                reached = max([reached, *map(int, kill(follower))])
        process.kill()
    with lsm.follow(source, copy, options={"background": "manual"}) as follower:
        assert follower.seq >= reached
        follower.catch_up()
    assert_same(copy, source)


def test_a_store_goes_through_a_pipe(tmp_path):
    with lsm.open(tmp_path / "source", background="manual", log_retention_bytes=0, **TINY) as db:
        for number in range(500):
            db.put(b"%d" % (number % 90), b"%d" % number)
        db.keyspace(SECOND).put(b"k", b"v")
        assert db.log.earliest > 1  # a snapshot comes first
        with (
            python(SHIP_ONCE, tmp_path / "source") as shipping,
            python(APPLY, tmp_path / "copy", stdin=shipping.stdout) as applying,
        ):
            shipping.stdout.close()
            assert int(applying.communicate(timeout=60)[0]) == db.seq
            assert shipping.wait() == applying.returncode == 0
        assert_same(tmp_path / "copy", tmp_path / "source")


@pytest.mark.parametrize("victim", ["shipping", "applying"])
def test_a_pipe_that_breaks_is_taken_up_again(tmp_path, seed, victim):
    source, copy = tmp_path / "source", tmp_path / "copy"
    rng = random.Random(seed)
    at = 0
    with lsm.open(source, background="thread", **TINY, **KEEP) as db:
        for round_ in range(3):
            with (
                python(SHIP, source, at) as shipping,
                python(APPLY, copy, stdin=shipping.stdout, stderr=subprocess.PIPE) as applying,
            ):
                shipping.stdout.close()
                for number in range(rng.randint(20, 200)):
                    db.put(b"%d" % (number % 90), b"%d %d" % (round_, number))
                wait_for(lambda at=at: position(copy) > at)
                {"shipping": shipping, "applying": applying}[victim].send_signal(signal.SIGKILL)
                if victim == "shipping":
                    applying.communicate(timeout=60)  # ends at the end of the stream, well or in a frame
                else:
                    assert shipping.stdout is not None
                    db.put(b"one", b"more")
                    wait_for(lambda process=shipping: process.poll() is not None)
                    assert shipping.returncode != 0  # nobody reads
            assert position(copy) >= at
            at = position(copy)
        with python(SHIP_ONCE, source) as shipping:
            out = shipping.communicate(timeout=60)[0]
        (tmp_path / "stream").write_bytes(out)
        with (tmp_path / "stream").open("rb") as stream:
            assert lsm.apply(stream, copy) == db.seq
        assert_same(copy, source)


def position(path):
    try:
        with lsm.open(path, "r") as db:
            return db.seq
    except lsm.Error:
        return 0


def test_a_copy_takes_over_from_a_writer_that_died(tmp_path, seed):
    source, copy = tmp_path / "source", tmp_path / "copy"
    with writer(source, seed, 0) as process:
        read_acks(process, 100)
        follower = lsm.follow(source, copy, options={"background": "thread"})
        read_acks(process, 100)
        kill(process)
    last = follower.catch_up()
    with follower.promote() as db:
        db.put(b"taken", b"over")
        assert db.seq == last + 1
    with lsm.open(source) as old:  # it comes back, and does not know
        old.put(b"not", b"known")
    for ours, theirs in ((copy, source), (source, copy)):
        with pytest.raises(lsm.ForeignLog):
            lsm.follow(theirs, ours)
    with lsm.open(copy) as db:
        assert db[b"taken"] == b"over"
