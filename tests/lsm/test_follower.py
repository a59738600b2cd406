"""Following a store from directory to directory: the same in both, and refused where it could not be."""

import errno
import os
import time
from datetime import UTC, datetime

import pytest

import lsm
from lsm.follower.follower import follow_on
from lsm.follower.lineage import check_source, parting, promoted
from lsm.fs_types import Cause
from lsm.manifest import read_current, read_manifest
from lsm.segments import read_segment
from lsm.version import Epoch, Version
from tests.lsm.followers import Pair, assert_same, contents
from tests.reliability.tiny import let_go, open_tiny


@pytest.fixture
def pair():
    pair = Pair()
    yield pair
    pair.db.close()


# The same in both


@pytest.mark.parametrize("before", [0, 1, 7, 40])
@pytest.mark.parametrize("after", [0, 1, 40])
def test_a_copy_is_the_same_in_everything(pair, before, after):
    pair.write(before)
    with pair.follow() as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)

        pair.write(after, before)

        assert follower.lag == pair.db.seq - follower.seq
        assert follower.catch_up() == pair.db.seq
        assert follower.lag == 0
        assert_same(follower.db, pair.db)


def test_a_copy_made_of_links_has_all_the_log_that_the_source_has(pair):
    pair.write(40)
    with pair.follow() as follower:
        follower.catch_up()

        assert follower.db.log.earliest == pair.db.log.earliest == 1
        assert contents(follower.db) == contents(pair.db)


def test_a_copy_whose_source_keeps_no_log_is_made_of_tables(pair):
    pair = Pair(log_retention="limits")
    pair.write(40)
    assert pair.db.log.earliest > 1
    with pair.follow() as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)
    pair.db.close()


def test_times_and_batches_survive_a_flush_and_a_restart_of_the_copy(pair):
    pair.write(10)
    with pair.follow() as follower:
        pair.write(10, 10)
        follower.catch_up()
        follower.db.compact()
    with pair.follow() as follower:
        assert_same(follower.db, pair.db)
        times = {change.seq: change.time for change in pair.db.changes()}
        assert {change.seq: change.time for change in follower.db.changes()} == times


def test_a_moment_is_found_in_a_copy_as_in_its_source(pair):
    pair.write(30)
    with pair.follow() as follower:
        pair.write(30, 30)
        follower.catch_up()
        for change in list(pair.db.changes())[::7]:
            moment = datetime.fromtimestamp(change.time / 1e6, UTC)
            found = [next(db.changes(moment)) for db in (pair.db, follower.db)]
            assert found[0] == found[1]


def test_keyspaces_come_and_go_as_in_the_source(pair):
    with pair.follow() as follower:
        pair.db.keyspace("one").put(b"k", b"1")
        follower.catch_up()
        assert follower.db.keyspaces() == ["default", "one"]
        one = follower.db.keyspace("one")

        pair.db.drop_keyspace("one")
        pair.db.keyspace("one").put(b"k", b"2")
        follower.catch_up()

        assert follower.db.keyspace("one").get(b"k") == b"2"
        with pytest.raises(lsm.KeyspaceNotFound):
            one.get(b"k")
        assert_same(follower.db, pair.db)


def test_a_keyspace_without_a_write_arrives_too(pair):
    with pair.follow() as follower:
        pair.db.keyspace("empty")
        pair.db._system_keyspace("lsm:hidden")
        follower.catch_up()
        assert contents(follower.db) == contents(pair.db)
        assert follower.db.keyspaces() == ["default", "empty"]


def test_writes_to_a_keyspace_that_was_dropped_meanwhile_are_passed_over(pair):
    with pair.follow() as follower:
        pair.db.keyspace("gone").put(b"k", b"1")
        pair.db.put(b"k", b"2")
        pair.db.drop_keyspace("gone")
        follower.catch_up()
        assert_same(follower.db, pair.db)
    with pair.follow() as follower:  # and its log is readable
        assert_same(follower.db, pair.db)


def test_a_large_batch_goes_through_whole(pair):
    with pair.follow() as follower:
        with pair.db.batch() as batch:
            for number in range(3000):
                batch.put(b"%d" % number, bytes(1000))
        follower.catch_up()
        assert_same(follower.db, pair.db)


def rows(count, value):
    return {b"row-%03d" % number: b"%s %d" % (value, number) for number in range(count)}


def without_batches(db):
    return [change._replace(batch_first_seq=0, batch_count=0) for change in db.changes()]


@pytest.mark.parametrize("way", ["directory", "stream"])
def test_loads_arrive_row_by_row_and_are_not_taken_twice_after_a_promotion(pair, way):
    pair.write(3)
    with pair.follow() as follower:
        follower.catch_up()
    pair.load(rows(100, b"first"), transaction=("load", 1))
    pair.db.put(b"k", b"v")
    pair.load(rows(30, b"second"), transaction=("load", 2), replaces=True)
    if way == "directory":
        with pair.follow() as follower:
            follower.catch_up()
    else:
        pair.apply(pair.ship())
        pair.apply(pair.ship(pair.db.seq))
    with pair.open("copy") as copy:
        assert (copy.seq, dict(copy.scan())) == (pair.db.seq, dict(pair.db.scan()))
        assert without_batches(copy) == without_batches(pair.db)
        assert copy._state.version.transactions == {"load": 2}
    with pair.follow() as follower:
        pair.db.close()
        pair.db = follower.promote()
        assert not pair.load(rows(30, b"second"), transaction=("load", 2)).is_new


def test_a_copy_takes_no_loads(pair):
    with pair.follow() as follower:
        source, pair.db = pair.db, follower.db
        with pytest.raises(lsm.ReadOnlyError, match="promote"):
            pair.load(rows(3, b"own"))
        pair.db = source


def test_a_copy_of_a_store_with_loads_is_made_of_links(pair):
    pair.load(rows(100, b"first"), transaction=("load", 1))
    with pair.follow() as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)
        assert follower.db._state.version.transactions == {"load": 1}


def test_unsynced_writes_are_made_durable_before_they_are_taken():
    pair = Pair(sync="os")
    with pair.follow() as follower:
        pair.db.put(b"k", b"v", sync=False)
        assert follower.catch_up() == 1
    pair.db.close()


# Sources of all kinds


def test_a_source_that_was_closed_and_opened_again_is_followed_on(pair):
    pair.write(5)
    with pair.follow() as follower:
        for start in range(5, 30, 5):
            pair.reopen()
            pair.write(5, start)
            follower.catch_up()
            assert_same(follower.db, pair.db)


def test_a_source_that_was_abandoned_is_followed_to_its_end_and_on(pair):
    pair.write(5)
    with pair.follow() as follower:
        follower.catch_up()
        pair.write(2, 5)
        let_go(pair.db)
        pair.fs.disk.held.pop(("source", "LOCK"), None)
        follower.catch_up()
        pair.db = pair.open()
        pair.write(5, 7)
        follower.catch_up()
        assert_same(follower.db, pair.db)


def test_a_closed_source_and_a_checkpoint_can_be_followed(pair):
    pair.write(20)
    pair.db.close()
    with pair.follow() as follower:
        closed = follower.seq
        assert follower.catch_up() == closed
        assert follower.lag == 0
    pair.db = pair.open()
    assert_same_after(pair, "source")


def assert_same_after(pair, source):
    with pair.follow(source) as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)


def test_a_copy_can_be_followed(pair):
    pair.write(10)
    with pair.follow(target="first") as first, pair.follow("first", "second") as second:
        pair.write(10, 10)
        first.catch_up()
        second.catch_up()
        assert_same(second.db, pair.db)


def test_a_checkpoint_becomes_a_copy(tmp_path):
    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"1")
        db.checkpoint(tmp_path / "copy")
        db.put(b"k", b"2")
        with lsm.follow(tmp_path / "source", tmp_path / "copy") as follower:
            assert follower.seq == 1
            assert follower.catch_up() == 2
            with pytest.raises(lsm.ReadOnlyError):
                follower.db.put(b"k", b"3")
    with lsm.open(tmp_path / "copy") as copy, pytest.raises(lsm.ReadOnlyError, match="promote"):
        copy.put(b"k", b"3")


def test_a_checkpoint_that_was_written_to_is_refused(tmp_path):
    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"1")
        db.checkpoint(tmp_path / "copy")
        db.put(b"k", b"2")
        with lsm.open(tmp_path / "copy") as copy:
            copy.put(b"k", b"own")
        with pytest.raises(lsm.ForeignLog, match="diverged at sequence number 2"):
            lsm.follow(tmp_path / "source", tmp_path / "copy")
    with lsm.open(tmp_path / "copy") as copy:
        assert copy[b"k"] == b"own"


# Making the copy


class VanishingFS:
    """The source's directory as a follower sees it: things happen in the middle."""

    def __init__(self, inner, meanwhile):
        self._inner = inner
        self._meanwhile = meanwhile

    def link(self, name, target):
        if self._meanwhile:
            self._meanwhile.pop()()
        self._inner.link(name, target)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_a_copy_is_whole_though_the_source_compacts_meanwhile():
    pair = Pair(log_retention="limits")
    pair.write(20)

    def compact():
        pair.write(4, 100)
        pair.db.compact()

    source = VanishingFS(pair.fs, [compact, compact])
    with follow_on(source, pair.dir(), clock=pair.clock) as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)
        version = follower.db._state.version  # and no file that it does not name
        tables = [name for name in pair.dir().list() if name.endswith(".sst")]
        assert len(tables) == len(version.all_tables())
    pair.db.close()


def test_a_table_that_is_really_missing_is_named_and_not_looked_for_for_ever(pair):
    pair.write(40)
    table = next(name for name in pair.fs.list() if name.endswith(".sst"))
    let_go(pair.db)
    pair.fs.unlink(table)
    with pytest.raises(lsm.TableCorrupt, match="missing"):
        pair.follow()


def test_tables_are_linked_on_one_disk(tmp_path):
    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"v")
        db.flush()
        with lsm.follow(tmp_path / "source", tmp_path / "copy") as follower:
            assert follower.db[b"k"] == b"v"
            tables = list((tmp_path / "copy").glob("*.sst"))
            assert [path.stat().st_nlink for path in tables] == [2]


def test_half_a_copy_is_no_store_and_is_made_again(pair):
    pair.write(30)
    pair.db.flush()
    half = pair.dir()
    half.create("BOOTSTRAP", Cause.OTHER).close()
    table = next(name for name in pair.fs.list() if name.endswith(".sst"))
    pair.fs.link(table, half)
    for flag in ("c", "w", "r"):
        with pytest.raises(lsm.FollowerError, match="half a copy"):
            pair.open("copy", flag)
    with pair.follow() as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)
    assert "BOOTSTRAP" not in pair.dir().list()


def test_a_directory_with_other_files_is_left_alone(tmp_path):
    with lsm.open(tmp_path / "source") as db:
        db.put(b"k", b"v")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "diary.txt").write_text("mine")
    with pytest.raises(lsm.NotAStore):
        lsm.follow(tmp_path / "source", tmp_path / "copy")
    assert sorted(os.listdir(tmp_path / "copy")) in (["diary.txt"], ["LOCK", "diary.txt"])


def test_no_source_no_copy(tmp_path):
    with pytest.raises(lsm.StoreNotFound):
        lsm.follow(tmp_path / "nothing", tmp_path / "copy")
    (tmp_path / "empty").mkdir()
    with pytest.raises(lsm.StoreNotFound):
        lsm.follow(tmp_path / "empty", tmp_path / "copy")
    (tmp_path / "file").write_text("no store")
    with pytest.raises(lsm.NotAStore):
        lsm.follow(tmp_path / "file", tmp_path / "copy")
    with lsm.open(tmp_path / "source"):
        pass
    with pytest.raises(lsm.StoreNotFound):
        lsm.follow(tmp_path / "source", tmp_path / "no" / "copy")


# A copy takes no writes


def test_a_copy_refuses_all_writes_and_says_what_to_do(pair):
    pair.write(10)
    with pair.follow() as follower:
        follower.catch_up()
        db = follower.db
        second = db.keyspace("second")
        attempts = [
            lambda: db.put(b"k", b"v"),
            lambda: db.delete(b"k"),
            lambda: second.put(b"k", b"v"),
            lambda: db.update({b"k": b"v"}),
            lambda: db.keyspace("new"),
            lambda: db.drop_keyspace("second"),
        ]
        for attempt in attempts:
            with pytest.raises(lsm.ReadOnlyError, match="promote") as caught:
                attempt()
            assert caught.value.errno == errno.EROFS
        with pytest.raises(lsm.ReadOnlyError), db.batch() as batch:
            batch.put(b"k", b"v")
        assert db.is_read_only
        assert_same(db, pair.db)


def test_a_copy_can_be_opened_read_flushed_and_compacted(pair):
    pair.write(20)
    with pair.follow() as follower:
        follower.catch_up()
    with pair.open("copy") as copy:
        copy.flush()
        copy.compact()
        with copy.snapshot() as snapshot:
            assert dict(snapshot.scan()) == dict(pair.db.scan())
        with pytest.raises(lsm.ReadOnlyError):
            copy.put(b"k", b"v")
    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)


def test_only_one_may_keep_a_copy(pair):
    pair.write(3)
    with pair.follow(), pytest.raises(lsm.LockedError):
        pair.follow()


def test_a_closed_follower_says_so(pair):
    follower = pair.follow()
    follower.close()
    follower.close()
    for use in (follower.catch_up, follower.promote, lambda: follower.seq, lambda: follower.lag):
        with pytest.raises(lsm.ClosedError):
            use()


# Trimmed past the copy


def trimmed(pair):
    """Make a copy, then let the source go on so far that its log does not reach back to it."""
    pair.write(10)
    with pair.follow() as follower:
        seq = follower.catch_up()
    pair.write(40, 10)
    assert pair.db.log.earliest > seq + 1
    return seq


def test_what_the_source_no_longer_has_is_named_and_nothing_is_skipped():
    pair = Pair(log_retention="limits")
    seq = trimmed(pair)
    with pytest.raises(lsm.OffsetOutOfRange) as caught:
        pair.follow()
    assert caught.value.requested == seq
    assert (caught.value.earliest, caught.value.latest) == (pair.db.log.earliest, pair.db.seq)
    with pair.open("copy") as copy:  # it is what it was
        assert copy.seq == seq
    pair.db.close()


def test_a_copy_that_fell_behind_is_made_anew_where_that_is_wanted():
    pair = Pair(log_retention="limits")
    trimmed(pair)
    with pair.follow(bootstrap_again=True) as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)
    pair.db.close()


@pytest.mark.parametrize("options", [{}, {"compression": "zlib", "mmap": False}], ids=["mapped", "cached"])
def test_a_reader_of_a_copy_that_is_made_anew_never_sees_the_old_tables(options):
    pair = Pair(log_retention="limits", **options)
    pair.write(10)
    with pair.follow() as follower:
        pair.db.put(b"k", b"v")
        follower.catch_up()
        follower.db.compact()
    with pair.open("copy", "r") as reader:
        dict(reader.scan())
        old = reader._state.version.tables()
        while all(old.get(number, table) == table for number, table in pair.tables().items()):
            pair.write(3, pair.db.seq)  # until a number stands for two tables
        with pair.follow(bootstrap_again=True) as follower:
            follower.catch_up()
            reader.refresh()
            assert_same(reader, pair.db)
    pair.db.close()


def test_a_follower_that_is_overtaken_by_retention_says_so():
    pair = Pair(log_retention="limits")
    pair.write(3)
    with pair.follow() as follower:
        pair.write(40, 3)
        pair.write(40, 43)
        with pytest.raises(lsm.OffsetOutOfRange):
            follower.catch_up()
    pair.db.close()


def test_a_source_keeps_its_log_for_a_copy_that_asks_for_it(tmp_path):
    options = {"background": "manual", "memtable_bytes_max": 1024, "log_retention_bytes": 0}
    source, copy = tmp_path / "source", tmp_path / "copy"
    with lsm.open(source, **options) as db:
        with lsm.follow(source, copy, consumer="copy one") as follower:
            write_much(db)
            assert db.log.earliest == 1
            follower.catch_up()
            assert [(info.name, info.position) for info in db.consumers()] == [("copy one", db.seq)]
            db.compact()
            assert db.log.earliest > 1
        write_much(db)  # while nobody follows
        with lsm.follow(source, copy, consumer="copy one") as follower:
            follower.catch_up()
            assert_same(follower.db, db)
            with pytest.raises(lsm.ConsumerBusy):
                lsm.follow(source, tmp_path / "other", consumer="copy one")
        db.drop_consumer("copy one")
        write_much(db)
        with pytest.raises(lsm.OffsetOutOfRange):
            lsm.follow(source, copy)


def write_much(db):
    for number in range(100):
        db.put(b"%d" % number, bytes(100))
    db.compact()


# Whose log it is


def test_another_store_is_refused(pair):
    pair.write(3)
    with pair.follow():
        pass
    with open_tiny(pair.dir("other"), clock=pair.clock, identity=7) as other:
        other.put(b"k", b"v")
        with pytest.raises(lsm.ForeignLog, match=f"{7:02x}0"):
            pair.follow("other")


def test_a_source_that_is_replaced_is_noticed_while_it_is_followed(pair):
    pair.write(3)
    with pair.follow() as follower:
        follower.catch_up()
        pair.db.close()
        pair.db = open_tiny(pair.fs, "n", clock=pair.clock, identity=9)
        pair.db.put(b"k", b"v")
        with pytest.raises(lsm.ForeignLog):
            follower.catch_up()


def test_a_source_that_lost_writes_is_refused(pair):
    pair.write(5)
    image = pair.fs.image()
    pair.write(5, 5)
    with pair.follow() as follower:
        seq = follower.catch_up()
    old = pair.dir("old")
    for name, data in image.items():
        if name != "LOCK":
            file = old.create(name, Cause.OTHER)
            file.append(data)
            file.close()
    with pytest.raises(lsm.ForeignLog, match=f"{seq}, but old ends at"):
        pair.follow("old")


def test_a_store_cannot_follow_itself_nor_its_own_copy(pair):
    pair.write(5)
    with pair.follow() as follower:
        follower.catch_up()
    pair.db.close()
    with pytest.raises(lsm.FollowerError, match="itself"):
        pair.follow("source", "source")
    with pytest.raises(lsm.FollowerError, match="swapped"):
        pair.follow("copy", "source")
    pair.db = pair.open()
    pair.db.put(b"still", b"mine")


# Promotion


def test_a_promoted_copy_writes_on_in_an_epoch_of_its_own(pair):
    pair.write(10)
    last = pair.db.seq
    db = pair.promoted()
    assert not db.is_read_only
    assert db.log.epoch == 2
    assert db._state.version.epochs[-1][:2] == (2, last + 1)
    db.put(b"new", b"1")
    db.keyspace("third").put(b"k", b"v")
    assert [change.seq for change in db.changes(last)] == [last + 1, last + 2]
    assert [c for c in db.changes() if c.seq <= last] == list(pair.db.changes())
    db.close()
    with pair.open("copy") as db:  # as any store
        assert db[b"new"] == b"1"
        assert db.log.epoch == 2
        db.put(b"new", b"2")
        assert db.seq == last + 3


def test_every_segment_is_of_the_epoch_that_it_says(pair):
    pair.write(6)
    db = pair.promoted()
    db.put(b"k", b"v")
    db.close()
    fs = pair.dir()
    version = read_manifest(fs, read_current(fs)).version
    epochs = [read_segment(fs, version, meta).header.epoch for meta in version.segments]
    assert epochs == [version.epoch_of(meta.first_seq) for meta in version.segments]
    assert {*epochs} == {1, 2}


def test_an_empty_copy_can_be_promoted(pair):
    db = pair.promoted()
    db.put(b"k", b"v")
    assert (db.seq, db.log.epoch) == (1, 2)
    db.close()


def test_promoting_by_path(tmp_path):
    with lsm.open(tmp_path / "source") as db:
        db.put(b"k", b"v")
    with lsm.follow(tmp_path / "source", tmp_path / "copy") as follower:
        follower.catch_up()
    with lsm.promote(tmp_path / "copy", background="manual") as db:
        db.put(b"k", b"w")
        assert db.options.background == "manual"
    with pytest.raises(lsm.FollowerError, match="epoch 2"):
        lsm.promote(tmp_path / "copy")
    with pytest.raises(lsm.StoreNotFound):
        lsm.promote(tmp_path / "nothing")


def test_after_a_promotion_the_old_writer_is_refused_by_its_epoch(pair):
    pair.write(5)
    pair.promoted().close()
    pair.write(5, 5)
    with pytest.raises(lsm.ForeignLog, match="at epoch 1, but copy knows of epoch 2"):
        pair.follow()


def test_an_old_writer_that_wrote_on_is_told_where_it_diverged(pair):
    pair.write(5)
    last = pair.db.seq
    pair.promoted().close()
    pair.db.put(b"too", b"late")
    pair.db.close()
    with pytest.raises(lsm.ForeignLog, match=f"diverged at sequence number {last + 1}"):
        pair.follow("copy", "source")
    pair.db = pair.open()
    assert pair.db[b"too"] == b"late"  # what was refused stays untouched


def test_an_old_writer_that_did_not_write_on_becomes_a_copy(pair):
    pair.write(5)
    pair.db.close()
    with pair.promoted() as db:
        db.put(b"k", b"new")
        with pair.follow("copy", "source") as follower:
            follower.catch_up()
            assert_same(follower.db, db)
            assert follower.db.log.epoch == 2
            with pytest.raises(lsm.ReadOnlyError):
                follower.db.put(b"k", b"old")


def test_another_copy_follows_the_promoted_one_from_where_it_stands(pair):
    pair.write(5)
    with pair.follow(target="other") as other:
        behind = other.catch_up()
    pair.write(5, 5)
    with pair.promoted() as db:
        db.put(b"k", b"new")
        with pair.follow("copy", "other") as other:
            assert other.seq == behind
            other.catch_up()
            assert_same(other.db, db)
            header_epochs = {
                meta.first_seq: read_segment(pair.dir("other"), other.db._state.version, meta).header.epoch
                for meta in other.db._state.version.segments
            }
            assert header_epochs == {
                seq: other.db._state.version.epoch_of(seq) for seq in header_epochs
            }
        with pytest.raises(lsm.ForeignLog, match="older epoch"):
            pair.follow("source", "other")


def test_a_copy_that_heard_of_an_epoch_refuses_the_old_writer_even_before_it_has_a_record_of_it(pair):
    pair.write(5)
    with pair.follow(target="other") as other:
        other.catch_up()
    pair.write(5, 5)
    with pair.promoted(), pair.follow("copy", "other"):
        pass  # nothing was taken
    with pytest.raises(lsm.ForeignLog, match="older epoch"):
        pair.follow("source", "other")


def test_a_copy_learns_of_a_promotion_while_it_follows(pair):
    pair.write(5)
    first = pair.follow(target="first")
    first.catch_up()
    with pair.follow("first", "second") as second:
        second.catch_up()
        with first.promote() as db:
            db.put(b"k", b"new")
            second.catch_up()
            assert_same(second.db, db)
            assert second.db.log.epoch == 2


def test_two_promotions_of_one_number_are_told_apart(pair):
    pair.write(5)
    with pair.follow(target="third"):
        pass
    for name in ("first", "second"):
        with pair.promoted(name) as db:
            db.put(b"k", name.encode())
    with pair.follow("first", "third") as third:
        third.catch_up()
    with pytest.raises(lsm.ForeignLog, match="diverged at sequence number"):
        pair.follow("second", "third")


def test_a_promoted_store_can_be_promoted_from_again(pair):
    pair.write(5)
    with pair.promoted("first") as first:
        first.put(b"k", b"2")
        follower = pair.follow("first", "second")
        follower.catch_up()
        with follower.promote() as second:
            second.put(b"k", b"3")
            assert [epoch.number for epoch in second._state.version.epochs] == [1, 2, 3]


# Lineage, as a pure decision


def version(*epochs, store_id=b"s" * 16):
    return Version(store_id=store_id, epoch=epochs[-1][0], epochs=tuple(Epoch(*epoch) for epoch in epochs))


ONE, TWO, OTHER_TWO, THREE = (1, 1), (2, 501, 77), (2, 501, 78), (3, 481, 79)


@pytest.mark.parametrize(
    ("ours", "theirs", "where"),
    [
        ([ONE], [ONE], None),
        ([ONE], [ONE, TWO], 501),
        ([ONE, TWO], [ONE], 501),
        ([ONE, TWO], [ONE, THREE], 481),
        ([ONE, TWO], [ONE, OTHER_TWO], 501),
    ],
)
def test_where_two_logs_part(ours, theirs, where):
    assert parting([Epoch(*e) for e in ours], [Epoch(*e) for e in theirs]) == where


@pytest.mark.parametrize(
    ("copy", "seq", "source", "refusal"),
    [
        ([ONE], 400, [ONE], None),
        ([ONE], 500, [ONE, TWO], None),
        ([ONE], 501, [ONE, TWO], "diverged at sequence number 501"),
        ([ONE, TWO], 400, [ONE], "older epoch"),
        ([ONE, TWO], 900, [ONE], "older epoch"),
        ([ONE, TWO], 480, [ONE, THREE], None),
        ([ONE, TWO], 481, [ONE, THREE], "diverged at sequence number 481"),
        ([ONE, TWO], 500, [ONE, OTHER_TWO], "two stores were promoted to epoch 2"),
        ([ONE, TWO], 501, [ONE, OTHER_TWO], "diverged at sequence number 501"),
    ],
)
def test_who_may_follow_whom(copy, seq, source, refusal):
    def check():
        check_source(version(*copy), seq, version(*source), names=("copy", "source"))

    if refusal is None:
        check()
    else:
        with pytest.raises(lsm.ForeignLog, match=refusal):
            check()


def test_a_promotion_forgets_epochs_it_has_nothing_of():
    epochs = [Epoch(1, 1), Epoch(2, 501, 5)]
    assert promoted(epochs, 480, 9) == (Epoch(1, 1), Epoch(3, 481, 9))
    assert promoted(epochs, 500, 9) == (Epoch(1, 1), Epoch(3, 501, 9))
    assert promoted(epochs, 501, 9) == (*epochs, Epoch(3, 502, 9))
    assert promoted([Epoch(1, 1)], 0, 9) == (Epoch(2, 1, 9),)


# In the background


def wait_for(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.005)


LARGE_LOG = {"memtable_bytes_max": 4096, "log_retention": "all"}


@pytest.mark.parametrize("sync", ["always", "os"])
def test_a_thread_keeps_the_copy_in_step(tmp_path, sync):
    with (
        lsm.open(tmp_path / "source", background="thread", sync=sync, **LARGE_LOG) as db,
        lsm.follow(tmp_path / "source", tmp_path / "copy", background=True) as follower,
    ):
        for number in range(300):
            db.put(b"%d" % (number % 50), b"%d" % number)
        wait_for(lambda: follower.seq == db.seq)
        wait_for(lambda: follower.db.seq == db.seq)
        assert dict(follower.db.scan()) == dict(db.scan())
        assert follower.lag == 0
        db.put(b"more", b"1")
        assert follower.catch_up() == db.seq
        copy = follower.promote()
        copy.put(b"own", b"1")
        copy.close()


def test_a_background_that_gave_up_says_why(tmp_path):
    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"v")
        follower = lsm.follow(tmp_path / "source", tmp_path / "copy", background=True)
        follower.catch_up()
    with lsm.open(tmp_path / "source", "n") as db:
        db.put(b"k", b"v")
        wait_for(lambda: follower.error is not None)
    with pytest.raises(lsm.ForeignLog):
        follower.catch_up()
    follower.close()
