"""Tables that were written elsewhere and are taken over whole."""

import pytest

import lsm
from lsm.adoption import Load, adopt, stage_columns
from lsm.adoption.levels import level_for
from lsm.fs_types import Cause
from lsm.verify import verify_on
from sstable import Columns, Kind, TableOptions
from tests.compaction.trees import parse_levels, parse_table
from tests.reliability.tiny import open_tiny
from tests.support.memfs import MemFS


def columns(*rows):
    """Columns of (key, value) rows; no value is a deletion."""
    kinds = [Kind.DELETE if value is None else Kind.PUT for _, value in rows]
    return Columns.from_lists(
        [key for key, _ in rows], [0] * len(rows), kinds, [value or b"" for _, value in rows]
    )


class Loading:
    """A store in memory and a directory beside it to stage tables in."""

    def __init__(self, **options):
        self.fs = MemFS()
        self.stage = self.fs.sibling("stage")
        self.options = options
        self.staged = 0
        self.open()

    def open(self):
        self.db = open_tiny(self.fs, **{"log_retention": "all", **self.options})

    def reopen(self):
        self.db.close()
        self.open()

    def put_aside(self, *rows):
        self.staged += 1
        name = f"part-{self.staged}"
        stage_columns(
            self.stage,
            name,
            [columns(*rows)],
            TableOptions(block_bytes=256),
            store_id=self.db._state.version.store_id,
            time_us=1,
        )
        return name

    def load(self, *parts, **how):
        names = tuple(part if isinstance(part, str) else self.put_aside(*part) for part in parts)
        load = Load(source=self.stage, names=names, keyspace=how.pop("keyspace", 0), **how)
        return adopt(self.db._state, self.db._committer, self.db._background, load)


@pytest.fixture
def loading():
    made = Loading()
    yield made
    made.db.close()


def brief(changes):
    return [(change.seq, change.kind, change.key, change.value) for change in changes]


def test_rows_are_newer_than_what_was_there_and_older_than_what_comes(loading):
    db = loading.db
    db.update({b"a": b"old", b"b": b"old", b"c": b"old"})
    adopted = loading.load([(b"b", b"loaded"), (b"c", b"loaded"), (b"d", b"loaded")])
    db[b"c"] = b"new"

    assert (adopted.first_seq, adopted.last_seq, adopted.is_new) == (4, 6, True)
    assert dict(db) == {b"a": b"old", b"b": b"loaded", b"c": b"new", b"d": b"loaded"}
    loading.reopen()
    assert dict(loading.db) == {b"a": b"old", b"b": b"loaded", b"c": b"new", b"d": b"loaded"}
    loading.db.compact()
    assert dict(loading.db) == {b"a": b"old", b"b": b"loaded", b"c": b"new", b"d": b"loaded"}


def test_deletions_can_be_loaded_too(loading):
    loading.db.update({b"a": b"1", b"b": b"2"})
    loading.load([(b"a", None), (b"c", b"3")])

    assert dict(loading.db) == {b"b": b"2", b"c": b"3"}


def test_the_log_has_the_rows_as_one_batch_also_when_the_tables_were_compacted_away(loading):
    loading.db[b"a"] = b"1"
    loading.load([(b"b", b"2"), (b"c", None)], [(b"d", b"4")])
    loading.db[b"b"] = b"5"
    expected = [
        (1, "put", b"a", b"1"),
        (2, "put", b"b", b"2"),
        (3, "delete", b"c", None),
        (4, "put", b"d", b"4"),
        (5, "put", b"b", b"5"),
    ]

    assert brief(loading.db.changes()) == expected
    loading.db.compact()
    loading.reopen()
    assert brief(loading.db.changes()) == expected
    assert brief(loading.db.changes(2, 4)) == expected[2:4]
    loaded = list(loading.db.changes(1, 4))
    assert {(change.batch_first_seq, change.batch_count) for change in loaded} == {(2, 3)}
    assert [change.before for change in loading.db.changes(4, before=True)] == [b"2"]


def test_when_the_log_lets_go_of_a_load_its_tables_go_with_it():
    loading = Loading(log_retention="limits", log_retention_bytes=0)
    with loading.db as db:
        loading.load([(b"a", b"1"), (b"b", b"2")])
        db.update({b"a": b"3", b"b": b"4"})
        db.compact()
        db.step()

        assert db.log.earliest > 2
        (live,) = [name for name in loading.fs.list() if name.endswith(".sst")]
        assert int(live.split(".")[0]) in db._state.version.tables()
        assert verify_on(loading.fs).problems == ()


def test_a_repeated_transaction_adds_nothing(loading):
    part = loading.put_aside((b"a", b"1"))

    assert loading.load(part, transaction=("job", 7)).is_new
    assert not loading.load(part, transaction=("job", 7)).is_new
    assert not loading.load(part, transaction=("job", 3)).is_new
    loading.reopen()
    assert not loading.load(part, transaction=("job", 7)).is_new
    assert loading.db.seq == 1
    assert loading.load(part, transaction=("job", 8)).is_new
    assert loading.load(part, transaction=("another", 1)).is_new
    assert loading.db.seq == 3
    assert [name for name in loading.fs.list() if name.endswith(".sst")] == [
        f"{number:06d}.sst" for number in sorted(loading.db._state.version.all_tables())
    ]


def test_a_load_that_replaces_deletes_what_does_not_come_again(loading):
    loading.db.update({b"%02d" % number: b"old" for number in range(20)})
    loading.db.compact()
    loading.db.update({b"03": b"newer", b"99": b"only in memory"})
    adopted = loading.load([(b"03", b"loaded"), (b"05", b"loaded")], [(b"40", b"loaded")], replaces=True)

    assert dict(loading.db) == {b"03": b"loaded", b"05": b"loaded", b"40": b"loaded"}
    changes = list(loading.db.changes(adopted.first_seq - 1))
    assert [change.key for change in changes if change.kind == "put"] == [b"03", b"05", b"40"]
    gone = [change.key for change in changes if change.kind == "delete"]
    assert gone == [*(b"%02d" % number for number in range(20) if number not in (3, 5)), b"99"]
    loading.db.compact()
    loading.reopen()
    assert dict(loading.db) == {b"03": b"loaded", b"05": b"loaded", b"40": b"loaded"}


def test_a_snapshot_from_before_does_not_see_it(loading):
    loading.db[b"a"] = b"1"
    with loading.db.snapshot() as snapshot:
        loading.load([(b"a", b"2"), (b"b", b"2")])
        assert dict(snapshot.scan()) == {b"a": b"1"}
        loading.db.compact()
        assert dict(snapshot.scan()) == {b"a": b"1"}
    assert dict(loading.db) == {b"a": b"2", b"b": b"2"}


def test_a_reader_beside_the_writer_and_a_checkpoint_have_it(tmp_path):
    loading = Loading()
    with loading.db as db:
        db[b"a"] = b"1"
        reader = open_tiny(loading.fs, "r")
        loading.load([(b"b", b"2")])
        reader.refresh()
        assert dict(reader) == {b"a": b"1", b"b": b"2"}
        assert brief(reader.changes()) == brief(db.changes())
        reader.close()
        db.checkpoint(tmp_path / "copy")
        with lsm.open(tmp_path / "copy", "r") as copy:
            assert dict(copy) == {b"a": b"1", b"b": b"2"}
            assert brief(copy.changes()) == brief(db.changes())


def test_another_keyspace(loading):
    orders = loading.db.keyspace("orders")
    loading.load([(b"a", b"1")], keyspace=orders._space.id)

    assert (dict(orders), dict(loading.db)) == ({b"a": b"1"}, {})
    assert [change.keyspace for change in loading.db.changes()] == ["orders"]


def test_overlapping_tables_are_refused_and_leave_nothing(loading):
    before = loading.fs.list()
    with pytest.raises(lsm.InvalidArgument, match="overlap at key b'b'"):
        loading.load([(b"a", b"1"), (b"c", b"1")], [(b"b", b"1"), (b"d", b"1")])

    assert loading.fs.list() == before
    assert loading.db.seq == 0


def test_a_damaged_table_is_refused_whatever_byte_it_is(loading):
    part = loading.put_aside((b"a", b"1" * 40), (b"b", b"2" * 40))
    file = loading.stage.open(part)
    good = file.read_upto(0, file.size)
    before = loading.fs.list()
    for position in range(0, len(good), 7):
        bad = bytearray(good)
        bad[position] ^= 0x41
        name = f"bad-{position}"
        made = loading.stage.create(name, Cause.OTHER)
        made.append(bytes(bad))
        made.close()
        with pytest.raises((lsm.TableCorrupt, lsm.UnsupportedFormat)):
            loading.load(name)
    assert loading.fs.list() == before
    assert loading.load(part).is_new


def test_a_table_of_another_store_is_refused(loading):
    stage_columns(
        loading.stage, "foreign", [columns((b"a", b"1"))], TableOptions(), store_id=bytes(16), time_us=1
    )

    with pytest.raises(lsm.TableCorrupt, match="another store"):
        loading.load("foreign")


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("", 6),
        ("L0|1 x-z", 6),
        ("L0|1 b-c", 0),
        ("L0|1 x-z|2 b-c|3 y-z", 0),
        ("L1|1 b-c", 0),
        ("L2|1 b-c", 1),
        ("L2|1 x-z|L3|2 a-k", 2),
        ("L2|1 x-z", 2),
    ],
)
def test_a_table_goes_as_deep_as_nothing_older_is_in_its_way(tree, expected):
    levels = parse_levels(tuple(tree.split("|")) if tree else ())

    assert level_for(levels, parse_table("9 a-d"), 7) == expected
