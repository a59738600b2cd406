"""What is kept of a consumer: as a value, as bytes, in files; and consumers beside the writer."""

import errno
import os
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.consumers.files import ConsumerFiles
from lsm.consumers.record import (
    LINE_BYTES_MAX,
    BadRecord,
    Record,
    decode,
    decode_line,
    encode,
    encode_line,
    in_force,
)
from lsm.filenames import consumer_name, is_ours, parse, parse_consumer
from lsm.opening import open_on
from lsm.verify import verify_on
from tests.lsm.hookfs import HookFS
from tests.lsm.stores import MANUAL, TINY, ManualClock, open_memory
from tests.support.memfs import MemFS

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=16)
NUMBERS = st.integers(0, 2**63 - 1)
RECORDS = st.builds(
    Record,
    name=NAMES,
    number=NUMBERS,
    position=NUMBERS,
    is_pinned=st.booleans(),
    max_lag_bytes=st.none() | NUMBERS,
    store_id=st.binary(min_size=16, max_size=16),
    epoch=NUMBERS,
    time_us=NUMBERS,
    is_dropped=st.booleans(),
    is_deleted=st.booleans(),
)
EXAMPLE = Record(
    name="c",
    number=7,
    position=42,
    is_pinned=True,
    max_lag_bytes=None,
    store_id=bytes(16),
    epoch=1,
    time_us=5,
)


def fill(db, count, first=0):
    for number in range(first, first + count):
        db.put(b"%06d" % number, b"v%d" % number)


def keys(changes):
    return [int(change.key) for change in changes]


def line(text):
    return text + b" %08x\n" % zlib.crc32(text)


# Bytes


@given(RECORDS)
def test_a_record_is_read_as_it_was_written(record):
    assert decode(encode(record), record.name) == record
    assert decode_line(encode_line(record), record.name) == record


def test_the_bytes_of_a_file_are_those_of_the_format():
    assert encode_line(EXAMPLE) == (
        b'{"format":1,"name":"c","n":7,"position":42,"pin":true,"max_lag_bytes":null,'
        b'"store_id":"00000000000000000000000000000000","epoch":1,"time":5} 308f0c8b\n'
    )


def test_what_others_have_noted_is_kept():
    data = encode(EXAMPLE).replace(b'"epoch"', b'"generation":3,"epoch"')
    record = decode(data, "c")
    assert record.extra == {"generation": 3}
    assert decode(encode(record), "c") == record


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"n":7', b'"n":-1'),
        (b'"n":7', b'"n":true'),
        (b'"n":7', b'"n":7.0'),
        (b'"n":7', b'"n":9223372036854775808'),
        (b'"n":7,', b""),
        (b'"position":42', b'"position":"42"'),
        (b'"position":42', b'"position":null'),
        (b'"position":42', b'"position":NaN'),
        (b'"pin":true', b'"pin":1'),
        (b'"max_lag_bytes":null', b'"max_lag_bytes":-5'),
        (b'"max_lag_bytes":null', b'"max_lag_bytes":[]'),
        (b'"store_id":"0000', b'"store_id":"00'),
        (b'"store_id":"0000', b'"store_id":"zzzz'),
        (b'"name":"c"', b'"name":"d"'),
        (b'"name":"c"', b'"name":["c"]'),
        (b'"format":1', b'"format":2'),
        (b'"time":5', b'"time":5,"dropped":"yes"'),
        (b'"time":5', b'"time":{}'),
        (b"{", b"["),
        (b"}", b""),
        (b"}", b"\xff}"),
    ],
)
def test_records_that_make_no_sense_are_refused(old, new):
    data = encode(EXAMPLE)
    assert old in data
    with pytest.raises(BadRecord):
        decode(data.replace(old, new), "c")
    with pytest.raises(BadRecord):
        decode_line(line(data.replace(old, new)), "c")


@pytest.mark.parametrize("text", [b"", b"null", b"7", b'"c"', b"[" * 16000, b'{"a":' * 3000, b"\0" * 100])
def test_what_is_no_record_at_all_is_refused(text):
    with pytest.raises(BadRecord):
        decode_line(line(text), "c")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_record_or_refused(data):
    for text in (data, line(data)):
        with pytest.raises(BadRecord):
            decode_line(text, "c")


def test_a_flip_of_any_bit_and_any_cut_is_seen():
    data = encode_line(EXAMPLE)
    for at in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(BadRecord):
            decode_line(bytes(flipped), "c")
    for size in range(len(data)):
        with pytest.raises(BadRecord):
            decode_line(data[:size], "c")


def test_the_highest_number_is_in_force():
    older, newer = replace(EXAMPLE, number=3), replace(EXAMPLE, number=4)
    assert in_force(older, newer) is newer
    assert in_force(None, newer, older) is newer
    assert in_force(None, None) is None
    crossing = replace(newer, is_dropped=True)
    assert in_force(newer, crossing) is newer


# Names


@given(NAMES, st.sampled_from(["json", "json.tmp", "dropped", "dropped.tmp", "lock"]))
def test_file_names_lead_back_to_the_consumer(name, kind):
    file = consumer_name(name, kind)
    assert parse_consumer(file) == (name, kind)
    assert is_ours(file)
    assert parse(file) is None
    assert "/" not in file
    assert len(file) < 255


@pytest.mark.parametrize(
    "name",
    [
        "consumer-.json",
        "consumer-6.json",
        "consumer-6F.json",
        "consumer-ff.json",
        "consumer-61.txt",
        "consumer-61",
    ],
)
def test_other_names_are_foreign(name):
    assert parse_consumer(name) is None
    assert not is_ours(name)


# Files


def test_a_file_is_replaced_whole_and_durably():
    fs = MemFS()
    files = ConsumerFiles(fs)
    files.write(EXAMPLE)
    fs.create(consumer_name("c", "json.tmp"), lsm.fs.Cause.OTHER).close()  # left by a crash
    files.write(replace(EXAMPLE, number=8))
    assert files.read("c", "json") == replace(EXAMPLE, number=8)
    assert files.names() == {"c": {"json"}}
    assert files.read("c", "dropped") is None
    kinds = [type(op).__name__ for op in fs.log.ops]
    assert kinds[-5:] == ["Link", "Append", "Sync", "Rename", "SyncDir"]


@pytest.mark.parametrize("data", [b"", b"garbage", encode_line(EXAMPLE)[:-1], b"x" * (LINE_BYTES_MAX + 1)])
def test_a_damaged_file_is_named_with_what_to_do(data):
    fs = MemFS.from_image({consumer_name("c", "json"): data})
    with pytest.raises(
        lsm.CorruptionError, match=r"mem/consumer-63\.json.*'c'.*drop_consumer\(\)"
    ) as refused:
        ConsumerFiles(fs).read("c", "json")
    assert refused.value.path == "mem/consumer-63.json"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_what_is_no_file_is_refused(tmp_path, make):
    with lsm.open(tmp_path / "db", **MANUAL) as db:
        make(tmp_path / "db" / consumer_name("c", "json"))
        with pytest.raises(lsm.CorruptionError, match=r"consumer-63\.json"):
            db.consumer("c")


# Beside the writer


@pytest.fixture
def fs():
    return MemFS()


@pytest.fixture
def db(fs):
    return open_memory(fs)


def test_a_consumer_beside_the_writer_keeps_its_position_in_a_file(fs, db):
    fill(db, 10)
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
        assert keys(consumer.poll(4)) == [0, 1, 2, 3]
        consumer.commit()
        fill(db, 2, first=10)
        assert keys(consumer.poll()) == [4, 5, 6, 7, 8, 9, 10, 11]
        consumer.commit(6)
        assert (consumer.committed, consumer.lag) == (6, 0)
    assert db.seq == 12  # nothing was written to the store
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
        assert keys(consumer.poll(2)) == [6, 7]
    assert [(info.name, info.position, info.lag, info.where) for info in db.consumers()] == [
        ("c", 6, 6, "file")
    ]


def test_a_consumer_moves_into_the_writer_and_out_again(fs, db):
    fill(db, 10)
    for number in range(5):
        for where in (open_memory(fs, "r"), db):
            with where.consumer("c") as consumer:
                assert consumer.committed == consumer.position
                (change,) = consumer.poll(1)
                consumer.commit()
                assert consumer.committed == change.seq
        assert consumer_name("c", "json") not in fs.list(), number
    with db.consumer("c") as consumer:
        assert consumer.poll() == []


def test_a_commit_beside_the_writer_cannot_join_a_batch(fs, db):
    fill(db, 3)
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer, db.batch() as batch:
        consumer.poll()
        with pytest.raises(lsm.ReadOnlyError, match="not in the process that writes"):
            consumer.commit(batch=batch)
        assert consumer.committed == 0


def test_use_is_exclusive_between_writer_and_readers(fs, db):
    with open_memory(fs, "r") as reader:
        with reader.consumer("c"), pytest.raises(lsm.ConsumerBusy):
            db.consumer("c")
        with db.consumer("c"), pytest.raises(lsm.ConsumerBusy):
            reader.consumer("c")
        with reader.consumer("c"), pytest.raises(lsm.ConsumerBusy):
            db.drop_consumer("c")


def test_a_reader_closes_its_consumers(fs, db):
    reader = open_memory(fs, "r")
    consumer = reader.consumer("c")
    reader.close()
    with pytest.raises(lsm.ClosedError):
        consumer.poll()
    db.consumer("c").close()


def test_a_consumer_removed_beside_the_writer_is_gone_for_both(fs, db):
    fill(db, 5)
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit()
    with open_memory(fs, "r") as reader:
        reader.drop_consumer("c")
        assert reader.consumers() == []
        with pytest.raises(lsm.ConsumerNotFound):
            reader.drop_consumer("c")
    assert db.consumers() == []
    with pytest.raises(lsm.ConsumerNotFound):
        db.drop_consumer("c")
    with pytest.raises(lsm.ConsumerNotFound):
        db.consumer("c", start=None)
    db.close()
    with open_memory(fs) as again:
        assert not [name for name in fs.list() if name.startswith("consumer-")]
        assert again.consumers() == []
        with again.consumer("c") as consumer:
            assert keys(consumer.poll()) == [0, 1, 2, 3, 4]


def test_a_consumer_removed_beside_the_writer_can_be_made_anew(fs, db):
    fill(db, 5)
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit()
    with open_memory(fs, "r") as reader:
        reader.drop_consumer("c")
        with reader.consumer("c") as consumer:
            assert keys(consumer.poll()) == [0, 1, 2, 3, 4]
            consumer.commit(2)
    with db.consumer("c") as consumer:
        assert keys(consumer.poll()) == [2, 3, 4]


NO_LOG = {**TINY, "log_retention_bytes": 0}


def settle(db):
    db.flush()
    while db.step():
        pass


def test_retention_respects_a_consumer_beside_the_writer(fs):
    db = open_memory(fs, options=NO_LOG)
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
        fill(db, 60)
        settle(db)
        assert db.log.earliest == 1
        assert keys(consumer.poll(40)) == list(range(40))
        consumer.commit()
        settle(db)
        assert 1 < db.log.earliest <= 41
        assert keys(consumer.poll()) == list(range(40, 60))
    with open_memory(fs, "r") as reader:
        reader.drop_consumer("c")
    fill(db, 30, first=60)
    settle(db)
    assert db.log.earliest > 60


def test_a_consumer_beside_the_writer_is_dropped_and_told(fs):
    db = open_memory(fs, options=NO_LOG)
    with open_memory(fs, "r") as reader, reader.consumer("c", max_lag_bytes=1500) as consumer:
        fill(db, 10)
        consumer.poll(4)
        consumer.commit()
        fill(db, 60, first=10)
        settle(db)
        for use in (consumer.poll, consumer.commit):
            with pytest.raises(lsm.ConsumerDropped) as told:
                use()
        assert (told.value.position, told.value.earliest) == (4, db.log.earliest)
        assert consumer.committed == 4
        assert [info.is_dropped for info in reader.consumers()] == [True]
        consumer.seek("earliest")
        fill(db, 1, first=99)
        assert keys(consumer.poll())[-1] == 99
        consumer.commit()
    assert [info.is_dropped for info in db.consumers()] == [False]


def test_a_damaged_file_holds_the_log_and_is_listed(fs, caplog):
    db = open_memory(fs, options=NO_LOG)
    fill(db, 5)
    with db.consumer("c") as consumer:
        consumer.poll(3)
        consumer.commit()
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
        consumer.poll()
        consumer.commit()
    inode = fs.disk.inodes[fs._names[consumer_name("c", "json")]]
    inode.data[20] ^= 4
    inode.frozen = None
    fill(db, 60, first=5)
    settle(db)
    assert db.log.earliest <= 4  # what the store itself knows is still held
    assert "consumer-63.json" in caplog.text
    settle(db)
    assert caplog.text.count("the log is kept for it") == 1  # said once, not with every trim
    assert [problem.file for problem in verify_on(fs).problems] == ["mem/consumer-63.json"]
    (info,) = db.consumers()
    assert "consumer-63.json" in info.problem
    assert info.position >= 3
    with pytest.raises(lsm.CorruptionError, match=r"consumer-63\.json"):
        db.consumer("c")
    with open_memory(fs, "r") as reader, pytest.raises(lsm.CorruptionError):
        reader.consumer("c")
    db.drop_consumer("c")
    assert db.consumers() == []
    with db.consumer("c"):
        pass


def test_files_of_an_earlier_store_are_passed_over_and_removed(tmp_path):
    path = tmp_path / "db"
    with lsm.open(path, **MANUAL) as db:
        fill(db, 10)
        with lsm.open(path, "r") as reader, reader.consumer("c") as consumer:
            consumer.poll()
            consumer.commit()
    with lsm.open(path, "n", **MANUAL) as db:
        assert not list(path.glob("consumer-*"))
        assert db.consumers() == []
        fill(db, 2)
        with db.consumer("c") as consumer:
            assert keys(consumer.poll()) == [0, 1]


def test_a_file_of_another_store_is_passed_over(tmp_path):
    for name in ("one", "two"):
        with lsm.open(tmp_path / name, **MANUAL) as db:
            fill(db, 10)
    with lsm.open(tmp_path / "one", "r") as db, db.consumer("c") as consumer:
        consumer.poll(7)
        consumer.commit()
    file = consumer_name("c", "json")
    (tmp_path / "two" / file).write_bytes((tmp_path / "one" / file).read_bytes())
    with lsm.open(tmp_path / "two", "r") as db:
        assert db.consumers() == []
        with db.consumer("c") as consumer:
            assert keys(consumer.poll(1)) == [0]


def test_leftovers_are_removed_when_the_store_is_opened(fs, db):
    fill(db, 5)
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
        consumer.poll(3)
        consumer.commit()
    db.close()
    for name in (
        consumer_name("c", "json.tmp"),
        consumer_name("gone", "lock"),
        consumer_name("x", "dropped.tmp"),
    ):
        fs.create(name, lsm.fs.Cause.OTHER).close()
    with open_memory(fs):
        found = [name for name in fs.list() if name.startswith("consumer-")]
        assert found == [consumer_name("c", "json"), consumer_name("c", "lock")]


def test_what_is_in_use_is_not_tidied(fs, db):
    fill(db, 5)
    db.close()
    with open_memory(fs, "r") as reader, reader.consumer("c") as consumer:
        fs.create(consumer_name("c", "json.tmp"), lsm.fs.Cause.OTHER).close()
        with open_memory(fs):
            assert consumer_name("c", "json.tmp") in fs.list()
        consumer.poll()
        consumer.commit()


def test_a_directory_that_cannot_be_written(tmp_path):
    inner = MemFS()
    with open_on(inner, "c", MANUAL) as db:
        fill(db, 3)
    fs = HookFS(inner)

    def refuse(name, holder):
        raise OSError(errno.EROFS, "read-only file system")

    fs.lock = refuse
    with open_on(fs, "r") as reader:
        assert reader.consumers() == []
        with pytest.raises(lsm.ReadOnlyError, match=r"cannot be written.*db\.changes\(since\)"):
            reader.consumer("c")
        assert len(list(reader.changes())) == 3


def test_a_full_disk_leaves_the_old_position(fs, db):
    fill(db, 5)
    hooked = HookFS(fs)
    with open_on(hooked, "r") as reader, reader.consumer("c") as consumer:
        consumer.poll(2)
        consumer.commit()

        def hook(operation, name, cause):
            if operation == "append" and name.endswith("json.tmp"):
                raise OSError(errno.ENOSPC, "full")

        hooked.hook = hook
        consumer.poll(2)
        with pytest.raises(lsm.DiskFull):
            consumer.commit()
        assert consumer.committed == 2
        hooked.hook = None
        consumer.commit()
        assert consumer.committed == 4


def test_a_checkpoint_has_the_positions_of_all(tmp_path):
    path, copy = tmp_path / "db", tmp_path / "copy"
    with lsm.open(path, **MANUAL) as db:
        fill(db, 10)
        with lsm.open(path, "r") as reader, reader.consumer("out") as consumer:
            consumer.poll(3)
            consumer.commit()
        with db.consumer("in") as consumer:
            consumer.poll(5)
            consumer.commit()
        db.checkpoint(copy)
    with lsm.open(copy, **MANUAL) as db:
        assert {info.name: info.position for info in db.consumers()} == {"out": 3, "in": 5}
        with db.consumer("out") as consumer:
            assert keys(consumer.poll(2)) == [3, 4]


def test_epochs_of_the_future_are_foreign(fs, db):
    fill(db, 5)
    with open_memory(fs, "r") as reader:
        reader.consumer("c").close()
        files = ConsumerFiles(fs)
        files.write(replace(files.read("c", "json"), number=99, epoch=7))
        with reader.consumer("c") as consumer:
            with pytest.raises(lsm.ForeignLog, match="epoch 7"):
                consumer.poll()
            consumer.seek("earliest")
            assert keys(consumer.poll()) == [0, 1, 2, 3, 4]


def test_a_store_recreated_beside_a_consumer_is_noticed(tmp_path):
    path = tmp_path / "db"
    with lsm.open(path, **MANUAL) as db:
        fill(db, 5)
    with lsm.open(path, "r") as reader, reader.consumer("c") as consumer:
        consumer.poll()
        with lsm.open(path, "n", **MANUAL) as db:
            fill(db, 9)
            with pytest.raises(lsm.ForeignLog):
                consumer.poll()
            assert db.consumers() == []


def test_time_of_the_last_commit(fs):
    clock = ManualClock()
    db = open_memory(fs, clock=clock)
    fill(db, 3)
    clock.us += 7_000_000
    with db.consumer("c") as consumer:
        consumer.poll()
        consumer.commit()
    assert [info.committed_time for info in db.consumers()] == [clock.us]
