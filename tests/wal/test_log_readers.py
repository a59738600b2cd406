"""Many readers of one log, each at its own pace, and none of them ahead of what is durable."""

import random
import threading
import time

import pytest

import wal
from tests.wal.memory_directory import MemoryDirectory, open_log, payloads

WAIT_SECONDS = 30


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


def outside_of(log: wal.Log) -> wal.Log:
    return wal.Log(log._view.directory)


def test_readers_stand_where_they_stand():
    log = open_log(segment_bytes=1024)
    for number in range(100):
        log.append(b"%d" % number + bytes(50))
    fast, slow, outside = log.read(1), log.read(50), outside_of(log).read(1)
    seen = [next(fast).offset for _ in range(90)]
    assert [next(slow).offset for _ in range(3)] == [50, 51, 52]
    assert [next(outside).offset for _ in range(3)] == [1, 2, 3]
    log.append(b"more")

    assert seen + [entry.offset for entry in fast] == list(range(1, 101)), "it ends where the log ended"
    assert [entry.offset for entry in slow] == list(range(53, 101))
    assert [entry.offset for entry in outside] == list(range(4, 101))


@pytest.mark.parametrize("view_of", [lambda log: log, outside_of], ids=["inside", "outside"])
def test_a_follower_gets_what_comes_later(view_of):
    log = open_log(segment_bytes=1024)
    log.append(b"one")
    reading = view_of(log).read(1, follow=True, timeout=WAIT_SECONDS)
    assert next(reading).payload == b"one"
    for number in range(60):
        offset = log.append_many([b"%d" % number + bytes(100), b"x"])
        assert [next(reading).offset, next(reading).offset] == [offset, offset + 1]


@pytest.mark.parametrize("view_of", [lambda log: log, outside_of], ids=["inside", "outside"])
def test_a_follower_gives_up_after_its_timeout(view_of):
    log = open_log(sync=False)
    log.append(b"one", sync=True)
    log.append(b"not durable")
    start = time.monotonic()

    assert payloads(view_of(log), 1, follow=True, timeout=0.05) == [b"one"]
    assert 0.04 < time.monotonic() - start < WAIT_SECONDS
    assert payloads(view_of(log), 2, follow=True, timeout=0) == []


def test_a_follower_may_stand_further_ahead_than_what_is_durable():
    log = open_log(sync=False)
    reading = log.read(1, follow=True, timeout=WAIT_SECONDS)
    log.append_many([b"one", b"two"])
    log.append(b"three")
    log.append(b"four")
    ahead = log.read(4, follow=True, timeout=WAIT_SECONDS)
    syncing = threading.Timer(0.05, log.sync)
    # As a sync beside the appends would leave it: durable to 2 for now.
    log._writer._durable = 2
    syncing.start()

    assert next(ahead).payload == b"four"
    assert [next(reading).payload for _ in range(4)] == [b"one", b"two", b"three", b"four"]
    syncing.join()


def test_a_follower_ends_at_until():
    log = open_log()
    log.append_many([b"one", b"two", b"three"])

    assert payloads(log, 1, until=2, follow=True) == [b"one", b"two"]


def test_a_follower_wakes_up_when_something_is_durable_and_not_before(path):
    with wal.Log.open(path, sync=False) as log, wal.Log.open(path, read_only=True) as outside:
        got: list[int] = []
        readers = [
            threading.Thread(target=lambda view=view: got.append(next(view.read(1, follow=True)).offset))
            for view in (log, outside)
        ]
        for reader in readers:
            reader.start()
        log.append(b"one")
        time.sleep(0.1)
        assert got == []
        log.sync()
        for reader in readers:
            reader.join(WAIT_SECONDS)
        assert got == [1, 1]


def test_a_close_wakes_followers():
    log = open_log()
    outcome: list[object] = []

    def follow() -> None:
        try:
            next(log.read(1, follow=True))
        except wal.LogClosed as error:
            outcome.append(error)

    reader = threading.Thread(target=follow)
    reader.start()
    time.sleep(0.05)
    log.close()
    reader.join(WAIT_SECONDS)

    assert len(outcome) == 1


def test_writers_and_readers_in_many_threads(path, seed):
    print(f"seed {seed}")
    writers, each = 4, 150
    total = writers * each
    errors: list[BaseException] = []

    def write(log: wal.Log, number: int) -> None:
        rng, left = random.Random(seed + number), each
        while left:
            count = min(left, rng.randrange(1, 4))
            group = [b"%d:%d" % (number, each - left + at) + bytes(rng.randrange(50)) for at in range(count)]
            log.append_many(group, sync=rng.random() < 0.3)
            left -= count
        log.sync()

    def read(log: wal.Log, results: list[list[wal.Entry]]) -> None:
        results.append(list(log.read(1, until=total, follow=True, timeout=WAIT_SECONDS)))

    def guarded(work, *arguments) -> threading.Thread:
        def run() -> None:
            try:
                work(*arguments)
            except BaseException as error:  # noqa: BLE001  # reported by the main thread
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    results: list[list[wal.Entry]] = []
    with wal.Log.open(path, segment_bytes=4096) as log, wal.Log.open(path, read_only=True) as outside:
        threads = [guarded(read, view, results) for view in (log, outside, log, outside)]
        threads += [guarded(write, log, number) for number in range(writers)]
        for thread in threads:
            thread.join(WAIT_SECONDS)
        assert not errors
        assert results == [list(log.read(1))] * 4
    assert [entry.offset for entry in results[0]] == list(range(1, total + 1))
    everything = [entry.payload.rstrip(b"\0") for entry in results[0]]
    for number in range(writers):
        mine = [payload for payload in everything if payload.startswith(b"%d:" % number)]
        assert mine == [b"%d:%d" % (number, at) for at in range(each)]


def test_group_commit_shares_syncs():
    directory = MemoryDirectory()
    with open_log(directory) as log:
        file = directory.files["00000000000000000001.wal"]
        gate, before = threading.Event(), file.syncs

        def slow(operation: str, name: str) -> None:
            if operation == "sync":
                gate.wait(WAIT_SECONDS)

        directory.fault = slow
        threads = [threading.Thread(target=log.append, args=(b"%d" % number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        while len(log._writer._queue.waiting) < 19:
            time.sleep(0.001)
        gate.set()
        for thread in threads:
            thread.join(WAIT_SECONDS)
        assert log.latest == 20
        assert file.syncs - before == 2


def test_a_reader_that_was_overtaken_by_a_trim_hears_of_it():
    log = open_log(segment_bytes=1024)
    for _ in range(100):
        log.append(bytes(300))
    views = [log, outside_of(log)]
    readings = [view.read(1) for view in views]
    for reading in readings:
        next(reading)
    log.trim(80)
    for view, reading in zip(views, readings, strict=True):
        with pytest.raises(wal.OffsetGone) as caught:
            list(reading)
        assert 1 < caught.value.requested < caught.value.earliest <= 80
        assert caught.value.latest == 100
        assert len(payloads(view, caught.value.earliest)) == 101 - caught.value.earliest


def test_a_reader_is_not_held_back_while_the_next_writer_opens():
    directory = MemoryDirectory()
    log = open_log(directory, sync=False)
    log.append(b"one", sync=True)
    log.append(b"two")
    directory = directory.after_kill()
    outside = wal.Log(directory)
    assert outside.latest == 2, "no writer: it was made durable here"
    seen = []

    def look(operation: str, name: str) -> None:
        if operation not in ("tell", "read"):
            seen.append(outside.latest)

    directory.fault = look
    with open_log(directory) as log:
        assert log.latest == 2
    assert seen
    assert set(seen) == {2}


def test_readers_of_a_group_may_read_what_the_directory_lets_them(path):
    path.mkdir(mode=0o750)
    with wal.Log.open(path) as log:
        log.append(b"one")
        modes = {file.stat().st_mode & 0o777 for file in path.iterdir()}
    assert modes == {0o640}
    with wal.Log.open(path.with_name("own")) as log:
        log.append(b"one")
    assert path.with_name("own").stat().st_mode & 0o777 == 0o700


def test_what_a_killed_writer_left_is_made_durable_before_it_is_shown():
    directory = MemoryDirectory()
    log = open_log(directory, sync=False)
    log.append(b"one")
    file = directory.files["00000000000000000001.wal"]
    assert file.synced_bytes < file.size
    directory.is_locked = False  # as after a SIGKILL

    assert payloads(wal.Log(directory)) == [b"one"]
    assert file.synced_bytes == file.size


def test_a_reader_sees_what_several_writers_left_behind():
    directory = MemoryDirectory()
    open_log(directory).close()
    outside = wal.Log(directory)
    for number in range(1, 5):
        open_log(directory, sync=False).append(b"%d" % number)
        directory.is_locked = False  # as after a SIGKILL
        assert outside.latest == number
