"""Finding a place in a long log without reading the log."""

from datetime import UTC, datetime

import pytest

from lsm.filenames import segment_name
from lsm.fs_types import Cause
from lsm.opening import open_on
from tests.lsm.stores import ManualClock
from tests.support.memfs import MemFS

CHANGES = 6000  # of 1,000 bytes: six finished segments and one that is not
READ_BYTES_MAX = 300 * 1024  # a sample of the index is 64 KiB away at most; a piece is 128 KiB


@pytest.fixture(scope="module")
def long_log():
    """Return a disk with a long log, the store that writes it, and when it began."""
    fs, clock = MemFS(reserve_bytes_max=65536), ManualClock()
    start_us = clock.us
    options = {"background": "manual", "memtable_bytes_max": 1 << 20, "sync": "os", "log_retention": "all"}
    db = open_on(fs, "c", options, clock=clock)
    for number in range(CHANGES):
        clock.us = start_us + number * 1000
        db.put(b"%06d" % number, b"v" * 960)
    db.sync()
    assert len(db.log.segments) == 6
    yield fs, db, start_us
    db.close()


def read_bytes(fs, read):
    """Return what a call returns, and how much of the log it read."""
    before = fs.counters.snapshot()
    found = read()
    return found, (fs.counters.snapshot() - before).read[Cause.LOG]


PLACES = [0, 1, 999, 2500, 4321, 5300, 5900, CHANGES - 1]


@pytest.mark.parametrize("seq", PLACES)
def test_going_to_a_number_reads_little(long_log, seq):
    fs, db, _ = long_log

    found, size = read_bytes(fs, lambda: next(db.changes(seq)).seq)

    assert found == seq + 1
    assert size < READ_BYTES_MAX


@pytest.mark.parametrize("seq", PLACES)
def test_going_to_a_moment_reads_little(long_log, seq):
    fs, db, start_us = long_log
    moment = datetime.fromtimestamp((start_us + seq * 1000) / 1e6, UTC)

    found, size = read_bytes(fs, lambda: next(db.changes(moment)).seq)

    assert found == seq + 1
    assert size < 2 * READ_BYTES_MAX  # the place is found first, then read


def test_the_end_is_found_without_reading_the_log(long_log):
    fs, db, _ = long_log

    found, size = read_bytes(fs, lambda: (db.log.latest, list(db.changes("latest"))))

    assert found == (CHANGES, [])
    assert size < READ_BYTES_MAX


@pytest.mark.parametrize("seq", [5, 2500, 5999])
def test_a_reader_beside_finds_its_place_in_finished_segments(long_log, seq):
    fs, _, _ = long_log
    beside = MemFS(disk=fs.disk)
    with open_on(beside, "r") as reader:
        for changes in (reader.changes(seq), reader.changes(seq, follow=True)):
            found, size = read_bytes(beside, lambda changes=changes: next(changes).seq)
            assert found == seq + 1
            assert size < READ_BYTES_MAX
            changes.close()


def flushed_segment():
    """Return the files of a store, and the name of a segment whose entries are in tables."""
    fs = MemFS()
    with open_on(fs, "c", {"background": "manual", "sync": "os", "log_retention": "all"}) as db:
        for number in range(400):
            db.put(b"%06d" % number, b"v" * 960)
        db.flush()
        name = segment_name(db.log.segments[0].number)
    return fs.image(), name


@pytest.mark.parametrize("where", [-1, -9, -16, -40, -80, -150])
def test_a_damaged_index_is_done_without(where):
    image, name = flushed_segment()
    data = bytearray(image[name])
    data[where] ^= 0x40  # in the trailer, or in the index: both are derived data

    with open_on(MemFS.from_image({**image, name: bytes(data)}), "r") as reader:
        assert [change.seq for change in reader.changes(300, until=310)] == list(range(301, 311))
        assert [change.seq for change in reader.changes(399)] == [400]


def test_a_moment_among_large_batches_is_found_near_its_place():
    fs, clock = MemFS(reserve_bytes_max=65536), ManualClock()
    with open_on(fs, "c", {"background": "manual", "log_retention": "all"}, clock=clock) as db:
        for batch in range(40):
            db.update({b"%08d" % (batch * 1000 + number): b"v" * 100 for number in range(1000)}, sync=False)
            clock.us += 1000
        db.flush()
        times = {change.batch_first_seq: change.time for change in db.changes()}
        assert len(times) == 40

        for first_seq, time_us in times.items():
            moment = datetime.fromtimestamp(time_us / 1e6, UTC)
            change, size = read_bytes(fs, lambda moment=moment: next(db.changes(moment)))
            assert (change.seq, change.time) == (first_seq, time_us)
            assert size < 900 * 1024
