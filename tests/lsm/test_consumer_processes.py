"""Consumers in several processes, on a real disk: writers and consumers that are killed, and who has one."""

import os
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
from tests.lsm.consumer_children import EAGER, OUTPUT

ROOT = Path(__file__).resolve().parent.parent.parent
MANUAL = {"background": "manual"}


@contextmanager
def child(*arguments):
    """Start a process of tests.lsm.consumer_children; it is killed when the block ends."""
    command = [sys.executable, "-m", "tests.lsm.consumer_children", *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said(process):
    return process.stdout.readline().rstrip("\n")


def killed(process):
    """Kill a process and return what it had said that was not read yet."""
    process.send_signal(signal.SIGKILL)
    lines = [line.rstrip("\n") for line in process.stdout]
    assert process.wait() == -signal.SIGKILL
    return [line for line in lines if line]


class Drain:
    """Reads what a process says in a thread, so that it never waits for us."""

    def __init__(self, process):
        self.lines = []
        self._thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._thread.start()

    def _read(self, process):
        self.lines.extend(line.rstrip("\n") for line in process.stdout)

    def join(self):
        self._thread.join(30)

    def last(self, word):
        return max((int(line.split()[1]) for line in list(self.lines) if line.startswith(word)), default=None)


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.005)


def outside_once(path, rng, seen):
    """Run a consumer beside the writer until it is killed; return what it had committed at the end."""
    with child("outside", path, "c") as process:
        word, at = said(process).split()
        assert word == "at"
        lines = [said(process) for _ in range(rng.randint(1, 12))]
        time.sleep(rng.uniform(0, 0.01))
        lines += killed(process)
    committed = int(at)
    for line in lines:
        word, number, *keys = line.split()
        if word == "committed":
            committed = int(number)
        elif word == "got":
            assert int(number) > committed
            seen.extend(map(int, keys))
    return int(at), committed


def test_a_consumer_that_is_killed_goes_on_where_it_had_committed(tmp_path, seed):
    """And the writer, which keeps no log for its own sake, keeps what the consumer needs."""
    rng = random.Random(seed)
    path = tmp_path / "db"
    seen, committed = [], 0
    with lsm.open(path, **EAGER) as db:
        db.consumer("c").close()
    with child("writer", path, 0) as process:
        drain = Drain(process)
        until(lambda: drain.last("ack") is not None)
        for _ in range(8):
            at, after = outside_once(path, rng, seen)
            assert at >= committed, "a position that was acknowledged is lost"
            committed = after
        process.kill()
        drain.join()
    with lsm.open(path, "r") as db:
        assert db.log.earliest > 1, "nothing was ever trimmed: the test shows nothing"
        assert db.log.earliest <= committed + 1
        with db.consumer("c") as consumer:
            assert consumer.position >= committed
            while changes := consumer.poll():
                seen.extend(int(change.key) for change in changes)
    # Nothing is missing: what is new continues what was seen before, what is old was seen before.
    highest = -1
    for number in seen:
        assert number <= highest + 1, f"{highest + 1} to {number - 1} were never seen"
        highest = max(highest, number)
    assert highest >= drain.last("ack")


def test_a_consumer_goes_on_over_the_deaths_of_its_writer(tmp_path, seed):
    """Every acknowledged write is seen once and in order; nothing is seen that a crash has undone."""
    rng = random.Random(seed)
    path = tmp_path / "db"
    with lsm.open(path, **EAGER) as db:
        db.consumer("c").close()
    seen = []
    with lsm.open(path, "r") as db, db.consumer("c") as consumer:
        for _ in range(6):
            first = len(seen)
            with child("writer", path, first) as process:
                assert said(process) == "open"
                drain = Drain(process)
                end = time.monotonic() + rng.uniform(0.05, 0.4)
                while time.monotonic() < end:
                    changes = consumer.poll(timeout=0.02)
                    seen.extend(int(change.key) for change in changes)
                    consumer.commit()
                process.kill()
                drain.join()
            while changes := consumer.poll():
                seen.extend(int(change.key) for change in changes)
            consumer.commit()
            assert seen == list(range(len(seen)))
            assert len(seen) > (drain.last("ack") if drain.last("ack") is not None else first - 1)
    with lsm.open(path, "w", **EAGER) as db:
        assert len(db) == len(seen)
        assert [info.lag for info in db.consumers()] == [0]


def test_output_and_position_of_a_killed_writer_are_one(tmp_path, seed):
    """Exactly once: every change up to the position was counted once, and none after it."""
    rng = random.Random(seed)
    path = tmp_path / "db"
    number = 0
    committed = 0
    for _ in range(8):
        with child("inside", path, number) as process:
            lines = [said(process) for _ in range(rng.randint(1, 40))]
            time.sleep(rng.uniform(0, 0.01))
            lines += killed(process)
        acknowledged = max(int(line.split()[2]) for line in lines)
        with lsm.open(path, "w", **EAGER) as db:
            output = dict(db.keyspace(OUTPUT).items())
            assert set(output.values()) <= {b"1"}, "a change was dealt with twice"
            with db.consumer("copy", start=None) as consumer:
                committed = consumer.committed
                assert committed >= acknowledged >= 0
                later = {change.key for change in consumer.poll(10**6) if change.keyspace != OUTPUT}
            numbers = {key for key, _ in db.scan()}
            assert output.keys() == numbers - later
            number = len(numbers)
    assert len(output) > 20


@pytest.mark.parametrize(("first", "second"), [("w", "r"), ("r", "w"), ("r", "r")])
def test_a_consumer_in_use_by_another_process(tmp_path, first, second):
    path = tmp_path / "db"
    with lsm.open(path, **MANUAL) as db:
        db.consumer("c").close()
    with child("holder", path, first, "c") as process:
        assert said(process) == "open"
        with lsm.open(path, "r") as db:
            with pytest.raises(lsm.ConsumerBusy, match=f"pid {process.pid} "):
                db.consumer("c")
            with pytest.raises(lsm.ConsumerBusy):
                db.drop_consumer("c")
            db.consumer("other").close()
        process.kill()
        process.wait()
        # The lock dies with its process.
        with lsm.open(path, second, **MANUAL) as db, db.consumer("c"):
            pass


def test_a_forked_child_has_no_consumer(tmp_path):
    with lsm.open(tmp_path / "db", **MANUAL) as db, db.consumer("c") as consumer:
        pid = os.fork()
        if pid == 0:
            try:
                consumer.poll()
            except lsm.ForkedError:
                consumer.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        with lsm.open(tmp_path / "db", "r") as reader, pytest.raises(lsm.ConsumerBusy):
            reader.consumer("c")


def test_a_dead_consumer_beyond_its_cap_does_not_fill_the_disk(tmp_path):
    path = tmp_path / "db"
    with lsm.open(path, **EAGER) as db:
        with lsm.open(path, "r") as reader, reader.consumer("dead", max_lag_bytes=20_000):
            pass
        for number in range(2000):
            db.put(b"%08d" % number, b"x" * 50)
        db.flush()
        until(lambda: sum(segment.is_closed for segment in db.log.segments) < 10)
        (info,) = db.consumers()
        assert info.is_dropped
        with lsm.open(path, "r") as reader, reader.consumer("dead", max_lag_bytes=20_000) as consumer:
            with pytest.raises(lsm.ConsumerDropped):
                consumer.poll()
            consumer.seek("latest")
            db.put(b"new", b"1")
            assert [change.key for change in consumer.poll(timeout=10)] == [b"new"]
