"""A log on its own: what is appended is read, at its offset, now and after reopening."""

import os
from datetime import UTC, datetime, timedelta

import pytest

import wal
from tests.wal.memory_directory import Clock, MemoryDirectory, open_log, payloads

WORDS = [b"one", b"two", b"three", b"four"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


def test_offsets_count_from_one_and_leave_none_out(path):
    with wal.Log.open(path) as log:
        assert (log.earliest, log.latest) == (1, 0)
        assert log.append(b"one") == 1
        assert log.append_many([b"two", b"three"]) == 2
        assert log.append(b"four") == 4
        assert (log.earliest, log.latest) == (1, 4)
        assert payloads(log) == WORDS
        assert [entry.offset for entry in log.read(1)] == [1, 2, 3, 4]


@pytest.mark.parametrize("payload", [b"", b"\0", bytes(100_000), bytearray(b"array"), memoryview(b"view")])
def test_a_payload_is_read_as_it_was_appended(path, payload):
    with wal.Log.open(path, segment_bytes=4096) as log:
        log.append(payload)
        log.append_many([payload, b"", payload])
        assert payloads(log) == [payload, payload, b"", payload]
    with wal.Log.open(path, read_only=True) as log:
        assert payloads(log) == [payload, payload, b"", payload]


def test_a_reopened_log_goes_on_where_it_was(path):
    for number in range(5):
        with wal.Log.open(path) as log:
            assert log.append(b"%d" % number) == number + 1
            assert payloads(log) == [b"%d" % at for at in range(number + 1)]
    assert len(list(path.glob("*.wal"))) == 1, "many short lives leave few files"


def test_a_log_of_many_segments_is_one_log(path):
    expected = [b"%d" % number * (number % 50) for number in range(2000)]
    with wal.Log.open(path, segment_bytes=4096, sync=False) as log:
        for payload in expected:
            log.append(payload)
        log.sync()
        assert payloads(log) == expected
        assert payloads(log, 1500) == expected[1499:]
    assert len(list(path.glob("*.wal"))) > 20
    with wal.Log.open(path, read_only=True) as log:
        assert payloads(log) == expected
        assert payloads(log, 700, until=800) == expected[699:800]


def test_every_range_of_offsets_is_read_exactly():
    log = open_log(segment_bytes=1024)
    for number in range(40):
        log.append_many([b"%d.%d" % (number, at) + bytes(30) for at in range(number % 4 + 1)])
    everything = list(log.read(1))
    for start in range(1, log.latest + 2):
        for stop in (start - 1, start, start + 2, start + 17, log.latest + 5):
            assert list(log.read(start, until=stop)) == everything[start - 1 : stop]


def test_entries_without_sync_are_shown_once_they_are_durable(path):
    with wal.Log.open(path, sync=False) as log, wal.Log.open(path, read_only=True) as outside:
        assert log.append(b"one") == 1
        assert (log.latest, payloads(log), payloads(log, 2)) == (0, [], [])
        assert (outside.latest, payloads(outside)) == (0, [])
        log.sync()
        assert payloads(log) == payloads(outside) == [b"one"]
        log.append(b"two", sync=False)
        log.append(b"three", sync=True)
        assert payloads(log) == payloads(outside) == [b"one", b"two", b"three"]
        log.append(b"four")
    with wal.Log.open(path, read_only=True) as outside:
        assert payloads(outside) == WORDS


def test_an_append_of_many_is_one_write_and_one_sync():
    directory = MemoryDirectory()
    with open_log(directory) as log:
        file = directory.files["00000000000000000001.wal"]
        before = file.appends, file.syncs
        log.append_many(WORDS)
        assert (file.appends, file.syncs) == (before[0] + 1, before[1] + 1)


def test_times_never_go_back():
    clock = Clock()
    log = open_log(clock=clock)
    log.append(b"one")
    clock.now_us -= 1_000_000
    log.append(b"two")
    one, two = log.read(1)

    assert one.time_us == two.time_us == clock.now_us + 1_000_000


@pytest.mark.parametrize("reopened", [False, True])
def test_an_offset_is_found_by_time(reopened):
    clock, directory = Clock(step_us=10), MemoryDirectory()
    log = open_log(directory, clock=clock, segment_bytes=1024)
    for number in range(300):
        log.append(b"%d" % number + bytes(20))
    entries = list(log.read(1))
    if reopened:
        log.close()
        log = wal.Log(directory)
    for entry in entries:
        assert log.seek_time(entry.time_us) == entry.offset
        assert log.seek_time(entry.time_us + 1) == entry.offset + 1
    assert log.seek_time(0) == 1
    assert log.seek_time(entries[-1].time_us + 10**9) == 301
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=entries[70].time_us)
    assert log.seek_time(moment) == 71


def test_many_entries_of_one_moment_are_all_after_it():
    clock = Clock()
    log = open_log(clock=clock, segment_bytes=1024)
    for _ in range(100):
        log.append(bytes(50))
    clock.now_us += 1
    log.append(b"later")

    assert log.seek_time(clock.now_us - 1) == 1
    assert log.seek_time(clock.now_us) == 101


def test_seeking_reads_little():
    directory, clock = MemoryDirectory(), Clock(step_us=1)
    log = open_log(directory, clock=clock, segment_bytes=2**20, sync=False)
    for _ in range(20_000):
        log.append(bytes(1000))
    log.sync()
    entries = {offset: next(log.read(offset, until=offset)) for offset in range(1, 20_001, 999)}
    log_bytes = sum(file.size for file in directory.files.values())
    for view in (log, wal.Log(directory)):
        for offset, entry in entries.items():
            directory.read_bytes = 0
            assert view.seek_time(entry.time_us) == offset
            assert next(view.read(offset)) == entry
            # Outside, the segment that is being written has no index yet.
            is_newest = offset > 19_000 and view is not log
            assert directory.read_bytes < (2**21 if is_newest else 2**19), f"of {log_bytes} bytes"


@pytest.mark.parametrize("ending", ["closed", "killed"])
@pytest.mark.parametrize("continued_bytes_max", [0, 2**20])
def test_a_log_goes_on_behind_a_large_segment(monkeypatch, ending, continued_bytes_max):
    monkeypatch.setattr("wal.log_recovery.CONTINUED_BYTES_MAX", continued_bytes_max)
    directory = MemoryDirectory()
    log = open_log(directory, segment_bytes=2**20)
    offsets = [log.append_many([bytes(1000)] * 3) for _ in range(300)]
    if ending == "closed":
        log.close()
    directory = directory.after_kill()
    is_continued = ending == "killed" or continued_bytes_max > 0
    with open_log(directory, segment_bytes=2**20) as log:
        assert len(directory.files) == (1 if is_continued else 2)
        assert log.append(b"next") == log.latest == 901
        assert len(payloads(log)) == 901
        for offset in offsets[::20]:
            directory.read_bytes = 0
            assert next(log.read(offset)).offset == offset
            assert directory.read_bytes < 2**18, "the index was made anew"


def test_one_writer_at_a_time(path):
    with wal.Log.open(path), pytest.raises(wal.LogLocked, match="another writer"):
        wal.Log.open(path)
    wal.Log.open(path).close()


def test_a_closed_log_says_so(path):
    log = wal.Log.open(path)
    log.append_many(WORDS)
    reading = log.read(1)
    next(reading)
    followed = log.read(5, follow=True)
    outside = wal.Log.open(path, read_only=True)
    for closed in (log, outside):
        closed.close()
        closed.close()
        for use in (
            lambda log=closed: log.append(b"x"),
            lambda log=closed: log.append_many([b"x"]),
            lambda log=closed: log.sync(),
            lambda log=closed: log.trim(1),
            lambda log=closed: log.read(1),
            lambda log=closed: log.seek_time(0),
            lambda log=closed: log.latest,
            lambda log=closed: log.earliest,
        ):
            with pytest.raises(wal.LogClosed):
                use()
    with pytest.raises(wal.LogClosed):
        next(followed)


def test_a_reader_cannot_write(path):
    wal.Log.open(path).close()
    with wal.Log.open(path, read_only=True) as log:
        for use in (lambda: log.append(b"x"), lambda: log.sync(), lambda: log.trim(1)):
            with pytest.raises(wal.LogReadOnly):
                use()


def test_a_log_to_be_read_must_be_there(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(wal.LogNotFound, match="no log at"):
            wal.Log.open(path, read_only=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("offset", [-1, 0, 6, 10**20])
def test_an_offset_that_is_not_there_is_an_error_at_once(offset):
    log = open_log()
    log.append_many(WORDS)
    for view in (log, wal.Log(log._view.directory)):
        with pytest.raises(wal.OffsetOutOfRange) as caught:
            view.read(offset)
        assert (caught.value.requested, caught.value.earliest, caught.value.latest) == (offset, 1, 4)
        assert isinstance(caught.value, wal.OffsetGone) == (offset < 1)
    assert list(log.read(5)) == []


@pytest.mark.parametrize("payload", ["text", 3, None, [b"x"]])
def test_only_bytes_are_payloads(payload):
    log = open_log()
    for append in (log.append, lambda payload: log.append_many([b"x", payload])):
        with pytest.raises(TypeError, match="a payload is bytes"):
            append(payload)
    with pytest.raises(ValueError, match="nothing to append"):
        log.append_many([])
    assert log.latest == 0


def test_a_payload_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("wal.entry.PAYLOAD_BYTES_MAX", 100)
    log = open_log()
    log.append(bytes(100))
    for payloads_ in ([bytes(101)], [bytes(50), bytes(43)]):
        with pytest.raises(wal.PayloadTooLarge):
            log.append_many(payloads_)
    assert log.append_many([bytes(50), bytes(42)]) == 2


@pytest.mark.parametrize(
    "wrong",
    [{"segment_bytes": 10}, {"segment_bytes": 2**40}, {"retention_bytes": -1}, {"retention_seconds": -0.5}],
)
def test_settings_that_make_no_sense_are_refused(path, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        wal.Log.open(path, **wrong)
    assert not path.exists()


def test_a_time_needs_a_time_zone():
    with pytest.raises(ValueError, match="no time zone"):
        open_log().seek_time(datetime(2026, 1, 1))
