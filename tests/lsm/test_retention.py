"""Which log segments go, and when: the decision by itself, and through a store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.limits import Limits
from lsm.log.offsets import before_time
from lsm.opening import open_on
from lsm.retention import Pin, lag_bytes, lagging, outside_limits, unpinned
from lsm.version import SegmentMeta
from tests.lsm.stores import MANUAL, ManualClock, open_memory
from tests.support.memfs import MemFS

KIB, MIB = 1024, 1024 * 1024
SECOND = 1_000_000
NOW = 1_000 * SECOND


def log(*sizes, first_seq=1, seconds=(), is_open=True):
    """Return segments of ten entries each with these sizes, closed at these seconds, and an open one."""
    found = []
    for at, size in enumerate(sizes):
        closed = seconds[at] * SECOND if seconds else 0
        found.append(
            SegmentMeta(
                number=at + 1,
                first_seq=first_seq + 10 * at,
                last_seq=first_seq + 10 * at + 9,
                size_bytes=size,
                last_time_us=closed,
            )
        )
    if is_open:
        found.append(SegmentMeta(number=len(found) + 1, first_seq=first_seq + 10 * len(found)))
    return tuple(found)


def numbers(segments):
    return [meta.number for meta in segments]


def going(segments, flushed_seq=10**6, **limits):
    return numbers(outside_limits(segments, flushed_seq=flushed_seq, limits=Limits(**limits), now_us=NOW))


@pytest.mark.parametrize(
    ("sizes", "flushed_seq", "limits", "expected"),
    [
        pytest.param([MIB] * 3, 30, {}, [1, 2, 3], id="nothing is kept without a limit"),
        pytest.param([MIB] * 3, 30, {"keeps_all": True}, [], id="all"),
        pytest.param([MIB] * 3, 20, {}, [1, 2], id="what is not flushed stays"),
        pytest.param([MIB] * 3, 15, {}, [1], id="half flushed is not flushed"),
        pytest.param([MIB] * 3, 9, {}, [], id="nothing is flushed"),
        pytest.param([MIB] * 3, 30, {"size_bytes": 2 * MIB}, [1], id="the newest up to the size stay"),
        pytest.param([MIB] * 3, 30, {"size_bytes": 2 * MIB + 1}, [1], id="no more than the size stays"),
        pytest.param([MIB] * 3, 30, {"size_bytes": 3 * MIB}, [], id="all of it is within the size"),
        pytest.param([MIB] * 3, 30, {"size_bytes": 1}, [1, 2, 3], id="a segment stays whole or not at all"),
        pytest.param([1] * 1001, 10**6, {"size_bytes": MIB}, [1, 2], id="not too many small ones"),
        pytest.param([], 0, {}, [], id="an empty log"),
    ],
)
def test_by_size(sizes, flushed_seq, limits, expected):
    assert going(log(*sizes), flushed_seq, **limits) == expected


@pytest.mark.parametrize(
    ("closed", "seconds", "expected"),
    [
        ([10, 20, 30], 0, [1, 2, 3]),
        ([800, 900, 990], 50, [1, 2]),
        ([800, 900, 990], 150, [1]),
        ([800, 900, 990], 5000, []),
        ([800, 2000, 990], 50, [1]),  # the clock was ahead: nothing goes before what is older goes
    ],
)
def test_by_age(closed, seconds, expected):
    assert going(log(MIB, MIB, MIB, seconds=closed), seconds=seconds) == expected


def test_either_limit_keeps_a_segment():
    segments = log(MIB, MIB, MIB, seconds=[100, 900, 990])

    assert going(segments, size_bytes=MIB, seconds=150) == [1]
    assert going(segments, size_bytes=2 * MIB, seconds=1) == [1]
    assert going(segments, size_bytes=3 * MIB, seconds=1) == []


def test_a_pin_holds_what_comes_after_it():
    candidates = outside_limits(log(MIB, MIB, MIB), flushed_seq=30, limits=Limits(), now_us=NOW)

    assert numbers(unpinned(candidates, [])) == [1, 2, 3]
    assert numbers(unpinned(candidates, [Pin("a", 0)])) == []
    assert numbers(unpinned(candidates, [Pin("a", 9)])) == []
    assert numbers(unpinned(candidates, [Pin("a", 10)])) == [1]
    assert numbers(unpinned(candidates, [Pin("a", 25), Pin("b", 10)])) == [1]
    assert numbers(unpinned(candidates, [Pin("a", 30)])) == [1, 2, 3]


def test_lag_counts_whole_segments_to_the_end():
    segments = log(100, 200, 400)

    assert lag_bytes(segments, 0, open_bytes=7) == 707
    assert lag_bytes(segments, 9, open_bytes=7) == 707
    assert lag_bytes(segments, 10, open_bytes=7) == 607
    assert lag_bytes(segments, 30, open_bytes=7) == 7


def test_only_a_pin_that_holds_something_back_lags():
    segments = log(100, 200, 400)
    candidates = segments[:1]
    behind, inside, uncapped = Pin("behind", 0, 500), Pin("inside", 10, 500), Pin("uncapped", 0)

    assert lagging(segments, candidates, [behind, inside, uncapped], 7) == [behind]
    assert lagging(segments, candidates, [Pin("wide", 0, 707)], 7) == []


SEGMENTS = st.lists(st.tuples(st.integers(1, 300 * KIB), st.integers(0, 1000)), max_size=8).map(
    lambda made: log(*(size for size, _ in made), seconds=[age for _, age in made])
)
LIMITS = st.builds(Limits, st.integers(0, MIB), st.integers(0, 1000), st.booleans())


@given(SEGMENTS, st.integers(0, 90), LIMITS, st.lists(st.integers(0, 90), max_size=3))
def test_what_stays_is_one_range_that_covers_every_wish(segments, flushed_seq, limits, positions):
    pins = [Pin(str(seq), seq) for seq in positions]
    candidates = outside_limits(segments, flushed_seq=flushed_seq, limits=limits, now_us=NOW)
    gone = unpinned(candidates, pins)
    kept = segments[len(gone) :]

    assert tuple(gone) == segments[: len(gone)]  # from the old end, without a hole
    assert all(meta.last_seq is not None and meta.last_seq <= flushed_seq for meta in gone)
    assert all(meta.last_seq <= seq for meta in gone for seq in positions)
    if gone:
        assert not limits.keeps_all
        assert sum(meta.size_bytes or 0 for meta in (gone[-1], *kept)) > limits.size_bytes
        if limits.seconds:
            assert all(meta.last_time_us <= NOW - limits.seconds * SECOND for meta in gone)


@given(SEGMENTS, st.integers(0, 90), LIMITS)
def test_a_tighter_limit_never_keeps_more(segments, flushed_seq, limits):
    tighter = Limits(limits.size_bytes // 2, limits.seconds // 2, keeps_all=False)

    assert set(going(segments, flushed_seq, size_bytes=limits.size_bytes, seconds=limits.seconds)) <= set(
        going(segments, flushed_seq, size_bytes=tighter.size_bytes, seconds=tighter.seconds)
    )


# Through a store


def segment_files(fs):
    return [name for name in fs.list() if name.endswith(".log")]


def write_and_flush(db, *keys):
    for key in keys:
        db.put(key, b"v" * 100)
        db.flush()


def store(clock=None, **options):
    fs = MemFS()
    return fs, open_memory(fs, options={**MANUAL, **options}, clock=clock)


def test_segments_go_with_their_files_once_they_are_flushed():
    fs, db = store(log_retention_bytes=0)
    db.put(b"a", b"1")
    first = segment_files(fs)
    assert db.log.earliest == 1

    db.flush()

    assert (db.log.earliest, db.log.latest) == (2, 1)
    assert not set(first) & set(segment_files(fs))
    assert [f"{meta.number:06d}.log" for meta in db.log.segments] == segment_files(fs)


def test_a_sealed_segment_stays_until_its_table_is_there():
    fs, db = store(log_retention_bytes=0, memtable_bytes_max=300, sealed_max=8)
    for number in range(8):
        db.put(b"%d" % number, b"v" * 100)
    files = segment_files(fs)
    assert len(files) > 2

    assert [change.seq for change in db.changes()] == list(range(1, 9))
    while db.step():
        pass

    assert len(segment_files(fs)) == 1 and segment_files(fs)[0] == files[-1]
    assert db.log.earliest == db.log.segments[0].first_seq


def test_the_newest_segments_up_to_the_size_stay():
    fs, db = store(log_retention="all")
    write_and_flush(db, b"a", b"b", b"c", b"d", b"e")
    size_bytes = max(segment.size_bytes for segment in db.log.segments if segment.is_closed)
    db.close()
    db = open_memory(fs, "w", options={"log_retention": "limits", "log_retention_bytes": 3 * size_bytes})
    while db.step():
        pass

    assert db.log.earliest == 3
    assert [change.key for change in db.changes("earliest")] == [b"c", b"d", b"e"]
    with pytest.raises(lsm.OffsetOutOfRange) as refused:
        db.changes(1)
    assert (refused.value.requested, refused.value.earliest, refused.value.latest) == (1, 3, 5)
    assert len(segment_files(fs)) == 4


def test_segments_stay_as_long_as_they_are_young():
    clock = ManualClock()
    fs, db = store(clock, log_retention_bytes=0, log_retention_seconds=60)
    write_and_flush(db, b"a")
    clock.us += 40 * SECOND
    write_and_flush(db, b"b")
    assert db.log.earliest == 1

    clock.us += 30 * SECOND
    db.step()
    assert db.log.earliest == 2

    clock.us -= 3600 * SECOND  # a clock that goes back lets nothing go
    write_and_flush(db, b"c")
    assert db.log.earliest == 2
    assert len(segment_files(fs)) == 3


def test_all_keeps_everything_until_it_is_taken_back():
    fs, db = store(log_retention="all", log_retention_bytes=0)
    write_and_flush(db, b"a", b"b", b"c")
    assert [change.key for change in db.changes()] == [b"a", b"b", b"c"]
    db.close()

    again = open_memory(fs, "w", options={"log_retention": "limits"})
    assert [change.key for change in again.changes()] == [b"a", b"b", b"c"]
    again.step()
    assert again.log.earliest == 4
    assert len(segment_files(fs)) == 1


def test_a_retained_log_outlives_reopening():
    fs, db = store(log_retention_bytes=MIB)
    write_and_flush(db, b"a", b"b")
    db.put(b"c", b"3")
    for _ in range(3):
        db.close()
        db = open_memory(fs, "w", options={})
        assert [change.key for change in db.changes()] == [b"a", b"b", b"c"]


def test_a_pin_of_this_process_holds_the_log():
    fs, db = store(log_retention_bytes=0)
    write_and_flush(db, b"a")
    with db.bootstrap() as moment:
        write_and_flush(db, b"b", b"c")
        assert db.log.earliest == 2
        assert [change.key for change in moment.changes()] == [b"b", b"c"]
    db.step()

    assert db.log.earliest == 4
    assert len(segment_files(fs)) == 1


def test_a_forgotten_bootstrap_lets_the_log_go():
    _, db = store(log_retention_bytes=0)
    write_and_flush(db, b"a")
    moment = db.bootstrap()
    write_and_flush(db, b"b")
    assert db.log.earliest == 2
    del moment

    db.step()

    assert db.log.earliest == 3


def test_a_capped_pin_is_dropped_only_when_it_is_really_that_far_behind():
    _, db = store(log_retention_bytes=0)
    with db.consumer("slow", max_lag_bytes=20_000) as slow:
        slow.poll()
        write_and_flush(db, b"a", b"b")
        assert db.log.earliest == 1 and not db.consumers()[0].is_dropped

        for _ in range(10):
            db.put(b"big", b"v" * 5000)
            db.flush()

        assert db.consumers()[0].is_dropped
        assert db.log.earliest > 2
        with pytest.raises(lsm.ConsumerDropped):
            slow.poll()


def test_an_offset_in_the_future_is_refused():
    _, db = store()
    write_and_flush(db, b"a")

    for ask in (db.changes, db.change_columns, lambda since: db.changes(since, compacted=True)):
        with pytest.raises(lsm.OffsetOutOfRange) as refused:
            list(ask(2))
        assert (refused.value.requested, refused.value.earliest, refused.value.latest) == (2, 1, 1)


def test_who_reads_slower_than_the_log_goes_is_told():
    _, db = store(log_retention_bytes=0, memtable_bytes_max=300, sealed_max=8)
    for number in range(8):
        db.put(b"%d" % number, b"v" * 100)
    changes = db.changes()
    assert next(changes).seq == 1
    while db.step():
        pass
    write_and_flush(db, b"x")

    with pytest.raises(lsm.OffsetOutOfRange) as refused:
        list(changes)
    assert refused.value.earliest == 10


def test_a_file_that_cannot_be_removed_is_no_part_of_the_log_any_more(tmp_path):
    with lsm.open(tmp_path / "db", log_retention_bytes=0, **MANUAL) as db:
        db.put(b"a", b"1")
        (name,) = [path.name for path in (tmp_path / "db").glob("*.log")]
        data = (tmp_path / "db" / name).read_bytes()
        db.flush()
    (tmp_path / "db" / name).write_bytes(data)  # as if the removal had been lost in a crash

    with lsm.open(tmp_path / "db", "r") as reader:
        assert list(reader.changes("earliest")) == []
    with lsm.open(tmp_path / "db", "w") as db:
        assert list(db.changes("earliest")) == [] and db[b"a"] == b"1"
    assert not (tmp_path / "db" / name).exists()


def test_looking_for_a_moment_while_segments_go_finds_what_is_left(monkeypatch):
    clock = ManualClock()
    fs, db = store(clock, log_retention="all")
    start = clock.us
    for key in (b"a", b"b", b"c"):
        db.put(key, b"1")
        db.flush()
        clock.us += SECOND
    reader = open_on(MemFS(disk=fs.disk), "r", clock=clock)
    try:
        reader.changes()  # it knows all three segments
        source = reader._log_source()
        db.close()
        open_memory(
            fs, "w", options={"log_retention": "limits", "log_retention_bytes": 0}, clock=clock
        ).step()
        monkeypatch.setattr(type(source), "settle", lambda _: 3)  # as if it had looked just before

        assert before_time(source, start) == 3
    finally:
        reader.close()
