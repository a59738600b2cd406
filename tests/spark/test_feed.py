"""Changes of a store in Spark: streams, batches, restarts, crashes."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import lsm
from tests.spark.conftest import ROOT
from tests.spark.feeding import start
from tests.spark.test_feed_reader import applied, expected

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
COLUMNS = ["key", "value", "_change_type", "_commit_version", "_commit_timestamp"]


@pytest.fixture
def changes(spark):
    """Read a batch of changes: changes(path, startingVersion="1")."""

    def changes(path, schema=None, **options):
        reader = spark.read.format("lsm").option("readChangeFeed", "true").options(**options)
        return (reader if schema is None else reader.schema(schema)).load(str(path))

    return changes


@pytest.fixture
def stream(spark, tmp_path):
    """Run a stream over what is there, with a checkpoint; return its batches."""

    def stream(path, checkpoint="checkpoint", schema=None, **options):
        reader = spark.readStream.format("lsm").option("readChangeFeed", "true").options(**options)
        frame = (reader if schema is None else reader.schema(schema)).load(str(path))
        batches = {}
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path / checkpoint))
        query = (
            writer.foreachBatch(lambda part, number: batches.update({number: part.collect()}))
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(120)
        finally:
            query.stop()
        return [batches[number] for number in sorted(batches)]

    return stream


@pytest.fixture
def kept(path):
    """A store that keeps its whole log."""
    with lsm.open(path, background="manual", log_retention="all") as db:
        db.update({b"k%02d" % number: b"old" for number in range(10)})
        db.flush()
        db.update({b"k%02d" % number: b"new" for number in range(5)})
        del db[b"k07"]
        yield db


def plain(rows):
    return [
        (
            bytes(row.key),
            None if row.value is None else bytes(row.value),
            row._change_type,
            row._commit_version,
        )
        for row in rows
    ]


def told(db, since=0):
    return [row[:4] for row in expected(db, since)]


def flat(batches):
    return [row for batch in batches for row in batch]


class TestBatches:
    def test_changes_have_the_columns_that_delta_has(self, changes, path, kept):
        frame = changes(path, startingVersion="1")

        assert frame.columns == COLUMNS
        assert [field.dataType.simpleString() for field in frame.schema] == [
            "binary",
            "binary",
            "string",
            "bigint",
            "timestamp",
        ]
        assert plain(frame.collect()) == told(kept)
        # The end is the one there was when it was read first.
        kept[b"later"] = b"1"
        assert frame.count() == len(told(kept)) - 1
        assert changes(path, startingVersion="11", endingVersion="15").count() == 5

    def test_types_and_chosen_columns(self, changes, path):
        with lsm.open(path, log_retention="all") as db:
            db[b"one"] = (1).to_bytes(8, "big")
            del db[b"one"]
            db[b"two"] = (2).to_bytes(8, "big")

            frame = changes(path, startingVersion="1", keyFormat="string", valueFormat="long")
            assert [tuple(row)[:3] for row in frame.collect()] == [
                ("one", 1, "update_postimage"),
                ("one", None, "delete"),
                ("two", 2, "update_postimage"),
            ]
            some = changes(path, schema="_change_type string, key binary", startingVersion="1")
            assert [tuple(row) for row in some.collect()][1] == ("delete", b"one")

    def test_json_values(self, changes, path):
        with lsm.open(path, log_retention="all") as db:
            db[b"a"] = b'{"name": "x", "price": 1.5}'
            del db[b"a"]
            schema = "key string, name string, price double, _commit_version bigint"
            options = {"keyFormat": "string", "valueFormat": "json", "startingVersion": "1"}

            assert [tuple(row) for row in changes(path, schema=schema, **options).collect()] == [
                ("a", "x", 1.5, 1),
                ("a", None, None, 2),
            ]

    def test_sql_reads_changes(self, spark, path, kept):
        spark.sql(
            f"CREATE TABLE changed USING lsm "
            f"OPTIONS (path '{path}', readChangeFeed 'true', startingVersion 'earliest')"
        )
        try:
            found = spark.sql("SELECT count(*) FROM changed WHERE _change_type = 'delete'").first()[0]
            assert found == 1
        finally:
            spark.sql("DROP TABLE changed")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({}, "needs startingVersion"),
            ({"startingVersion": "99"}, r"99 is outside the retained log \[1, 16\]"),
            ({"startingVersion": "1", "keyspace": "no"}, "no keyspace 'no'"),
            ({"startingVersions": "1"}, "did you mean startingVersion"),
            ({"startingVersion": "1", "schema": "key long"}, "the schema says key is bigint"),
            ({"startingVersion": "1", "schema": "key binary, _seq long"}, "a change feed has no column _seq"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, changes, path, kept, options, message):
        with pytest.raises(Exception, match=message) as error:
            changes(path, **options).collect()
        assert "Traceback" not in str(error.value)


class TestStreams:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"readChangeFeed": "false"}, "a stream of a store is its changes"),
            ({"startingVersion": "1", "endingVersion": "2"}, "endingVersion is for a batch of changes"),
            ({"startingVersion": "99"}, r"99 is outside the retained log \[1, 16\]"),
            ({"schema": "name string"}, "the schema has a column 'name'"),
        ],
    )
    def test_what_is_wrong_is_one_line(self, stream, path, kept, options, message):
        with pytest.raises(Exception, match=message) as error:
            stream(path, **options)
        assert "Traceback" not in str(error.value)

    def test_content_then_changes_over_restarts(self, stream, path, kept):
        begun = flat(stream(path))
        assert [row[:3] for row in plain(begun)] == [(key, value, "insert") for key, value in kept.scan()]

        seq = kept.seq
        kept.update({b"k%02d" % number: b"third" for number in range(3)})
        del kept[b"k08"]
        assert plain(flat(stream(path))) == told(kept, seq)
        assert stream(path) == []
        assert not (path / "pins").exists()

    def test_limits_and_available_now(self, stream, path, kept):
        batches = stream(path, startingVersion="earliest", maxRecordsPerTrigger="6")

        assert plain(flat(batches)) == told(kept)
        assert [len(batch) for batch in batches] == [10, 6]  # a commit of ten is not split
        again = stream(path, checkpoint="other", startingVersion="1", maxRecordsPerTrigger="5")
        assert [len(batch) for batch in again] == [10, 5, 1]

    def test_previous_values(self, stream, path):
        with lsm.open(path, log_history=True, log_retention="all") as db:
            db[b"a"] = b"1"
            db[b"a"] = b"2"
            del db[b"a"]

            found = flat(stream(path, startingVersion="1", withPreimage="true"))
            assert [row[:3] for row in plain(found)] == [
                (b"a", b"1", "insert"),
                (b"a", b"1", "update_preimage"),
                (b"a", b"2", "update_postimage"),
                (b"a", b"2", "delete"),
            ]

    def test_a_failed_batch_comes_again_as_it_was(self, spark, path, kept, tmp_path):
        seen = []

        def run(fails_at):
            def handle(part, number):
                rows = plain(part.collect())
                seen.append((number, rows))
                if number == fails_at:
                    raise RuntimeError("on purpose")

            frame = (
                spark.readStream.format("lsm")
                .options(readChangeFeed="true", startingVersion="1", maxRecordsPerTrigger="5")
                .load(str(path))
            )
            writer = frame.writeStream.foreachBatch(handle).option("checkpointLocation", str(tmp_path / "c"))
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination(120)

        with pytest.raises(Exception, match="on purpose"):
            run(fails_at=1)
        kept[b"later"] = b"1"
        kept.compact()
        run(fails_at=None)

        assert [number for number, _ in seen] == [0, 1, 1, 2]
        assert seen[1] == seen[2]
        assert [row for number, rows in dict(seen).items() for row in rows] == told(kept)

    def test_a_trimmed_log(self, stream, path):
        with lsm.open(path, background="manual", log_retention_bytes=0) as db:
            db.update({b"%d" % number: b"x" for number in range(10)})
            stream(path, startingVersion="earliest")
            db[b"lost"] = b"1"
            db.compact()
            db[b"later"] = b"2"
            db.flush()
            db[b"last"] = b"3"
            log = db.log
            assert log.earliest > 11

            with pytest.raises(Exception, match=f"which holds {log.earliest} to {log.latest};") as error:
                stream(path, startingVersion="earliest")
            assert "Traceback" not in str(error.value).partition("=== Streaming Query ===")[0]
            found = flat(stream(path, startingVersion="earliest", failOnDataLoss="false"))
            assert plain(found) == told(db, log.earliest - 1)

    def test_a_consumer_holds_the_log(self, stream, path):
        with lsm.open(path, background="manual", log_retention_bytes=0) as db:
            db.update({b"%d" % number: b"x" for number in range(10)})
            stream(path, startingVersion="earliest", consumerId="spark")
            for _ in range(3):
                db[b"more"] = b"1"
                db.compact()

            assert [(one.name, one.is_pinned) for one in db.consumers()] == [("spark", True)]
            assert len(flat(stream(path, startingVersion="earliest", consumerId="spark"))) == 3
            # A batch is committed with the next one: what is read is let go at last.
            db[b"more"] = b"2"
            stream(path, startingVersion="earliest", consumerId="spark")
            assert db.consumers()[0].position >= 13

    def test_a_feed_goes_straight_into_another_store(self, spark, path, kept, tmp_path):
        copy = tmp_path / "copy"
        lsm.open(copy).close()

        def pour():
            frame = spark.readStream.format("lsm").option("readChangeFeed", "true").load(str(path))
            writer = frame.writeStream.format("lsm").option("checkpointLocation", str(tmp_path / "c"))
            assert writer.trigger(availableNow=True).start(str(copy)).awaitTermination(120)

        pour()
        for number in range(8):
            kept[b"k00"] = b"%d" % number  # a key that comes several times in one batch
        del kept[b"k01"]
        pour()

        with lsm.open(copy, "r") as db:
            assert list(db.scan()) == list(kept.scan())


class TestCrash:
    def test_kill_9_in_the_middle_with_a_writer_beside(self, spark, path, tmp_path, seed):
        """The content, then changes, with no gap and no duplicate, whenever the query was killed."""
        out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
        with lsm.open(path, memtable_bytes_max=64 * 1024, log_retention_bytes=0) as db:
            db.update({b"k%03d" % number: b"old" for number in range(200)})
            stop = threading.Event()
            writer = threading.Thread(target=self.write, args=(db, stop, seed))
            writer.start()
            try:
                self.run_and_kill(path, checkpoint, out, batches=3)  # of the content
                self.run_and_kill(path, checkpoint, out, batches=9)  # of the changes
            finally:
                stop.set()
                writer.join()
            db.compact()
            query = start(spark, path, checkpoint, out, limit=5000, availableNow=True)
            assert query.awaitTermination(120)
            self.check(db, out)

    def write(self, db, stop, seed):
        number = seed
        while not stop.is_set():
            number = (number * 1103515245 + 12345) % 2**31
            with db.batch() as batch:
                batch.put(b"k%03d" % (number // 7 % 300), b"%d" % number)
                batch.delete(b"k%03d" % (number // 11 % 300))
            if number % 50 == 0:
                db.compact()
            time.sleep(0.02)

    def run_and_kill(self, path, checkpoint, out, *, batches):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "tests.spark.feeding", str(path), str(checkpoint), str(out)]
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            deadline = time.monotonic() + 120
            while len(list(out.glob("*.json"))) < batches:
                assert child.poll() is None, child.stderr.read().decode()
                assert time.monotonic() < deadline, "no batches came"
                time.sleep(0.02)
        finally:
            os.killpg(child.pid, signal.SIGKILL)  # with its Java and all its Python processes
            child.wait()
            child.stderr.close()

    def check(self, db, out):
        for before in out.glob("*.before"):
            assert before.read_text() == before.with_suffix(".json").read_text()
        files = sorted(out.glob("*.json"), key=lambda file: int(file.stem))
        assert [int(file.stem) for file in files] == list(range(len(files)))
        rows = [
            (base64.b64decode(key), None if value is None else base64.b64decode(value), kind, version, None)
            for file in files
            for key, value, kind, version in json.loads(file.read_text())
        ]
        inserts = [row[0] for row in rows if row[2] == "insert"]
        assert len(inserts) > 100
        assert inserts == sorted(set(inserts))
        later = [(row[0], row[3]) for row in rows if row[2] != "insert"]
        assert len(later) == len(set(later))
        assert applied(rows) == dict(db.scan())
