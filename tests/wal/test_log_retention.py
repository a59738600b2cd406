"""What a log gives up, and that it never counts from the beginning again."""

import random

import pytest

import wal
from tests.wal.memory_directory import Clock, MemoryDirectory, open_log, payloads
from wal.log_retention import LogSettings, expired, trimmed


@pytest.mark.parametrize(
    ("before", "gone"), [(0, []), (10, []), (11, [1]), (20, [1]), (21, [1, 11]), (99, [1, 11])]
)
def test_a_segment_is_trimmed_when_all_its_offsets_are(before, gone):
    assert trimmed([1, 11, 21], before) == gone


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({}, 0),
        ({"retention_bytes": 400}, 0),
        ({"retention_bytes": 399}, 1),
        ({"retention_bytes": 200}, 2),
        ({"retention_bytes": 0}, 3),
        ({"retention_seconds": 30}, 0),
        ({"retention_seconds": 29}, 1),
        ({"retention_seconds": 0}, 3),
        ({"retention_seconds": 0.5, "retention_bytes": 300}, 3),
    ],
)
def test_the_oldest_segments_beyond_a_limit_expire_and_never_the_newest(settings, gone):
    # Four segments of 100 bytes; the one after the first began 30 seconds ago, then 20, then 10.
    firsts = [1, 2, 3, 4]
    begun = {1: 0, 2: 10_000_000, 3: 20_000_000, 4: 30_000_000}

    found = expired(
        firsts, LogSettings(**settings), 40_000_000, size_of=lambda first: 100, begun_us=begun.__getitem__
    )

    assert found == firsts[:gone]


def filled(directory: MemoryDirectory, clock: Clock, **settings: object) -> wal.Log:
    log = open_log(directory, clock=clock, segment_bytes=1024, **settings)
    for _ in range(100):
        log.append(bytes(100))
    return log


def test_a_log_keeps_to_its_size():
    directory = MemoryDirectory()
    log = filled(directory, Clock(), retention_bytes=4096)

    assert sum(file.size for file in directory.files.values()) <= 4096 + 1024
    assert log.earliest > 50
    assert [entry.offset for entry in log.read(log.earliest)] == list(range(log.earliest, 101))


def test_a_log_keeps_to_its_time():
    clock, directory = Clock(step_us=1_000_000), MemoryDirectory()
    log = filled(directory, clock, retention_seconds=30)

    kept = list(log.read(log.earliest))
    assert len(kept) >= 30 / 2, "the clock is looked at about twice for each entry"
    assert clock.now_us - kept[0].time_us < 60 * 1_000_000


def test_retention_works_when_a_log_is_opened():
    directory = MemoryDirectory()
    filled(directory, Clock()).close()
    with open_log(directory, segment_bytes=1024, retention_bytes=3000) as log:
        assert log.earliest > 50
        assert log.append(b"x") == 101


def test_retention_makes_room_before_anything_is_written():
    directory = MemoryDirectory()
    filled(directory, Clock())
    directory = directory.after_kill()
    operations: list[str] = []
    directory.fault = lambda operation, name: operations.append(operation)
    with open_log(directory, segment_bytes=1024, retention_bytes=3000):
        assert operations.index("remove") < operations.index("create")


def test_a_trim_is_about_whole_segments():
    log = filled(MemoryDirectory(), Clock())
    firsts = [int(name[:20]) for name in sorted(log._view.directory.files)]
    log.trim(firsts[3] + 1)
    assert log.earliest == firsts[3]
    log.trim(firsts[2])
    log.trim(-5)
    assert log.earliest == firsts[3], "what is gone stays gone"
    assert len(payloads(log)) == 101 - firsts[3]


@pytest.mark.parametrize("how", ["close", "kill"])
def test_offsets_are_never_used_again_also_when_everything_was_trimmed(how):
    directory = MemoryDirectory()
    log = filled(directory, Clock())
    log.trim(101)
    assert (log.earliest, log.latest, payloads(log)) == (101, 100, [])
    assert len(directory.files) == 1
    for offset in (101, 102):
        if how == "close":
            log.close()
        else:
            directory = directory.after_kill()
        assert wal.Log(directory).latest == offset - 1
        log = open_log(directory)
        assert log.append(b"x") == offset
        log.trim(offset + 1)
        assert log.earliest == offset + 1
    with pytest.raises(wal.OffsetGone, match="offset 5 is not in the log: it is empty at 103"):
        log.read(5)


@pytest.mark.parametrize("removes", range(6))
def test_a_crash_in_a_trim_leaves_no_hole(removes, seed):
    print(f"seed {seed}")

    class Crash(Exception):
        pass

    def crash(operation: str, name: str) -> None:
        nonlocal removes
        removes -= operation == "remove"
        if removes < 0:
            raise Crash

    directory = MemoryDirectory()
    log = filled(directory, Clock())
    directory.fault = crash
    with pytest.raises(Crash):
        log.trim(90)
    for at in range(5):
        left = wal.Log(directory.after_crash(random.Random(seed + at)))
        assert len(payloads(left)) == 101 - left.earliest


def test_nothing_is_trimmed_that_is_not_there_yet():
    log = filled(MemoryDirectory(), Clock())
    with pytest.raises(wal.OffsetOutOfRange):
        log.trim(102)
    assert log.earliest == 1


def test_a_trim_of_everything_takes_nothing_that_is_appended_meanwhile(monkeypatch):
    log = open_log()
    log.append(b"one")
    commit = log._writer._commit

    def commit_late(*write: object, **how: object) -> wal.PendingWrite:
        monkeypatch.undo()
        log.append(b"two")
        return commit(*write, **how)

    monkeypatch.setattr(log._writer, "_commit", commit_late)
    log.trim(2)

    assert payloads(log) == [b"one", b"two"], "they are in one segment now"
    log.trim(3)
    assert payloads(log) == []
