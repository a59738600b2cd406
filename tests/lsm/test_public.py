"""The public face on real directories: what each bad input gets, what each good one does."""

import errno
import gc
import itertools
import random
import shutil
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import lsm
from lsm.errors import StorageError

MANUAL = {"background": "manual"}
SMALL = {"background": "manual", "memtable_bytes_max": 4096, "block_bytes": 256, "table_bytes_max": 2048}
KEY_MAX = 64 * 1024
VALUE_MAX = 64 * 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def db(path: Path) -> Iterator[lsm.DB]:
    with lsm.open(path, **MANUAL) as db:
        yield db


def contents(path: Path) -> dict[str, bytes]:
    """What a directory holds, to see that it stayed as it was; what LOCK says is news, not data."""
    return {file.name: b"" if file.name == "LOCK" else file.read_bytes() for file in path.iterdir()}


def disk_bytes(path: Path) -> int:
    total = 0
    for file in path.iterdir():
        with suppress(FileNotFoundError):  # the background may remove what it needs no more
            total += file.stat().st_blocks * 512
    return total


class TestWrongTypes:
    CALLS: tuple[Callable, ...] = (
        lambda db, bad: db.get(bad),
        lambda db, bad: db[bad],
        lambda db, bad: bad in db,
        lambda db, bad: db.multi_get([b"k", bad]),
        lambda db, bad: db.put(bad, b"v"),
        lambda db, bad: db.put(b"k", bad),
        lambda db, bad: db.__setitem__(bad, b"v"),
        lambda db, bad: db.__setitem__(b"k", bad),
        lambda db, bad: db.delete(bad),
        lambda db, bad: db.__delitem__(bad),
        lambda db, bad: db.pop(bad),
        lambda db, bad: db.setdefault(bad, b"v"),
        lambda db, bad: db.setdefault(b"new", bad),
        lambda db, bad: db.update({bad: b"v"}),
        lambda db, bad: db.update([(b"k", bad)]),
        lambda db, bad: db.batch().put(bad, b"v"),
        lambda db, bad: db.batch().put(b"k", bad),
        lambda db, bad: db.batch().delete(bad),
        lambda db, bad: db.scan(bad if bad is not None else 1),
        lambda db, bad: db.scan(stop=bad if bad is not None else 1),
        lambda db, bad: db.scan(prefix=bad if bad is not None else 1),
        lambda db, bad: db.compact(bad if bad is not None else 1),
        lambda db, bad: db.snapshot().get(bad),
        lambda db, bad: db.snapshot().multi_get([bad]),
        lambda db, bad: db.keyspace("other").put(bad, b"v"),
    )

    @pytest.mark.parametrize("bad", ["text", None, 1, 1.5, (1, 2)], ids=repr)
    def test_what_is_not_bytes_is_refused_by_name(self, db, bad):
        db[b"k"] = b"v"
        for call in self.CALLS:
            with pytest.raises(lsm.InvalidType) as caught:
                call(db, bad)
            error = caught.value
            assert isinstance(error, lsm.InvalidArgument | lsm.Error)
            assert isinstance(error, TypeError)
            assert isinstance(error, ValueError)
            assert "must be bytes" in str(error)
            assert ("encode" in str(error)) == isinstance(bad, str), "text gets a hint, others do not"
        assert db == {b"k": b"v"}

    def test_the_message_names_the_type_and_which_of_the_two(self, db):
        with pytest.raises(lsm.InvalidType, match=r"a key must be bytes.*not str; encode it.*\.encode\(\)"):
            db["text"] = b"v"
        with pytest.raises(lsm.InvalidType, match=r"a value must be bytes.*not int"):
            db[b"k"] = 5

    @pytest.mark.parametrize(
        ("limit", "error"),
        [("x", lsm.InvalidType), (1.5, lsm.InvalidType), (True, lsm.InvalidType), (-1, lsm.InvalidArgument)],
    )
    def test_limits_of_scans(self, db, limit, error):
        with pytest.raises(error, match="limit must be"):
            db.scan(limit=limit)

    @pytest.mark.parametrize("name", [b"bytes", 1, None])
    def test_names_of_keyspaces_are_text(self, db, name):
        for call in (db.keyspace, db.drop_keyspace):
            with pytest.raises(lsm.InvalidType, match="name is text"):
                call(name)

    @pytest.mark.parametrize("name", ["", "x" * 256, "\ud800"])
    def test_names_of_keyspaces_have_limits(self, db, name):
        with pytest.raises(lsm.InvalidArgument, match="keyspace's name"):
            db.keyspace(name)
        assert db.keyspaces() == ["default"]

    def test_paths_and_flags(self, path):
        with pytest.raises(lsm.InvalidType, match="path is text or path-like, not int"):
            lsm.open(5)
        with pytest.raises(lsm.InvalidArgument, match='"c", "r", "w" or "n", not \'x\''):
            lsm.open(path, "x")
        assert not path.exists()


class TestSizes:
    def test_keys(self, db):
        largest = b"k" * KEY_MAX
        db[largest] = b"v"
        with db.batch() as batch:
            batch.put(b"j" * KEY_MAX, b"w")
        assert db[largest] == b"v"
        too_long = largest + b"k"
        for call in (
            lambda: db.put(too_long, b""),
            lambda: db.delete(too_long),
            lambda: db.batch().put(too_long, b""),
            lambda: db.batch().delete(too_long),
            lambda: db.update({too_long: b""}),
            lambda: db.scan(too_long),
        ):
            with pytest.raises(lsm.InvalidArgument, match=r"key of 65537 bytes; 65536 \(64 KiB\)") as caught:
                call()
            assert isinstance(caught.value, ValueError)
            assert not isinstance(caught.value, TypeError)
        db.compact()
        assert [len(key) for key in db] == [KEY_MAX, KEY_MAX]

    def test_values(self, path):
        value = bytes(VALUE_MAX)
        with lsm.open(path, **MANUAL, sync="os") as db:
            for call in (
                lambda: db.put(b"k", value + b"x"),
                lambda: db.batch().put(b"k", value + b"x"),
            ):
                with pytest.raises(ValueError, match=r"value of 67108865 bytes; 67108864 \(64 MiB\)"):
                    call()
            assert not db
            db[b"k"] = value
            assert db[b"k"] == value
        with lsm.open(path, "w") as db:
            assert db[b"k"] == value
            db.flush()
            assert db[b"k"] == value
            assert next(db.scan())[1] == value

    def test_a_batch(self, path):
        with lsm.open(path, **MANUAL, sync="os") as db:
            batch = db.batch()
            value = bytes(VALUE_MAX)
            for number in range(4):
                batch.put(b"%d" % number, value)
            with pytest.raises(lsm.InvalidArgument, match=r"a batch of 268\d+ bytes; 268435456 is the most"):
                batch.commit()
            assert not db
            db[b"k"] = b"still writable"


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"memory_limt": 1}, "did you mean memory_limit"),
            ({"blok_bytes": 1}, "did you mean block_bytes"),
            ({"xyzzy": 1}, "known are .*block_bytes.*sync"),
            ({"memory_limit": 1}, "memory_limit must be a whole number from 1,048,576 to"),
            ({"memory_limit": "much"}, 'memory_limit must be bytes or text such as "64MiB"'),
            ({"memory_limit": "64 XiB"}, "such as"),
            ({"memory_limit": None}, "memory_limit must be"),
            ({"block_bytes": 63}, "block_bytes must be a whole number from 64"),
            ({"block_bytes": 100.5}, "block_bytes must be a whole number"),
            ({"level_ratio": 1}, "level_ratio must be a whole number from 2 to 100; not 1"),
            ({"level_ratio": True}, "level_ratio must be"),
            ({"sync": "never"}, "sync must be one of always, interval, os; not 'never'"),
            ({"sync": True}, "sync must be one of"),
            ({"background": "cloud"}, "background must be one of process, thread, manual"),
            ({"compression": "rar"}, "rar"),
            ({"hash_index": 1}, "hash_index must be one of True, False"),
            ({"mmap": "yes"}, "mmap must be one of"),
            ({"bloom_bits_per_key": "x"}, "bloom_bits_per_key must be a number"),
            ({"bloom_bits_per_key": -1}, "bloom_bits_per_key"),
            ({"sync_interval_ms": 0}, "sync_interval_ms must be a whole number from 1 to 60,000"),
            ({"l0_tables_max": 20}, "l0_tables_max <= l0_tables_slow < l0_tables_stop"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_a_bad_option_is_refused_before_anything_is_made(self, path, options, message):
        for flag in ("c", "n"):
            with pytest.raises(lsm.InvalidArgument, match=message) as caught:
                lsm.open(path, flag, **options)
            assert isinstance(caught.value, ValueError)
        assert not path.exists()

    def test_a_bad_option_leaves_an_existing_store_as_it_was(self, path):
        lsm.open(path, **MANUAL).close()
        before = contents(path)
        for flag in ("c", "w", "r", "n"):
            with pytest.raises(lsm.InvalidArgument):
                lsm.open(path, flag, memory_limit=1)
        assert contents(path) == before

    def test_options_are_kept_with_the_store_and_given_ones_replace_them(self, path):
        with lsm.open(path, **MANUAL, block_bytes="8KiB", compression="zlib", memory_limit="64MiB") as db:
            assert db.options.block_bytes == 8192
        with lsm.open(path) as db:
            kept = db.options
            assert (kept.block_bytes, kept.compression, kept.memory_limit) == (8192, "zlib", 64 * 1024**2)
            assert kept.background == "manual"
        with lsm.open(path, block_bytes=4096) as db:
            assert (db.options.block_bytes, db.options.compression) == (4096, "zlib")
        with lsm.open(path, "r") as db:
            assert (db.options.block_bytes, db.options.compression) == (4096, "zlib")
        with lsm.open(path, "n", **MANUAL) as db:
            assert db.options == lsm.Options(background="manual")


class TestPlaces:
    @pytest.mark.parametrize("flag", ["c", "w", "r", "n"])
    def test_a_file_where_the_directory_should_be(self, path, flag):
        path.write_bytes(b"precious")
        with pytest.raises(lsm.NotAStore, match="is not a directory") as caught:
            lsm.open(path, flag)
        assert isinstance(caught.value, OSError)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == b"precious"

    @pytest.mark.parametrize("flag", ["c", "w", "r", "n"])
    def test_a_directory_of_somebody_else_stays_untouched(self, path, flag):
        path.mkdir()
        (path / "thesis.txt").write_bytes(b"precious")
        with pytest.raises(lsm.NotAStore, match=r"thesis\.txt.*choose an empty directory") as caught:
            lsm.open(path, flag)
        assert isinstance(caught.value, OSError)
        assert str(path) in str(caught.value)
        assert contents(path) == {"thesis.txt": b"precious"}

    @pytest.mark.parametrize("flag", ["c", "w", "n"])
    def test_a_foreign_file_inside_a_store_is_left_alone(self, path, flag):
        lsm.open(path, **MANUAL).close()
        (path / "notes.txt").write_bytes(b"precious")
        with lsm.open(path, flag, **MANUAL) as db:
            db[b"k"] = b"v"
            db.compact()
        assert (path / "notes.txt").read_bytes() == b"precious"
        assert lsm.verify(path).foreign_files == ("notes.txt",)

    @pytest.mark.parametrize("flag", ["w", "r"])
    @pytest.mark.parametrize("exists", [False, True])
    def test_no_store(self, path, flag, exists):
        if exists:
            path.mkdir()
        with pytest.raises(lsm.StoreNotFound, match=r'lsm\.open\(path, "c"\) creates one') as caught:
            lsm.open(path, flag)
        assert isinstance(caught.value, FileNotFoundError)
        assert caught.value.errno == errno.ENOENT
        assert str(path) in str(caught.value)
        assert not exists or not contents(path)

    @pytest.mark.parametrize("flag", ["c", "n", "w", "r"])
    def test_no_parent(self, path, flag):
        with pytest.raises(lsm.StoreNotFound) as caught:
            lsm.open(path / "child" / "grandchild", flag)
        assert str(path) in str(caught.value)
        if flag in ("c", "n"):
            assert "would be made in does not exist" in str(caught.value)
            assert "creates one" not in str(caught.value)
        assert not path.exists()

    def test_a_locked_store(self, path, db):
        db[b"k"] = b"v"
        for flag in ("c", "w", "n"):
            with pytest.raises(
                lsm.LockedError, match=r"open for writing by pid \d+.*beside it with"
            ) as caught:
                lsm.open(path, flag)
            assert isinstance(caught.value, OSError)
            assert caught.value.path == str(path)
            assert "pid" in caught.value.holder
        with lsm.open(path, "r") as reader:
            assert reader == {b"k": b"v"}
        assert db == {b"k": b"v"}

    def test_verify_and_checkpoint_of_nowhere(self, path, db):
        with pytest.raises(lsm.StoreNotFound, match="no store at"):
            lsm.verify(path.parent / "none")
        file = path.parent / "file"
        file.write_bytes(b"")
        with pytest.raises(lsm.NotAStore, match="is not a directory"):
            lsm.verify(file)
        for target in (file, path.parent / "none" / "child"):
            with pytest.raises(StorageError, match="checkpoint") as caught:
                db.checkpoint(target)
            assert str(target) in str(caught.value)
        with pytest.raises(lsm.NotAStore, match="not empty"):
            db.checkpoint(path)
        db[b"k"] = b"v"


def filled_store(path: Path) -> dict[bytes, bytes]:
    """Make a store with tables of several blocks and writes in the log, closed; return what is in it."""
    expected = {b"key%04d" % number: b"value%04d" % number * 5 for number in range(300)}
    with lsm.open(path, log_retention_bytes=0, **SMALL) as db:
        db.update(expected)
        db.compact()
        for number in range(20):
            db[b"log%02d" % number] = b"in the log"
    return expected | {b"log%02d" % number: b"in the log" for number in range(20)}


def flip(file: Path, offset: int) -> None:
    data = bytearray(file.read_bytes())
    data[offset] ^= 0x10
    file.write_bytes(data)


def largest(path: Path, pattern: str) -> Path:
    return max(path.glob(pattern), key=lambda file: (file.stat().st_size, file.name))


class TestDamage:
    def test_a_newer_format(self, path):
        filled_store(path)
        for pattern in ("*.log", "MANIFEST-*"):
            copy = path.parent / "copy"
            shutil.copytree(path, copy)
            file = largest(copy, pattern)
            header = bytearray(file.read_bytes()[:64])
            struct.pack_into("<I", header, 8, 2)
            struct.pack_into("<I", header, 60, zlib.crc32(header[:60]))
            file.write_bytes(bytes(header) + file.read_bytes()[64:])
            before = contents(copy)
            for flag in ("c", "w", "r"):
                with pytest.raises(lsm.UnsupportedFormat, match=r"of format 2; .*upgrade") as caught:
                    lsm.open(copy, flag)
                assert isinstance(caught.value, lsm.Error)
                assert not isinstance(caught.value, lsm.CorruptionError)
                assert str(file) in str(caught.value)
            assert contents(copy) == before
            shutil.rmtree(copy)

    def test_a_table_of_which_one_block_is_damaged_reads_on_elsewhere(self, path):
        expected = filled_store(path)
        file = largest(path, "*.sst")
        flip(file, 100)
        with lsm.open(path) as db:
            errors, right = {}, 0
            for key, value in expected.items():
                try:
                    assert db[key] == value
                    right += 1
                except lsm.TableCorrupt as error:
                    errors[key] = error
            assert errors
            assert right >= len(expected) - 30
            for error in errors.values():
                assert isinstance(error, OSError)
                assert error.path == str(file)
                assert 0 <= error.offset <= 100 + 256
                assert f"{file}, byte {error.offset}" in str(error)
            with pytest.raises(lsm.TableCorrupt):
                list(db.scan())
            with pytest.raises(lsm.TableCorrupt):
                db.multi_get(expected)
            assert len(list(db.scan(prefix=b"log"))) == 20
            db[b"new"] = b"still writable"
        problems = lsm.verify(path).problems
        assert [problem.file for problem in problems] == [str(file)]
        assert problems[0].offset is not None

    def test_a_damaged_log(self, path):
        filled_store(path)
        file = largest(path, "*.log")
        flip(file, file.stat().st_size // 2)
        self.check_refused(path, lsm.LogCorrupt, file, offset=True, advice="checkpoint")
        with pytest.raises(lsm.LogCorrupt) as caught:
            lsm.open(path)
        assert caught.value.last_good_seq >= 300

    def test_a_damaged_manifest(self, path):
        filled_store(path)
        file = largest(path, "MANIFEST-*")
        flip(file, file.stat().st_size // 2)
        self.check_refused(path, lsm.ManifestCorrupt, file, offset=True, advice="checkpoint")

    @pytest.mark.parametrize("data", [b"", b"000001 00000000\n", b"../../x\n", b"\xff" * 16, bytes(99)])
    def test_a_damaged_current(self, path, data):
        filled_store(path)
        (path / "CURRENT").write_bytes(data)
        self.check_refused(path, lsm.ManifestCorrupt, path / "CURRENT", advice="checkpoint")

    @pytest.mark.parametrize(
        ("pattern", "error"),
        [
            ("CURRENT", lsm.ManifestCorrupt),
            ("MANIFEST-*", lsm.ManifestCorrupt),
            ("*.sst", lsm.TableCorrupt),
            ("*.log", lsm.LogCorrupt),
        ],
    )
    def test_a_missing_file(self, path, pattern, error):
        filled_store(path)
        file = largest(path, pattern)
        file.unlink()
        self.check_refused(path, error, file, advice="checkpoint", what="missing")

    @pytest.mark.parametrize("pattern", ["CURRENT", "MANIFEST-*", "*.sst", "*.log"])
    @pytest.mark.parametrize("size", [0, 40])
    def test_a_file_cut_short(self, path, pattern, size):
        filled_store(path)
        file = largest(path, pattern)
        file.write_bytes(file.read_bytes()[: min(size, file.stat().st_size - 1)])
        self.check_refused(path, lsm.CorruptionError, file)

    def test_a_table_in_the_place_of_another(self, path):
        filled_store(path)
        first, second = sorted(path.glob("*.sst"))[:2]
        first.write_bytes(second.read_bytes())
        with pytest.raises(lsm.TableCorrupt, match=first.name), lsm.open(path) as db:
            list(db.scan())

    @staticmethod
    def check_refused(
        path: Path, kind: type, file: Path, *, offset: bool = False, advice: str = "", what: str = ""
    ) -> None:
        """No flag but "n" opens it, least of all as an empty store, and trying changes nothing."""
        before = contents(path)
        for flag in ("c", "w", "r"):
            with pytest.raises(kind) as caught:
                lsm.open(path, flag)
            error = caught.value
            assert isinstance(error, lsm.CorruptionError)
            assert isinstance(error, OSError)
            assert error.errno == errno.EIO
            assert error.path == str(file)
            assert str(file) in str(error)
            assert not offset or f"byte {error.offset}" in str(error)
            assert advice in str(error)
            assert what in str(error)
        assert contents(path) == before
        assert not lsm.verify(path).is_sound


class TestFlags:
    def test_c_makes_and_opens(self, path):
        with lsm.open(path, "c", **MANUAL) as db:
            db[b"k"] = b"v"
        with lsm.open(path, "c") as db:
            assert db == {b"k": b"v"}
            assert not db.is_read_only

    def test_w_opens(self, path):
        with lsm.open(path, **MANUAL) as db:
            db[b"k"] = b"v"
        with lsm.open(path, "w") as db:
            db[b"l"] = b"w"
            assert db == {b"k": b"v", b"l": b"w"}

    def test_n_empties(self, path):
        with lsm.open(path, **SMALL) as db:
            db.update({b"%d" % number: b"v" * 100 for number in range(200)})
            db.keyspace("other")[b"a"] = b"b"
            db.compact()
        with lsm.open(path, "n", **MANUAL) as db:
            assert not db
            assert db.keyspaces() == ["default"]
            assert db.seq == 0
        assert not list(path.glob("*.sst"))
        assert lsm.verify(path).is_sound

    def test_r_reads_makes_no_file_and_refuses_every_write(self, path):
        with lsm.open(path, **MANUAL) as db:
            db[b"k"] = b"v"
            db.keyspace("other")[b"a"] = b"b"
        before = contents(path)
        with lsm.open(path, "r") as db:
            assert db.is_read_only
            assert db == {b"k": b"v"}
            assert dict(db.keyspace("other")) == {b"a": b"b"}
            with db.snapshot() as snapshot:
                assert snapshot == {b"k": b"v"}
            for write in (
                lambda: db.put(b"k", b"w"),
                lambda: db.delete(b"k"),
                lambda: db.update({b"k": b"w"}),
                lambda: db.pop(b"k"),
                db.clear,
                db.flush,
                db.compact,
                db.step,
                db.resume,
                lambda: db.drop_keyspace("other"),
                lambda: db.checkpoint(path.parent / "copy"),
                lambda: db.keyspace("other").put(b"k", b"w"),
            ):
                with pytest.raises(lsm.ReadOnlyError, match="opened read-only") as caught:
                    write()
                assert isinstance(caught.value, OSError)
                assert caught.value.errno == errno.EROFS
                assert str(path) in str(caught.value)
            with pytest.raises(lsm.KeyspaceNotFound, match="no keyspace 'new'") as caught:
                db.keyspace("new")
            assert isinstance(caught.value, LookupError)
        assert contents(path) == before
        assert not (path.parent / "copy").exists()

    def test_r_sees_what_is_new_after_refresh(self, path, db):
        with lsm.open(path, "r") as reader:
            db[b"k"] = b"v"
            assert not reader
            assert reader.refresh() == db.seq
            assert reader == {b"k": b"v"}


class TestUseAfterClose:
    METHODS: tuple[Callable, ...] = (
        lambda db: db.get(b"k"),
        lambda db: db[b"k"],
        lambda db: b"k" in db,
        lambda db: db.multi_get([b"k"]),
        lambda db: db.scan(),
        iter,
        reversed,
        len,
        bool,
        dict,
        lambda db: db == {},
        lambda db: list(db.keys()),
        lambda db: iter(db.values()),
        lambda db: iter(db.items()),
        lambda db: len(db.keys()),
        lambda db: (b"k", b"v") in db.items(),
        lambda db: db.put(b"k", b"v"),
        lambda db: db.put(b"k", b"v", sync=False),
        lambda db: db.__setitem__(b"k", b"v"),
        lambda db: db.__delitem__(b"k"),
        lambda db: db.delete(b"k"),
        lambda db: db.pop(b"k"),
        lambda db: db.popitem(),
        lambda db: db.setdefault(b"k", b"v"),
        lambda db: db.update({b"k": b"v"}),
        lambda db: db.clear(),
        lambda db: db.batch().put(b"k", b"v") or db.update({b"k": b"v"}),
        lambda db: db.snapshot(),
        lambda db: db.keyspace("default"),
        lambda db: db.keyspace("new"),
        lambda db: db.keyspaces(),
        lambda db: db.drop_keyspace("other"),
        lambda db: db.flush(),
        lambda db: db.compact(),
        lambda db: db.step(),
        lambda db: db.sync(),
        lambda db: db.checkpoint("nowhere"),
        lambda db: db.changes(),
        lambda db: db.refresh(),
        lambda db: db.resume(),
        lambda db: db.stats(),
        lambda db: db.seq,
    )

    @pytest.mark.parametrize("flag", ["c", "r"])
    def test_every_method_says_so(self, path, flag):
        with lsm.open(path, **MANUAL) as db:
            db[b"k"] = b"v"
            db.keyspace("other")
        db = lsm.open(path, flag)
        db.close()
        db.close()
        before = contents(path)
        for method in self.METHODS:
            with pytest.raises(lsm.ClosedError, match="was closed") as caught:
                method(db)
            assert isinstance(caught.value, ValueError)
            assert str(path) in str(caught.value)
        assert contents(path) == before
        assert "closed" in repr(db)
        assert db.path == str(path)

    def test_everything_made_from_it_says_so_too(self, path):
        db = lsm.open(path, **MANUAL)
        db.update({b"%d" % number: b"v" for number in range(10)})
        keyspace = db.keyspace("other")
        keyspace[b"a"] = b"b"
        changes = db.changes()
        db.flush()
        snapshot, batch, keys = db.snapshot(), db.batch(), db.keys()
        batch.put(b"never", b"committed")
        scan, started = db.scan(), db.scan(reverse=True)
        other = snapshot.keyspace("other")
        next(started)
        db.close()
        for use in (
            lambda: snapshot.get(b"1"),
            lambda: snapshot.multi_get([b"1"]),
            lambda: list(snapshot),
            lambda: snapshot.keyspace("other"),
            lambda: other[b"a"],
            lambda: keyspace[b"a"],
            lambda: keyspace.put(b"a", b"c"),
            lambda: keyspace.delete(b"a"),
            lambda: keyspace.snapshot(),
            lambda: list(keyspace.scan()),
            batch.commit,
            lambda: list(keys),
            lambda: list(scan),
            lambda: list(changes),
        ):
            with pytest.raises(lsm.ClosedError):
                use()
        # A started scan may still hand out what it has at hand; then it ends, or says why it cannot go on.
        for _ in range(3):
            try:
                assert len(list(started)) <= 9
            except lsm.ClosedError:
                break
        snapshot.close()
        other.close()
        with lsm.open(path, "r") as db:
            assert b"never" not in db
            assert len(db) == 10

    def test_a_closed_snapshot_and_a_finished_batch(self, db):
        db[b"k"] = b"v"
        snapshot = db.snapshot()
        scan = snapshot.scan()
        snapshot.close()
        snapshot.close()
        for use in (lambda: snapshot[b"k"], lambda: snapshot.scan(), lambda: snapshot.keyspace("default")):
            with pytest.raises(lsm.ClosedError, match="snapshot was closed; take a new one"):
                use()
        db.delete(b"k")
        assert list(scan) == [(b"k", b"v")], "a scan outlives the snapshot it was begun on"
        with db.batch() as batch:
            batch.put(b"k", b"w")
        for use in (lambda: batch.put(b"l", b"x"), lambda: batch.delete(b"k"), batch.commit):
            with pytest.raises(lsm.ClosedError, match="make a new one"):
                use()
        assert db == {b"k": b"w"}

    @pytest.mark.parametrize("background", ["manual", "thread"])
    def test_a_forgotten_store_warns_and_lets_go(self, path, background):
        db = lsm.open(path, background=background)
        db[b"k"] = b"v"
        with pytest.warns(ResourceWarning, match="never closed") as caught:  # noqa: PT031  # together they forget it
            del db
            gc.collect()
        assert [str(path) in str(warning.message) for warning in caught] == [True]
        with lsm.open(path, "w") as db:
            assert db == {b"k": b"v"}


class TestForms:
    def test_paths(self, path, monkeypatch):
        with lsm.open(path, **MANUAL) as db:
            assert db.path == str(path)
            db[b"k"] = b"v"
        with lsm.open(str(path), "w") as db:
            assert db == {b"k": b"v"}
        monkeypatch.chdir(path.parent)
        with lsm.open("store", "r") as db:
            assert db == {b"k": b"v"}
        assert lsm.verify(path).is_sound

    @pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
    def test_everything_that_holds_bytes_is_taken(self, db, form):
        db[form(b"a")] = form(b"1")
        db.put(form(b"b"), form(b"2"))
        with db.batch() as batch:
            batch.put(form(b"c"), form(b"3"))
            batch.delete(form(b"a"))
        assert db[form(b"b")] == b"2"
        assert form(b"c") in db
        assert db.multi_get([form(b"a"), form(b"b")]) == [None, b"2"]
        assert list(db.scan(form(b"b"), form(b"c"), prefix=form(b"b"))) == [(b"b", b"2")]
        assert all(type(thing) is bytes for pair in db.items() for thing in pair)
        db.compact(form(b"a"), form(b"z"))
        assert db == {b"b": b"2", b"c": b"3"}

    def test_what_was_handed_in_may_change_afterwards(self, db):
        key, value = bytearray(b"k"), bytearray(b"v")
        db.put(key, value)
        batch = db.batch()
        batch.put(memoryview(key), memoryview(value))
        key[0], value[0] = 0, 0
        batch.commit()
        assert db == {b"k": b"v"}

    def test_empty_keys_and_values(self, path):
        with lsm.open(path, **MANUAL) as db:
            db[b""] = b""
            assert db[b""] == b""
            assert db.get(b"", None) == b""
            assert b"" in db
            db.compact()
            assert list(db.scan()) == [(b"", b"")]
            assert list(db.scan(b"", b"\x00", prefix=b"")) == [(b"", b"")]
        with lsm.open(path, "w") as db:
            assert db == {b"": b""}
            del db[b""]
            assert b"" not in db
            db.compact()
            assert not db


def model_scan(
    model: dict[bytes, bytes], *, start: bytes | None, stop: bytes | None, prefix: bytes | None, reverse: bool
) -> list[tuple[bytes, bytes]]:
    """What a scan without a limit must yield."""
    found = sorted(
        (key, value)
        for key, value in model.items()
        if (start is None or key >= start) and (stop is None or key < stop) and key.startswith(prefix or b"")
    )
    return found[::-1] if reverse else found


class TestRanges:
    BOUNDS = (None, b"", b"a", b"ab", b"b\xff", b"c", b"\xff", b"\xff\xff")

    @pytest.fixture
    def store(self, path: Path, seed: int) -> Iterator[tuple[lsm.DB, dict[bytes, bytes]]]:
        """A store whose entries are spread over memory, L0 and deeper levels, some deleted, and its model."""
        print(f"seed {seed}")
        rng = random.Random(seed)
        model: dict[bytes, bytes] = {}
        with lsm.open(path, **SMALL, sync="os") as db:
            for phase in range(4):
                for number in range(120):
                    key = bytes(rng.choices(b"abc\x00\xff", k=rng.randrange(4)))
                    if rng.random() < 0.3:
                        db.delete(key)
                        model.pop(key, None)
                    else:
                        db[key] = model[key] = b"%d.%d" % (phase, number)
                if phase == 0:
                    db.compact()
                elif phase < 3:
                    db.flush()
            yield db, model

    def test_all_combinations_against_a_model(self, store):
        db, model = store
        with db.snapshot() as snapshot:
            for start, stop, prefix in itertools.product(self.BOUNDS, self.BOUNDS, self.BOUNDS):
                for reverse in (False, True):
                    bounds = {"start": start, "stop": stop, "prefix": prefix, "reverse": reverse}
                    expected = model_scan(model, **bounds)
                    assert list(db.scan(**bounds)) == expected, bounds
                    assert list(snapshot.scan(**bounds, limit=3)) == expected[:3], bounds
                    assert list(db.scan(**bounds, limit=0)) == []

    def test_limits(self, store):
        db, model = store
        for limit in (0, 1, 2, len(model) - 1, len(model), len(model) + 1, 2**63 - 1):
            for reverse in (False, True):
                expected = sorted(model.items(), reverse=reverse)[:limit]
                assert list(itertools.islice(db.scan(limit=limit, reverse=reverse), 1000)) == expected

    def test_a_limit_has_no_limit(self, store):
        db, model = store
        assert list(db.scan(limit=2**63)) == sorted(model.items())

    def test_multi_get_keeps_order_and_repeats(self, store):
        db, model = store
        keys = [*sorted(model, reverse=True), b"none", *model, b"none"]
        assert db.multi_get(keys) == [model.get(key) for key in keys]
        assert db.multi_get(iter(keys)) == [model.get(key) for key in keys]
        assert db.multi_get([]) == []


class TestSnapshotsAndKeyspaces:
    def test_a_snapshot_stands_still_through_everything(self, path):
        with lsm.open(path, **SMALL, sync="os") as db:
            snapshots, model = [], {}
            for round_ in range(5):
                for number in range(60):
                    key = b"%02d" % ((number * 7 + round_) % 80)
                    db[key] = model[key] = b"%d.%d" % (round_, number) * 10
                for key in list(model)[::9]:
                    del db[key], model[key]
                snapshots.append((db.snapshot(), dict(model)))
                (db.flush, db.compact)[round_ % 2]()
            db.clear()
            db.compact()
            for snapshot, expected in snapshots:
                assert snapshot == expected
                assert list(snapshot.scan(reverse=True)) == sorted(expected.items(), reverse=True)
                assert snapshot.multi_get(expected) == list(expected.values())
                snapshot.close()
            assert db.stats().snapshots == 0
            assert not db

    def test_keyspaces_are_apart_and_one_batch_goes_over_all(self, path):
        with lsm.open(path, **MANUAL) as db:
            orders = db.keyspace("orders")
            orders[b"k"] = b"order"
            db[b"k"] = b"default"
            with db.batch() as batch:
                batch.put(b"both", b"1")
                batch.put(b"both", b"2", keyspace="orders")
                batch.delete(b"k", keyspace="orders")
            assert db == {b"k": b"default", b"both": b"1"}
            assert orders == {b"both": b"2"}
            assert (orders.name, db.name) == ("orders", "default")
            with pytest.raises(lsm.KeyspaceNotFound, match="no keyspace 'none'"):
                db.batch().put(b"k", b"v", keyspace="none")
            with pytest.raises(lsm.KeyspaceNotFound):
                db.keyspace("none", create=False)
            with db.snapshot() as before:
                orders.clear()
                assert before.keyspace("orders") == {b"both": b"2"}
        with lsm.open(path, "w") as db:
            assert db.keyspaces() == ["default", "orders"]
            assert db.keyspace("orders") == {}
            assert db == {b"k": b"default", b"both": b"1"}

    def test_dropping_a_keyspace_gives_its_space_back(self, path):
        with lsm.open(path, **MANUAL, sync="os") as db:
            big = db.keyspace("big")
            big.update({b"%05d" % number: random.Random(number).randbytes(1000) for number in range(2000)})
            db[b"small"] = b"1"
            db.flush()
            full = disk_bytes(path)
            db.drop_keyspace("big")
            assert disk_bytes(path) < full - 1_900_000
            assert db.keyspaces() == ["default"]
            for use in (
                lambda: big.get(b"00000"),
                lambda: big.put(b"k", b"v"),
                lambda: list(big),
                big.snapshot,
            ):
                with pytest.raises(lsm.KeyspaceNotFound, match="big"):
                    use()
            assert db.keyspace("big") == {}, "a new one of the same name starts empty"
            assert db == {b"small": b"1"}
            with pytest.raises(lsm.InvalidArgument, match=r"default keyspace cannot be dropped; clear\(\)"):
                db.drop_keyspace("default")
            with pytest.raises(lsm.KeyspaceNotFound):
                db.drop_keyspace("none")

    def test_a_batch_is_discarded_on_an_exception(self, db):
        seq = db.seq
        with pytest.raises(RuntimeError, match="no"), db.batch() as batch:  # noqa: PT012  # the block is what is tested
            batch.put(b"k", b"v")
            raise RuntimeError("no")
        assert batch.is_done
        assert not db
        assert db.seq == seq
        with db.batch() as batch:
            batch.put(b"k", b"v")
            batch.clear()
            batch.put(b"l", b"w")
            assert len(batch) == 1
        assert db == {b"l": b"w"}
        assert db.batch().commit() == 0

    def test_a_checkpoint_is_a_store_of_its_own(self, path):
        copy = path.parent / "copy"
        with lsm.open(path, **SMALL) as db:
            db.update({b"%03d" % number: b"v" * 50 for number in range(200)})
            db.compact()
            db[b"in the log"] = b"yes"
            db.keyspace("other")[b"a"] = b"b"
            expected = dict(db)
            assert db.checkpoint(copy) == db.seq
            db.clear()
            db.compact()
            with lsm.open(copy, "w") as other:  # beside its source: it has a lock of its own
                assert other == expected
                assert other.keyspace("other") == {b"a": b"b"}
                other[b"new"] = b"only here"
                other.compact()
            assert not db
            assert b"new" not in db
        assert lsm.verify(copy).is_sound
        shutil.rmtree(path)
        with lsm.open(copy, "r") as other:
            assert other == expected | {b"new": b"only here"}


def log_syncs(db: lsm.DB) -> int:
    return db.stats().write.syncs["log"]


class TestSyncModes:
    def test_always_syncs_every_write_that_does_not_decline(self, path):
        with lsm.open(path, **MANUAL) as db:
            start = log_syncs(db)
            for number in range(10):
                db[b"%d" % number] = b"v"
            assert log_syncs(db) == start + 10
            for number in range(10):
                db.put(b"%d" % number, b"w", sync=False)
            db.delete(b"0", sync=False)
            db.update({b"1": b"x"}, sync=False)
            assert log_syncs(db) == start + 10
            with db.batch(sync=True) as batch:
                for number in range(100):
                    batch.put(b"%d" % number, b"y")
            assert log_syncs(db) == start + 11
            db.sync()  # nothing is left to do
            assert log_syncs(db) == start + 11
            db.put(b"a", b"b", sync=False)
            db.sync()
            assert log_syncs(db) == start + 12

    @pytest.mark.parametrize("background", ["manual", "thread"])
    def test_os_syncs_no_write_that_does_not_ask(self, path, background):
        with lsm.open(path, background=background, sync="os") as db:
            start = log_syncs(db)
            for number in range(100):
                db[b"%d" % number] = b"v"
            db.delete(b"0")
            db.update({b"1": b"x"})
            time.sleep(0.3)
            assert log_syncs(db) == start
            db.put(b"k", b"v", sync=True)
            db.delete(b"k", sync=True)
            with db.batch(sync=True) as batch:
                batch.put(b"k", b"w")
            assert log_syncs(db) == start + 3

    @pytest.mark.parametrize("background", ["manual", "thread"])
    def test_interval_syncs_soon_without_another_write(self, path, background):
        with lsm.open(path, background=background, sync="interval", sync_interval_ms=50) as db:
            start = log_syncs(db)
            for number in range(20):
                db[b"%d" % number] = b"v"
            deadline = time.monotonic() + 10
            while log_syncs(db) == start and time.monotonic() < deadline:
                time.sleep(0.01)
            found = log_syncs(db)
            assert start < found < start + 20
            time.sleep(0.3)
            assert log_syncs(db) <= found + 1, "nothing new is nothing to sync"
            db.put(b"k", b"v", sync=True)
            assert log_syncs(db) >= found + 1


class TestSpaceAndPressure:
    def test_back_pressure_has_a_reason(self, path):
        options = {"memtable_bytes_max": 512, "sealed_max": 2, "sync": "os", **MANUAL}
        with lsm.open(path, **options) as db:
            assert db.stats().background.pressure.level == 0
            assert db.stats().background.pressure.reason == ""
            reasons, stalls = set(), set()
            for number in range(60):
                db[b"%04d" % number] = b"v" * 100
                background = db.stats().background
                reasons.add(background.pressure.reason)
                stalls.add(background.last_stall_reason)
            assert "1 sealed memtables wait for flush" in reasons
            assert background.slowdowns + background.stops > 0
            assert background.stall_seconds > 0
            assert "1 sealed memtables wait for flush" in stalls
            assert background.failure == ""
            while db.step():
                pass
            assert db.stats().background.pressure.level == 0
            assert len(db) == 60

    def test_back_pressure_by_tables(self, path):
        options = {"l0_tables_max": 2, "l0_tables_slow": 2, "l0_tables_stop": 4, "sync": "os", **MANUAL}
        with lsm.open(path, **options) as db:
            for number in range(12):
                db[b"%04d" % number] = b"v"
                db.flush()
            background = db.stats().background
            assert "tables in L0 wait for compaction" in background.last_stall_reason
            assert background.compactions + background.moves > 0
            assert len(db.stats().keyspaces) == 1
            assert db.stats().keyspaces[0].levels[0].tables <= 4
            assert len(db) == 12

    @pytest.mark.parametrize("background", ["manual", "thread"])
    def test_deleting_everything_leaves_almost_nothing(self, path, background):
        with lsm.open(path, background=background, sync="os", memtable_bytes_max="256KiB") as db:
            for start in range(0, 5000, 500):
                db.update({b"%06d" % number: b"v" * 200 for number in range(start, start + 500)})
            assert disk_bytes(path) > 500_000
            db.clear()
            db.compact()
            assert not db
            assert db.stats().table_bytes == 0
        assert disk_bytes(path) <= 64 * 1024
        assert not list(path.glob("*.sst"))
        with lsm.open(path, "w") as db:
            assert not db
            assert len(list(db.scan(reverse=True))) == 0
