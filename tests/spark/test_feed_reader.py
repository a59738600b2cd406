"""The reader of a stream of changes, driven as Spark drives it, in this process and without a JVM."""

import random
import shutil
import time
from datetime import UTC, datetime

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

import lsm
from lsm.adoption import Load, adopt, stage_columns
from lsm.fs import open_directory
from lsm.spark.feed.batch import FeedReader
from lsm.spark.feed.log import DataLost, FeedLog
from lsm.spark.feed.options import feed_options
from lsm.spark.feed.planning import Span
from lsm.spark.feed.rows import feed_schema
from lsm.spark.feed.stream import FeedStreamReader
from lsm.spark.lease import SnapshotGone
from sstable import Columns, Kind, TableOptions

NAMES = ("key", "value", "type", "version", "time")


class Run:
    """One run of a query: what Spark asks of a reader, and the checkpoint that outlives it."""

    def __init__(self, path, checkpoint, **options):
        self.options = feed_options({"path": str(path), "readChangeFeed": "true", **options}, is_stream=True)
        self.reader = FeedStreamReader(feed_schema(self.options.read), self.options)
        self.checkpoint = checkpoint
        self.batches = []

    def step(self):
        """Run one micro-batch; False if there is nothing new."""
        if "start" not in self.checkpoint:
            self.checkpoint["start"] = self.reader.initialOffset()
            assert self.reader.initialOffset() == self.checkpoint["start"]
        start = self.checkpoint["start"]
        end = self.reader.latestOffset(start, self.reader.getDefaultReadLimit())
        if end == start:
            return False
        if "done" in self.checkpoint:
            self.reader.commit(self.checkpoint["done"])
        self.checkpoint["end"] = end
        self.read()
        return True

    def read(self):
        """Read what was planned, and note that it was."""
        start, end = self.checkpoint["start"], self.checkpoint["end"]
        self.batches.append(rows_of(self.reader, start, end))
        self.checkpoint |= {"start": end, "done": end}

    def all(self):
        """Run everything that is there now; return the rows."""
        self.reader.prepareForTriggerAvailableNow()
        while self.step():
            pass
        return [row for batch in self.batches for row in batch]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.reader.stop()


def rows_of(reader, *offsets):
    found = []
    for partition in reader.partitions(*offsets):
        for batch in reader.read(partition):
            found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return found


def batch_of(path, **options):
    found = feed_options({"path": str(path), "readChangeFeed": "true", **options}, is_stream=False)
    return rows_of(FeedReader(feed_schema(found.read), found))


def expected(db, since=0):
    """What a feed without previous values gives: one row for every key of a commit."""
    last = {}
    for one in db.changes(since, keyspace="default"):
        last.pop((one.batch_first_seq, one.key), None)
        kind = "delete" if one.kind == "delete" else "update_postimage"
        version = one.batch_first_seq + one.batch_count - 1
        moment = datetime.fromtimestamp(one.time / 1e6, UTC)
        last[one.batch_first_seq, one.key] = (one.key, one.value, kind, version, moment)
    return list(last.values())


def applied(rows, state=None):
    """The content that somebody has who does what a feed says."""
    state = {} if state is None else state
    for key, value, kind, _, _ in rows:
        if kind in ("insert", "update_postimage"):
            state[key] = value
        elif kind == "delete":
            state.pop(key, None)
    return state


@pytest.fixture
def kept(path):
    """A store that keeps its whole log, in several segments, one of them unfinished."""
    with lsm.open(path, background="manual", log_retention="all") as db:
        for number in range(30):
            with db.batch() as batch:
                for at in range(number % 7 + 1):
                    batch.put(b"k%d" % (number * at % 11), b"v%d.%d" % (number, at))
                if number % 5 == 0:
                    batch.delete(b"k3")
            if number in (10, 20):
                db.flush()
        yield db


def trimmed(db):
    """Let everything that is written so far leave the log."""
    db.compact()
    db[b"later"] = b"1"
    db.flush()
    db[b"last"] = b"2"
    assert db.log.earliest > 10
    return db.log


class TestStreams:
    def test_every_commit_comes_once_and_whole(self, path, kept):
        with Run(path, {}, startingVersion="earliest", maxRecordsPerTrigger="5") as run:
            assert run.all() == expected(kept)

            ends = {one.batch_first_seq + one.batch_count - 1 for one in kept.changes(0)}
            assert {batch[-1][3] for batch in run.batches} <= ends
            versions = [{row[3] for row in batch} for batch in run.batches]
            assert sum(map(len, versions)) == len(set().union(*versions)) == 30

    @pytest.mark.parametrize("count", [1, 3, 8, 10_000])
    def test_a_limit_takes_whole_commits_and_one_at_least(self, path, kept, count):
        with Run(path, {}, startingVersion="1", maxRecordsPerTrigger=str(count)) as run:
            run.all()

        changes = list(kept.changes(0))
        numbers = [sum(one.batch_count for one in _commits(changes, batch)) for batch in run.batches]
        assert all(
            number <= count or len({row[3] for row in batch}) == 1
            for number, batch in zip(numbers, run.batches, strict=True)
        )

    @pytest.mark.parametrize("size", ["1", "300B", "1KiB", "1GiB"])
    def test_bytes_limit_a_batch_too(self, path, kept, size):
        with Run(path, {}, startingVersion="1", maxBytesPerTrigger=size) as run:
            assert run.all() == expected(kept)
        assert len(run.batches) == {"1": 30, "1GiB": 1}.get(size, len(run.batches))
        assert len(run.batches) <= 30

    def test_the_smaller_of_two_limits_holds(self, path, kept):
        with Run(path, {}, startingVersion="1", maxBytesPerTrigger="1", maxRecordsPerTrigger="1000") as run:
            run.all()
            assert len(run.batches) == 30
            assert isinstance(run.reader.getDefaultReadLimit(), ReadMaxRows)
        with Run(path, {}, startingVersion="1", maxBytesPerTrigger="1") as run:
            assert run.reader.getDefaultReadLimit() == ReadMaxBytes(1)
            start = run.reader.initialOffset()
            assert run.reader.latestOffset(start, ReadAllAvailable())["seq"] == kept.seq

    @pytest.mark.parametrize("parts", ["1", "2", "5", "64"])
    def test_many_tasks_read_one_batch(self, path, kept, parts):
        with Run(path, {}, startingVersion="earliest", numPartitions=parts) as run:
            assert run.all() == expected(kept)
            offsets = run.reader.initialOffset(), run.checkpoint["start"]
            found = run.reader.partitions(*offsets)

        assert len(found) <= int(parts)
        assert (len(found) > 1) == (parts != "1")

    def test_available_now_reads_what_was_there(self, path, kept):
        with Run(path, {}, startingVersion="earliest", maxRecordsPerTrigger="5") as run:
            run.reader.prepareForTriggerAvailableNow()
            there = expected(kept)
            while run.step():
                kept[b"meanwhile"] = b"x"

        assert [row for batch in run.batches for row in batch] == there

    def test_latest_starts_with_what_comes(self, path, kept):
        checkpoint = {}
        with Run(path, checkpoint, startingVersion="latest") as run:
            assert run.all() == []
        seq = kept.seq
        kept[b"new"] = b"1"
        with Run(path, checkpoint, startingVersion="latest") as run:
            assert run.all() == expected(kept, seq)

    def test_nothing_new_is_the_same_offset_and_cheap(self, path, kept):
        with Run(path, {}, startingVersion="earliest") as run:
            run.all()
            start = run.checkpoint["start"]
            begun = time.perf_counter()
            for _ in range(100):
                assert run.reader.latestOffset(start, ReadAllAvailable()) is start
            assert time.perf_counter() - begun < 1  # Spark asks a hundred times a second

    def test_unsynced_writes_come_too_and_are_durable_by_then(self, path, kept):
        with Run(path, {}, startingVersion="latest") as run:
            run.reader.initialOffset()
            for number in range(50):
                kept.put(b"u%d" % number, b"x", sync=False)
            assert [row[0] for row in run_forever(run, 1)] == [b"u%d" % number for number in range(50)]

    def test_a_restart_reads_the_same_range_again(self, path, kept):
        checkpoint = {}
        with Run(path, checkpoint, startingVersion="earliest", maxRecordsPerTrigger="9") as run:
            run.step()
            start = checkpoint["start"]
            end = run.reader.latestOffset(start, run.reader.getDefaultReadLimit())
            first = rows_of(run.reader, start, end)
        kept.update({b"more": b"1"})
        kept.compact()

        checkpoint["end"] = end
        with Run(path, checkpoint, maxRecordsPerTrigger="1") as run:
            run.read()
            assert run.batches == [first]
            assert run.all()[-1][0] == b"more"

    def test_closed_stores_and_checkpoints_are_read_too(self, path, kept, tmp_path):
        rows = expected(kept)
        kept.checkpoint(tmp_path / "checkpoint")
        kept.close()

        for place in (path, tmp_path / "checkpoint"):
            with Run(place, {}, startingVersion="earliest") as run:
                assert run.all() == rows

    def test_a_keyspace_is_read_alone(self, path, kept):
        kept.keyspace("orders")[b"1"] = b"first"
        with Run(path, {}, startingVersion="earliest", keyspace="orders") as run:
            assert [row[:3] for row in run.all()] == [(b"1", b"first", "update_postimage")]
        with pytest.raises(lsm.KeyspaceNotFound), Run(path, {}, keyspace="missing") as run:
            run.all()


def _commits(changes, batch):
    versions = {row[3] for row in batch}
    seen = {}
    for one in changes:
        version = one.batch_first_seq + one.batch_count - 1
        if version in versions:
            seen[version] = one
    return seen.values()


def run_forever(run, batches):
    """Run as a stream that does not end, until there were so many batches."""
    deadline = time.monotonic() + 30
    while len(run.batches) < batches:
        assert time.monotonic() < deadline
        run.step()
    return [row for batch in run.batches for row in batch]


class TestBatches:
    def test_both_ends_are_included(self, path, kept):
        versions = sorted({row[3] for row in expected(kept)})

        for start, end in ((0, 29), (3, 3), (5, 20)):
            rows = batch_of(path, startingVersion=str(versions[start]), endingVersion=str(versions[end]))
            assert [row for row in expected(kept) if versions[start] <= row[3] <= versions[end]] == rows

    def test_a_version_inside_a_commit_is_that_commit(self, path, kept):
        commit = next(one for one in kept.changes(0) if one.batch_count > 3)
        inside = commit.batch_first_seq + 1
        last = commit.batch_first_seq + commit.batch_count - 1

        assert batch_of(path, startingVersion=str(inside)) == [r for r in expected(kept) if r[3] >= last]
        ended = batch_of(path, startingVersion="1", endingVersion=str(inside))
        assert ended == [row for row in expected(kept) if row[3] < last]

    def test_moments_are_starts_and_ends(self, path):
        with lsm.open(path, log_retention="all") as db:
            for number in range(3):
                db[b"%d" % number] = b"x"
                time.sleep(0.01)
            times = [row[4].isoformat() for row in expected(db)]

            assert [row[0] for row in batch_of(path, startingTimestamp=times[1])] == [b"1", b"2"]
            found = batch_of(path, startingTimestamp=times[0], endingTimestamp=times[1])
            assert [row[0] for row in found] == [b"0", b"1"]
            assert batch_of(path, startingTimestamp="2099-01-01") == []

    def test_versions_outside_the_log_are_refused(self, path, kept):
        for options in ({"startingVersion": "9999"}, {"startingVersion": "1", "endingVersion": "9999"}):
            with pytest.raises(lsm.OffsetOutOfRange, match=rf"outside the retained log \[1, {kept.seq}\]"):
                batch_of(path, **options)
        with pytest.raises(lsm.InvalidArgument, match="lies before the start"):
            batch_of(path, startingVersion=str(kept.seq), endingVersion="1")
        assert batch_of(path, startingVersion=str(kept.seq + 1)) == []

    def test_what_is_no_store_is_said(self, tmp_path):
        with pytest.raises(lsm.StoreNotFound):
            batch_of(tmp_path, startingVersion="1")
        (tmp_path / "file").write_text("")
        with pytest.raises(lsm.NotAStore):
            batch_of(tmp_path / "file", startingVersion="1")


class TestPreimages:
    def test_changes_tell_what_they_replaced(self, path):
        with lsm.open(path, background="manual", log_retention="all", log_history=True) as db:
            db[b"a"] = b"1"
            db[b"a"] = b"2"
            db.flush()
            del db[b"a"]
            db.delete(b"a")
            with db.batch() as batch:
                batch.put(b"b", b"lost")
                batch.put(b"b", b"kept")
                batch.put(b"c", b"1")
                batch.delete(b"c")

            for parts in ("1", "3"):
                found = batch_of(path, startingVersion="earliest", withPreimage="true", numPartitions=parts)
                assert [(row[0], row[1], row[2], row[3]) for row in found] == [
                    (b"a", b"1", "insert", 1),
                    (b"a", b"1", "update_preimage", 2),
                    (b"a", b"2", "update_postimage", 2),
                    (b"a", b"2", "delete", 3),
                    (b"b", b"kept", "insert", 8),
                ]

    def test_where_they_are_not_known_that_is_said(self, path):
        with lsm.open(path, background="manual", log_retention_bytes=0) as db:
            db.update({b"%d" % number: b"x" for number in range(20)})
            trimmed(db)
            with pytest.raises(lsm.InvalidArgument, match="log_history"):
                batch_of(path, startingVersion="earliest", withPreimage="true")


class TestSnapshots:
    def test_the_content_comes_first_then_what_follows(self, path, kept):
        checkpoint = {}
        with Run(path, checkpoint) as run:
            rows = run.all()
            assert [row[:3] for row in rows] == [(key, value, "insert") for key, value in kept.scan()]
            assert {row[3] for row in rows} == {kept.seq}
        seq = kept.seq
        kept[b"new"] = b"1"
        del kept[b"k1"]
        with Run(path, checkpoint) as run:
            assert run.all() == expected(kept, seq)
        assert not (path / "pins").exists()

    @pytest.mark.parametrize("options", [{"maxRecordsPerTrigger": "3"}, {"maxBytesPerTrigger": "20"}])
    def test_limits_hold_for_the_content(self, path, kept, options):
        with Run(path, {}, **options) as run:
            rows = run.all()

        assert [row[:2] for row in rows] == list(kept.scan())
        assert len(run.batches) > 2
        if "maxRecordsPerTrigger" in options:
            assert {len(batch) for batch in run.batches[:-1]} == {3}

    def test_no_gap_and_no_duplicate_beside_a_writer(self, path, kept, seed):
        rng = random.Random(seed)
        checkpoint, rows = {}, []
        for _ in range(6):  # a new process every time, with a write between any two steps
            with Run(path, checkpoint, maxRecordsPerTrigger="2", numPartitions="2") as run:
                for _ in range(4):
                    kept.put(b"k%d" % rng.randrange(20), b"%d" % rng.randrange(1000))
                    if rng.random() < 0.3:
                        kept.delete(b"k%d" % rng.randrange(20))
                    if rng.random() < 0.2:
                        kept.compact()
                    run.step()
                rows += [row for batch in run.batches for row in batch]
        with Run(path, checkpoint) as run:
            rows += run.all()

        assert applied(rows) == dict(kept.scan())
        inserts = [row[0] for row in rows if row[2] == "insert"]
        assert inserts == sorted(set(inserts))
        seq = next(row[3] for row in rows if row[2] == "insert")
        assert [row for row in rows if row[2] != "insert"] == expected(kept, seq)

    def test_an_empty_store_has_none(self, path):
        with lsm.open(path) as db:
            checkpoint = {}
            with Run(path, checkpoint) as run:
                assert run.all() == []
            db[b"a"] = b"1"
            with Run(path, checkpoint) as run:
                assert run.all() == expected(db)

    def test_content_that_was_given_up_is_taken_again_if_it_can_be(self, path, kept):
        checkpoint = {}
        with Run(path, checkpoint, maxRecordsPerTrigger="3") as run:
            run.step()
            given = run.batches[0]
        content = list(kept.scan())
        shutil.rmtree(path / "pins")

        with Run(path, checkpoint) as run:
            assert [row[:2] for row in given + run.all()] == content

    def test_content_that_is_gone_is_missed(self, path, kept):
        checkpoint = {}
        with Run(path, checkpoint, maxRecordsPerTrigger="3") as run:
            run.step()
            given = run.batches[0]
        shutil.rmtree(path / "pins")
        del kept[b"k7"]
        kept[b"k9"] = b"other"
        kept.compact()

        with pytest.raises(SnapshotGone, match="failOnDataLoss=false"), Run(path, checkpoint) as run:
            run.all()
        with Run(path, checkpoint, failOnDataLoss="false") as run:
            assert applied(given + run.all()) == dict(kept.scan())


class TestLoss:
    @pytest.fixture
    def started(self, path):
        """A store whose log does not wait, and the checkpoint of a stream that has read the first half."""
        checkpoint = {}
        with lsm.open(path, background="manual", log_retention_bytes=0) as db:
            for number in range(10):
                db[b"%d" % number] = b"x"
            with Run(path, checkpoint, startingVersion="earliest", maxRecordsPerTrigger="5") as run:
                run.step()
            yield db, checkpoint

    def test_a_trimmed_log_is_an_error_that_names_what_there_is(self, path, started):
        db, checkpoint = started
        log = trimmed(db)

        with pytest.raises(DataLost) as error, Run(path, checkpoint) as run:
            run.all()

        assert f"changes 6 to {log.earliest - 1} are no longer in the log" in str(error.value)
        assert f"which holds {log.earliest} to {log.latest};" in str(error.value)

    def test_or_it_goes_on_and_says_how_many_were_lost(self, path, started, caplog):
        db, checkpoint = started
        log = trimmed(db)

        with Run(path, checkpoint, failOnDataLoss="false") as run:
            assert run.all() == expected(db, log.earliest - 1)

        lost = log.earliest - 1 - 5
        assert f"{lost} changes were lost, 6 to {log.earliest - 1}:" in caplog.text

    def test_a_consumer_keeps_the_log(self, path, started):
        db, checkpoint = started
        with Run(path, checkpoint, consumerId="spark") as run:
            run.reader.latestOffset(checkpoint["start"], ReadAllAvailable())
            with pytest.raises(lsm.ConsumerBusy):
                db.consumer("spark")
        for _ in range(3):
            db.compact()
            db[b"later"] = b"1"
            db.flush()

        assert db.log.earliest <= 6
        assert [(one.name, one.position) for one in db.consumers()] == [("spark", 5)]
        with Run(path, checkpoint, consumerId="spark") as run:
            assert run.all() == expected(db, 5)
            end = run.checkpoint["start"]["seq"]
            db[b"one more"] = b"1"
            run.reader._last_of_run = None
            run.step()  # Spark commits a batch while it plans the next
            assert db.consumers()[0].position == end

    def test_a_consumer_goes_where_the_checkpoint_stands(self, path, kept):
        with kept.consumer("spark", start="latest"):
            pass
        with Run(path, {}, startingVersion="1", consumerId="spark") as run:
            run.reader.initialOffset()
            assert kept.consumers()[0].position == 0
        with Run(path, {}, consumerId="spark") as run:
            run.reader.initialOffset()
            assert kept.consumers()[0].position == kept.seq

    def test_a_moment_that_the_log_may_not_have_is_refused(self, path, started):
        trimmed(started[0])
        with pytest.raises(DataLost, match="startingVersion=earliest"):
            batch_of(path, startingTimestamp="2020-01-01")
        assert batch_of(path, startingTimestamp="2020-01-01", failOnDataLoss="false")

    def test_a_store_made_anew_is_refused(self, path, kept):
        checkpoint = {}
        with Run(path, checkpoint, startingVersion="earliest") as run:
            run.all()
        kept.close()
        shutil.rmtree(path)
        with lsm.open(path) as db:
            db.update({b"%d" % number: b"x" for number in range(1000)})
            with pytest.raises(lsm.ForeignLog, match="made anew"), Run(path, checkpoint) as run:
                run.all()

    def test_also_under_a_stream_that_is_running(self, path, kept, monkeypatch):
        monkeypatch.setattr("lsm.spark.feed.stream._LOOK_AGAIN_SECONDS", 0)
        with Run(path, {}, startingVersion="earliest") as run:
            run.all()
            run.reader._last_of_run = None
            kept.close()
            path.rename(path.with_name("old"))
            with lsm.open(path) as db:
                db[b"a"] = b"1"
                run.reader._look_again_soon()
                with pytest.raises(lsm.ForeignLog, match="made anew"):
                    run.step()

    def test_a_store_that_went_back_is_refused(self, path, kept, tmp_path):
        kept.checkpoint(tmp_path / "before")
        kept[b"after"] = b"1"
        checkpoint = {}
        with Run(path, checkpoint, startingVersion="earliest") as run:
            run.all()
        with pytest.raises(lsm.ForeignLog, match="restored"), Run(tmp_path / "before", checkpoint) as run:
            run.all()


class TestAdopted:
    def adopt(self, db, tmp_path, *parts):
        stage = open_directory(str(tmp_path), create=False, read_only=False)
        names = []
        for number, keys in enumerate(parts):
            names.append(f"{db.seq}-{number}.part")
            columns = Columns.from_lists(keys, [0] * len(keys), [Kind.PUT] * len(keys), [b"in"] * len(keys))
            options = TableOptions(block_bytes=256)
            stage_columns(
                stage, names[-1], [columns], options, store_id=db._state.version.store_id, time_us=1
            )
        load = Load(source=stage, names=tuple(names), keyspace=0)
        adopt(db._state, db._committer, db._background, load)
        stage.close()

    @pytest.mark.parametrize("parts", ["1", "4"])
    def test_rows_that_were_loaded_in_bulk_are_changes(self, path, tmp_path, kept, parts):
        (tmp_path / "stage").mkdir()
        self.adopt(
            kept,
            tmp_path / "stage",
            [b"x%03d" % number for number in range(200)],
            [b"y%03d" % number for number in range(200)],
        )
        kept[b"after"] = b"1"

        with Run(path, {}, startingVersion="1", maxRecordsPerTrigger="10", numPartitions=parts) as run:
            assert run.all() == expected(kept)
        assert max(map(len, run.batches)) == 400  # one commit
        assert batch_of(path, startingVersion="1", numPartitions=parts) == expected(kept)


class TestLog:
    def test_cuts_are_ends_of_commits(self, path, kept):
        ends = {one.batch_first_seq + one.batch_count - 1 for one in kept.changes(0)}
        with FeedLog(str(path)) as log:
            last = log.latest()
            for since in (0, 7, 40):
                found = log.stretches(Span(since, last))
                assert {stretch.last_seq for stretch in found} <= ends
                assert found[-1].last_seq == last
                assert [one.last_seq for one in found] == sorted({one.last_seq for one in found})
