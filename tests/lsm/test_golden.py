"""Stores that this format has once produced open, read, take writes and are still produced; newer ones are
refused."""

import shutil
import struct
import zlib

import pytest

import lsm
import wal
from lsm.edit_json import decode_edit
from tests.golden.make_golden import GOLDEN, MAKERS, OLDER, expected, make

NAMES = sorted(MAKERS)
DETERMINISTIC = [name for name in NAMES if name != "zlib"]


def files_of(path):
    """Return every file's bytes; LOCK is no part of the data."""
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name != "LOCK"}


@pytest.fixture(params=[GOLDEN, *OLDER], ids=lambda folder: folder.name)
def golden(tmp_path, request):
    """Return a function that copies a golden store to where it may be changed."""

    def copy(name):
        return shutil.copytree(request.param / name, tmp_path / name)

    return copy


def assert_holds(db, contents):
    assert sorted(db.keyspaces()) == sorted(contents)
    for name, pairs in contents.items():
        keyspace = db.keyspace(name, create=False)
        in_order = sorted(pairs.items())
        assert list(keyspace.scan()) == in_order
        assert list(keyspace.scan(reverse=True)) == in_order[::-1]
        assert list(keyspace.scan(b"key-0055", b"key-0162")) == [
            pair for pair in in_order if b"key-0055" <= pair[0] < b"key-0162"
        ]
        assert [keyspace.get(key) for key in pairs] == list(pairs.values())
        absent = [b"key-%04d" % number for number in range(201) if b"key-%04d" % number not in pairs]
        assert [keyspace.get(key) for key in absent] == [None] * len(absent)
        assert keyspace.multi_get([*pairs, *absent]) == [*pairs.values(), *[None] * len(absent)]


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_store_is_sound(golden, name):
    report = lsm.verify(golden(name))

    assert report.problems == ()
    assert report.foreign_files == ()


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_golden_store_reads_without_being_changed(golden, name, mmap):
    path = golden(name)
    before = files_of(path)

    with lsm.open(path, "r", mmap=mmap) as db:
        assert_holds(db, expected(name))

    assert files_of(path) == before
    assert not (path / "LOCK").exists()


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_golden_store_takes_writes_and_opens_again(golden, name, mmap):
    path, contents = golden(name), expected(name)
    with lsm.open(path, "w", mmap=mmap) as db:
        assert_holds(db, contents)
        for round_ in range(3):
            for keyspace, pairs in contents.items():
                key = b"key-%04d" % (round_ * 9)
                db.keyspace(keyspace).put(key, b"new")
                pairs[key] = b"new"
            db.flush()
        db.delete(b"key-0100")
        contents["default"].pop(b"key-0100", None)
        assert_holds(db, contents)

    with lsm.open(path, "w") as db:
        assert_holds(db, contents)
        db.compact()
        assert_holds(db, contents)

    assert lsm.verify(path).problems == ()
    with lsm.open(path, "r") as db:
        assert_holds(db, contents)


def test_golden_stores_have_what_they_are_kept_for():
    closed, torn = files_of(GOLDEN / "closed"), files_of(GOLDEN / "torn")
    assert closed.keys() == torn.keys()

    with lsm.open(GOLDEN / "closed", "r") as db:
        (keyspace,) = db.stats().keyspaces
        levels = keyspace.levels
        assert [bool(level.tables) for level in levels].count(True) == 2
        assert sum(level.tables for level in levels) >= 5
    newest = max(name for name in torn if name.endswith(".log"))
    header = wal.decode_header(torn[newest])
    assert wal.read_records(torn[newest], header)[1].ending is wal.Ending.TORN
    zlib_bytes = sum(len(data) for name, data in files_of(GOLDEN / "zlib").items() if name.endswith(".sst"))
    assert zlib_bytes < 0.8 * sum(len(data) for name, data in closed.items() if name.endswith(".sst"))


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_tables_and_log_are_written_as_ever_byte_for_byte(tmp_path, name):
    """A difference here is a new format, which needs a new version and a new folder beside v1, unless only
    the choice of what is compacted has changed: then this history leads to other files, and is to be changed
    until it does not."""
    make(name, tmp_path / "again")
    before, after = files_of(GOLDEN / name), files_of(tmp_path / "again")

    assert after.keys() == before.keys()
    different = [file for file in before if not file.startswith("MANIFEST") and after[file] != before[file]]
    assert different == []


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_manifests_are_written_as_ever_but_for_options(tmp_path, name):
    """Options are passed over: a new one is no new format, since readers skip what they do not know."""
    make(name, tmp_path / "again")

    def edits(path):
        (manifest,) = path.glob("MANIFEST-*")
        data = manifest.read_bytes()
        header = wal.decode_header(data)
        records, end = wal.read_records(data, header)
        found = [decode_edit(data[record.payload_start : record.end]) for record in records]
        for edit in found:
            if edit.options is not None:
                edit.options.clear()
        return manifest.name, header, found, end.ending, end.next_seq

    assert edits(tmp_path / "again") == edits(GOLDEN / name)


def test_a_compressed_store_is_the_same_but_for_what_the_compressor_makes_of_it(tmp_path):
    """Which bytes zlib chooses is the business of the zlib at hand; its logs and names are ours."""
    make("zlib", tmp_path / "again")
    before, after = files_of(GOLDEN / "zlib"), files_of(tmp_path / "again")

    assert after.keys() == before.keys()
    for file in before:
        if file.endswith(".log"):
            assert after[file] == before[file]
    with lsm.open(tmp_path / "again", "r") as db:
        assert_holds(db, expected("zlib"))


def newer_segment(file):
    """Give a log segment or a manifest, which is framed like one, the format version 99."""
    data = bytearray(file.read_bytes())
    struct.pack_into("<I", data, 8, 99)
    struct.pack_into("<I", data, 60, zlib.crc32(data[:60]))
    file.write_bytes(data)


def newer_table(file):
    """Give a table the format version 99: the last field of the footer before its checksum and the magic."""
    data = bytearray(file.read_bytes())
    struct.pack_into("<I", data, len(data) - 16, 99)
    struct.pack_into("<I", data, len(data) - 12, zlib.crc32(data[-128:-12]))
    file.write_bytes(data)


@pytest.mark.parametrize("flag", ["r", "w", "c"])
@pytest.mark.parametrize("pattern", ["MANIFEST-*", "*.log"])
@pytest.mark.parametrize("name", ["closed", "torn"])
def test_a_newer_manifest_or_log_is_refused_and_nothing_is_touched(golden, name, pattern, flag):
    path = golden(name)
    original = files_of(path)
    (file,) = path.glob(pattern)
    newer_segment(file)
    before = files_of(path)

    with pytest.raises(lsm.UnsupportedFormat, match=f"{file.name}.* 99.*upgrade"):
        lsm.open(path, flag)

    if flag == "r":
        assert not (path / "LOCK").exists()
    assert files_of(path) == before
    file.write_bytes(original[file.name])
    with lsm.open(path, "w") as db:
        assert_holds(db, expected(name))


def test_a_reader_refuses_a_newer_table_when_it_opens(golden):
    path = golden("closed")
    file = min(path.glob("*.sst"))
    newer_table(file)
    before = files_of(path)

    with pytest.raises(lsm.UnsupportedFormat, match=f"{file.name}.* 99"):
        lsm.open(path, "r")

    assert files_of(path) == before


def test_a_writer_refuses_to_read_or_rewrite_a_newer_table(golden):
    path = golden("closed")
    file = min(path.glob("*.sst"))
    original = file.read_bytes()
    newer_table(file)
    newer = file.read_bytes()

    with lsm.open(path, "w") as db:  # tables are opened when they are first read
        for read in (lambda: db[b"key-0003"], lambda: list(db.scan()), lambda: db.multi_get([b"key-0003"])):
            with pytest.raises(lsm.UnsupportedFormat, match=f"{file.name}.* 99"):
                read()
        with pytest.raises(lsm.UnsupportedFormat, match=f"{file.name}.* 99"):
            db.compact()
        db[b"more"] = b"fine"

    assert file.read_bytes() == newer
    assert any("99" in problem.what for problem in lsm.verify(path).problems)
    file.write_bytes(original)
    with lsm.open(path, "w") as db:
        assert_holds(db, {"default": expected("closed")["default"] | {b"more": b"fine"}})
