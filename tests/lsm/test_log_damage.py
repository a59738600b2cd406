"""Damage in the log: named, with what can still be read; nothing is skipped in silence."""

import pytest

import lsm
from lsm.filenames import LOCK, segment_name
from lsm.opening import open_on
from lsm.verify import verify_on
from tests.lsm.stores import ManualClock, open_memory
from tests.support.memfs import MemFS

OPTIONS = {"background": "manual", "log_retention": "all"}


@pytest.fixture(scope="module")
def three():
    """Return the files of a closed store with three flushed segments of ten changes, and their names."""
    fs = MemFS()
    with open_on(fs, "c", OPTIONS, clock=ManualClock()) as db:
        for number in range(30):
            db.put(b"%02d" % number, b"v" * 20)
            if number % 10 == 9:
                db.flush()
        names = [segment_name(segment.number) for segment in db.log.segments[:3]]
    return fs.image(), names


def reader_of(image):
    return open_on(MemFS.from_image(image), "r", clock=ManualClock())


def taken(changes):
    """Return the numbers that came before an error, and the error."""
    found = []
    with pytest.raises(lsm.LogCorrupt) as broken:
        found.extend(change.seq for change in into(found, changes))
    return found, broken.value


def into(found, changes):
    for change in changes:
        found.append(change.seq)
    yield from ()


@pytest.mark.parametrize("damage", ["flip", "cut", "missing", "empty", "header", "zeros"])
def test_a_damaged_segment_is_named_with_what_can_still_be_read(three, damage):
    image, names = three
    data = bytearray(image[names[1]])
    if damage == "flip":
        data[len(data) // 2] ^= 1
    elif damage == "cut":
        del data[len(data) // 2 :]
    elif damage == "empty":
        data.clear()
    elif damage == "header":
        data[5] ^= 0xFF
    elif damage == "zeros":
        data[200:400] = bytes(200)
    broken = {**image, names[1]: bytes(data)}
    if damage == "missing":
        del broken[names[1]]

    with reader_of(broken) as reader:
        found, error = taken(reader.changes())
        assert found == list(range(1, len(found) + 1)) and 10 <= len(found) < 20
        assert names[1] in str(error)
        assert f"changes up to {len(found)} were read" in str(error) and "since=20" in str(error)
        assert error.last_good_seq == len(found)
        assert [change.seq for change in reader.changes(20)] == list(range(21, 31))
        assert len(dict(reader.scan())) == 30  # the store reads tables
        assert reader.log.latest == 30
    assert not verify_on(MemFS.from_image(broken)).is_sound
    with open_on(MemFS.from_image(broken), "w", OPTIONS, clock=ManualClock()) as db:
        assert taken(db.changes())[0] == found
        assert db[b"15"] == b"v" * 20


def test_segments_of_another_place_or_store_are_refused(three):
    image, names = three
    with reader_of({**image, names[1]: image[names[0]]}) as reader:
        assert taken(reader.changes())[0] == list(range(1, 11))

    other = MemFS()
    with open_on(other, "c", OPTIONS, clock=ManualClock()) as db:
        for number in range(30):
            db.put(b"%02d" % number, b"w" * 20)
            if number % 10 == 9:
                db.flush()
    with reader_of({**image, names[1]: other.image()[names[1]]}) as reader:
        assert taken(reader.changes())[0] == list(range(1, 11))


def test_damage_in_the_live_segment_is_found_by_who_reads_it():
    fs = MemFS()
    db = open_memory(fs)
    for number in range(10):
        db.put(b"%d" % number, b"v" * 20)
    (name,) = [name for name in fs.list() if name.endswith(".log")]
    inode = fs._inode(name)
    inode.data[300] ^= 1

    found, error = taken(db.changes())

    assert found == list(range(1, len(found) + 1)) and len(found) < 10
    assert name in str(error)


@pytest.mark.parametrize("content", [b"", b"\0" * 400, b"\xff" * 400, b"pid 1 on host" + b"x" * 300])
def test_what_stands_in_the_lock_file_is_not_believed(tmp_path, content):
    path = tmp_path / "db"
    with lsm.open(path, **OPTIONS) as db:
        db.put(b"a", b"1")
        db.put(b"b", b"2", sync=False)
        (path / LOCK).write_bytes(content)
        with lsm.open(path, "r") as reader:
            assert [change.key for change in reader.changes()] == [b"a", b"b"]
            assert [change.key for change in reader.changes(follow=True, timeout=0.1)] == [b"a", b"b"]
            db.put(b"c", b"3")
            assert [change.key for change in reader.changes(2, follow=True, timeout=0.1)] == [b"c"]
    with lsm.open(path, "r") as reader:
        assert reader.log.latest == 3


def test_a_lock_file_of_an_earlier_time_is_not_believed(tmp_path):
    """A copy of the directory may bring the lock file of another moment."""
    path = tmp_path / "db"
    with lsm.open(path, **OPTIONS) as db:
        db.put(b"a", b"1")
        old = (path / LOCK).read_bytes()
        db.put(b"b", b"2")
        db.flush()
        db.put(b"c", b"3")
        (path / LOCK).write_bytes(old)
        with lsm.open(path, "r") as reader:
            assert [change.key for change in reader.changes()] == [b"a", b"b", b"c"]
