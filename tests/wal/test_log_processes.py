"""A log and several real processes: writers that are killed, readers that go on, forked children."""

import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import wal
from tests.wal.memory_directory import payloads

ROOT = Path(__file__).resolve().parent.parent.parent
WAIT_SECONDS = 60

WRITER = """
import sys, wal
with wal.Log.open(sys.argv[1], segment_bytes=4096, sync=sys.argv[2] == "sync") as log:
    number = log.latest
    while number < int(sys.argv[3]):
        group = [b"%d" % (number + at + 1) * 20 for at in range(1 + number % 3)]
        first = log.append_many(group)
        number = first + len(group) - 1
        if number % 50 < 3 and sys.argv[2] != "sync":
            log.sync()
        print(log.latest, flush=True)
    sys.stdin.read()
"""
READER = """
import sys, wal
with wal.Log.open(sys.argv[1], read_only=True) as log:
    for entry in log.read(1, until=int(sys.argv[2]), follow=True, timeout=60):
        assert entry.payload == b"%d" % entry.offset * 20
        print(entry.offset, flush=True)
"""


def start(source: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def expected(count: int) -> list[bytes]:
    return [b"%d" % (number + 1) * 20 for number in range(count)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


@pytest.mark.parametrize("mode", ["sync", "later"])
def test_a_killed_writer_loses_nothing_that_it_acknowledged(path, mode):
    acknowledged, seen = 0, 0
    for _ in range(4):
        with start(WRITER, path, mode, 10**9) as writer:
            for _ in range(60):
                acknowledged = int(writer.stdout.readline())
            with wal.Log.open(path, read_only=True) as outside:
                assert outside.latest >= acknowledged, "what its writer sees, everybody sees"
                seen = outside.latest
                assert payloads(outside, until=seen) == expected(seen)
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read().split()
            # The last line may be cut off with the process.
            acknowledged = max([acknowledged, *map(int, rest[:-1])])
        with wal.Log.open(path, read_only=True) as outside:
            assert outside.latest >= max(acknowledged, seen)
            assert payloads(outside) == expected(outside.latest)
            seen = outside.latest
    with wal.Log.open(path) as log:
        assert log.latest >= seen
        assert payloads(log) == expected(log.latest)


def test_readers_go_on_while_writers_come_and_go(path):
    wal.Log.open(path).close()
    total = 600
    with start(READER, path, total) as slow, start(READER, path, total) as quick:
        for upto in (200, 400):
            with start(WRITER, path, "sync", 10**9) as writer:
                while int(writer.stdout.readline()) < upto:
                    pass
                writer.send_signal(signal.SIGKILL)
        with start(WRITER, path, "sync", total) as writer:
            writer.communicate("", WAIT_SECONDS)
        for reader in (slow, quick):
            offsets, _ = reader.communicate("", WAIT_SECONDS)
            assert reader.returncode == 0
            assert list(map(int, offsets.split())) == list(range(1, total + 1))


def test_a_writer_in_another_process_keeps_writers_out_until_it_is_gone(path):
    with start(WRITER, path, "sync", 1) as writer:
        assert int(writer.stdout.readline()) == 1
        with pytest.raises(wal.LogLocked):
            wal.Log.open(path)
        with wal.Log.open(path, read_only=True) as outside:
            assert payloads(outside) == expected(1)
        writer.send_signal(signal.SIGKILL)
    with wal.Log.open(path) as log:
        assert log.latest == 1


def test_looking_readers_do_not_keep_a_writer_out(path):
    wal.Log.open(path).close()
    with start(READER, path, 20), wal.Log.open(path, read_only=True) as outside:
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            assert outside.latest >= 0
            wal.Log.open(path).close()
        with wal.Log.open(path) as log:
            log.append_many(expected(20))


def in_child(work) -> int:
    """Run something in a forked child; return its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        with suppress(BaseException):
            work()
            status = 0
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_child_has_no_part_in_the_log_of_its_parent(path):
    with wal.Log.open(path) as log, wal.Log.open(path, read_only=True) as outside:
        log.append(b"one")
        reading = log.read(1)

        def misuse() -> None:
            for use in (lambda: log.append(b"x"), log.sync, lambda: log.read(1), lambda: next(reading)):
                with pytest.raises(wal.LogClosed, match="parent process"):
                    use()
            assert payloads(outside) == [b"one"], "a reader may go with the child"
            with pytest.raises(wal.LogLocked):
                wal.Log.open(path)
            log.close()

        assert in_child(misuse) == 0
        assert log.append(b"two") == 2
        with pytest.raises(wal.LogLocked):
            wal.Log.open(path)
    with wal.Log.open(path) as log:
        assert payloads(log) == [b"one", b"two"]


def test_a_child_that_lives_on_does_not_keep_the_log_locked(path):
    source = """
import os, sys, time, wal
log = wal.Log.open(sys.argv[1])
log.append(b"one")
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(60)
"""
    with start(source, path) as parent:
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait(WAIT_SECONDS)
        try:
            with wal.Log.open(path) as log:
                assert payloads(log) == [b"one"]
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forgotten_log_is_complained_about_and_lets_others_in(path):
    log = wal.Log.open(path)
    log.append(b"one")
    with pytest.warns(ResourceWarning, match="never closed"):  # noqa: PT031  # it is part of a cycle
        del log
        gc.collect()
    with wal.Log.open(path) as log:
        assert payloads(log) == [b"one"]
