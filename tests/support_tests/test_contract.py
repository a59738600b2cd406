"""What every file system must do alike: the real one, the one in memory, and a wrapped one."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lsm.fs import open_directory
from lsm.fs_types import Cause, FileSystem, LockHeld, PoisonedFile, ShortRead
from tests.support.faultfs import FaultFS
from tests.support.memfs import MemFS

Make = Callable[[str], FileSystem]


@pytest.fixture(params=["os", "mem", "fault"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Return what makes directories of one disk."""
    disk = MemFS().disk

    def directory(name: str) -> FileSystem:
        if request.param == "os":
            return open_directory(tmp_path / name, create=True, read_only=False)
        inner = MemFS(disk=disk, directory=name)
        return inner if request.param == "mem" else FaultFS(inner)

    return directory


@pytest.fixture
def fs(make: Make) -> Iterator[FileSystem]:
    found = make("store")
    yield found
    found.close()


def write(fs: FileSystem, name: str, data: bytes, *, reserve_bytes: int = 0) -> None:
    file = fs.create(name, Cause.FLUSH, reserve_bytes=reserve_bytes)
    file.append(data)
    file.close()


def contents(fs: FileSystem, name: str) -> bytes:
    file = fs.open(name)
    data = file.pread(0, file.size)
    file.close()
    return data


@pytest.mark.parametrize("reserve_bytes", [0, 4096])
def test_appends_come_back_in_order(fs, reserve_bytes):
    file = fs.create("a", Cause.LOG, reserve_bytes=reserve_bytes)
    for data in (b"one", bytearray(b"two"), memoryview(b"three"), np.frombuffer(b"four", np.uint8), b""):
        file.append(data)
    assert file.size == 15
    file.sync()
    file.close()

    assert contents(fs, "a") == b"onetwothreefour"


def test_reserve_is_zeros_until_written_and_goes_with_close(fs):
    file = fs.create("a", Cause.LOG, reserve_bytes=1024)
    assert fs.size_of("a") == 1024
    file.append(b"x" * 1024)
    assert fs.size_of("a") == 1024
    file.append(b"y")
    assert fs.size_of("a") == 2048
    reader = fs.open("a")
    assert reader.pread(1020, 10) == b"xxxxy\0\0\0\0\0"
    file.close()

    assert fs.size_of("a") == 1025
    assert reader.refresh_size() == reader.size == 1025
    reader.close()


def test_one_append_may_be_larger_than_the_reserve(fs):
    write(fs, "a", b"z" * 5000, reserve_bytes=1024)

    assert contents(fs, "a") == b"z" * 5000


def test_a_name_is_created_once(fs):
    write(fs, "a", b"1")

    with pytest.raises(FileExistsError):
        fs.create("a", Cause.LOG)
    assert contents(fs, "a") == b"1"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc/passwd", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(fs, name):
    for use in (fs.open, fs.unlink, fs.exists, fs.size_of, fs.disk_bytes):
        with pytest.raises(ValueError, match="plain file name"):
            use(name)
    for use in (lambda: fs.create(name, Cause.LOG), lambda: fs.lock(name, "me")):
        with pytest.raises(ValueError, match="plain file name"):
            use()
    write(fs, "a", b"")
    for use in (lambda: fs.rename("a", name), lambda: fs.rename(name, "a")):
        with pytest.raises(ValueError, match="plain file name"):
            use()


def test_names_come_and_go(fs):
    write(fs, "b", b"1")
    write(fs, "a", b"22")
    assert fs.list() == ["a", "b"]
    fs.rename("a", "b")
    fs.sync_dir()
    assert fs.list() == ["b"]
    assert contents(fs, "b") == b"22"
    assert fs.exists("b") and not fs.exists("a")
    fs.unlink("b")

    assert fs.list() == []
    for use in (fs.open, fs.unlink, fs.size_of, fs.disk_bytes):
        with pytest.raises(FileNotFoundError):
            use("b")
    with pytest.raises(FileNotFoundError):
        fs.rename("b", "c")


def test_an_open_file_stays_readable_without_its_name(fs):
    write(fs, "a", b"still here")
    file = fs.open("a")
    fs.unlink("a")

    assert file.pread(6, 4) == b"here"
    assert bytes(file.buffer()) == b"still here"
    file.close()


def test_reads_are_exact_or_say_so(fs):
    write(fs, "a", b"0123456789")
    file = fs.open("a")

    assert file.pread(2, 3) == b"234"
    assert file.pread(10, 0) == b""
    assert file.read_upto(8, 100) == b"89"
    assert file.read_upto(100, 1) == b""
    with pytest.raises(ShortRead):
        file.pread(8, 3)
    with pytest.raises(ShortRead):
        file.pread(2**62, 1)
    file.close()
    with pytest.raises(OSError, match=r".*"):
        file.pread(0, 1)
    file.close()


def test_a_huge_length_is_not_believed(fs):
    write(fs, "a", b"0123456789")
    file = fs.open("a")

    with pytest.raises(ShortRead):
        file.pread(0, 2**40)
    assert file.read_upto(0, 2**62) == b"0123456789"
    file.close()


def test_the_buffer_is_the_file_and_outlives_the_handle(fs):
    write(fs, "a", b"0123456789")
    write(fs, "empty", b"")
    file, empty = fs.open("a"), fs.open("empty")
    buffer = file.buffer()
    assert bytes(empty.buffer()) == b""
    empty.close()
    file.close()

    assert bytes(buffer[3:5]) == b"34"
    assert memoryview(buffer).readonly


def test_the_buffer_is_as_long_as_the_size_that_was_checked(fs):
    writer = fs.create("a", Cause.LOG)
    writer.append(b"123")
    file = fs.open("a")
    writer.append(b"456")

    assert bytes(file.buffer()) == b"123"
    assert file.pread(3, 3) == b"456"
    assert (file.size, file.refresh_size()) == (3, 6)
    writer.close()
    file.close()


def test_a_reader_can_make_what_it_read_durable(fs):
    write(fs, "a", b"1")
    before = fs.counters.snapshot()
    file = fs.open("a", Cause.LOG)
    file.sync()
    file.close()

    assert (fs.counters.snapshot() - before).syncs[Cause.LOG] == 1


def test_wide_items_are_refused_since_their_length_is_not_in_bytes(fs):
    file = fs.create("a", Cause.LOG)

    with pytest.raises(TypeError, match="single bytes"):
        file.append(np.arange(4, dtype=np.int32))
    with pytest.raises(PoisonedFile):
        file.append(b"x")
    with pytest.raises(PoisonedFile):
        file.sync()
    file.close()
    assert fs.size_of("a") == 0


def test_a_closed_file_takes_nothing(fs):
    file = fs.create("a", Cause.LOG)
    file.close()
    file.close()

    for use in (lambda: file.append(b""), file.sync):
        with pytest.raises(OSError) as caught:
            use()
        assert caught.value.errno == errno.EBADF


def test_a_link_is_the_same_file_elsewhere(fs, make):
    write(fs, "a", b"shared")
    target = make("checkpoint")
    fs.link("a", target)
    target.sync_dir()
    fs.unlink("a")

    assert contents(target, "a") == b"shared"
    assert target.counters.snapshot().written[Cause.CHECKPOINT] == 0
    with pytest.raises(FileNotFoundError):
        fs.link("a", target)
    write(fs, "a", b"other")
    with pytest.raises(FileExistsError):
        fs.link("a", target)
    target.close()


def test_a_link_to_another_disk_is_a_synced_copy(fs):
    write(fs, "a", b"x" * 3_000_000)
    target = MemFS()
    fs.link("a", target)

    assert target.image() == {"a": b"x" * 3_000_000}
    counted = target.counters.snapshot()
    assert (counted.written[Cause.CHECKPOINT], counted.syncs[Cause.CHECKPOINT]) == (3_000_000, 1)


def test_a_lock_has_one_holder(fs, make):
    lock = fs.lock("LOCK", "me")
    for other in (fs, make("store")):
        with pytest.raises(LockHeld) as caught:
            other.lock("LOCK", "you")
        assert caught.value.holder == "me"
        assert "me" in str(caught.value)
    lock.release()
    lock.release()

    second = fs.lock("LOCK", "you")
    lock.release()  # Not ours any more.
    with pytest.raises(LockHeld):
        fs.lock("LOCK", "third")
    second.release()
    assert fs.list() == ["LOCK"]


def test_bytes_are_counted_by_cause_open_or_closed(fs):
    log, table = fs.create("l", Cause.LOG, reserve_bytes=4096), fs.create("t", Cause.FLUSH)
    log.append(b"123")
    table.append(b"12345")
    table.close()
    log.sync()
    fs.sync_dir(Cause.MANIFEST)
    first = fs.counters.snapshot()
    reader = fs.open("t", Cause.COMPACTION)
    reader.pread(0, 4)
    log.append(b"4567")
    fs.counters.count_read(Cause.READ, 10)
    second = fs.counters.snapshot()
    reader.close()
    log.close()

    assert (first.written[Cause.LOG], first.written[Cause.FLUSH]) == (3, 5)
    assert (first.syncs[Cause.LOG], first.syncs[Cause.MANIFEST]) == (1, 1)
    between = second - first
    assert (between.written[Cause.LOG], between.written[Cause.FLUSH]) == (4, 0)
    assert (between.read[Cause.COMPACTION], between.read[Cause.READ]) == (4, 10)
    assert fs.counters.snapshot() == second


def test_what_another_process_did_is_counted_here(fs):
    other = MemFS()
    write(other, "a", b"12345")
    other.sync_dir(Cause.MANIFEST)
    fs.counters.add(other.counters.snapshot())

    assert fs.counters.snapshot() == other.counters.snapshot()


def test_space_is_told(fs):
    write(fs, "a", b"x" * 10_000)

    assert fs.free_bytes() > 0
    assert fs.disk_bytes("a") >= 10_000
