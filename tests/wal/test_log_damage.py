"""Damaged, lost and foreign files of a log: an error that says where, never a wrong or a missing entry."""

import os
import struct
import zlib
from collections.abc import Callable

import pytest

import wal
from tests.wal.memory_directory import MemoryDirectory, open_log, payloads

PAYLOADS = [b"payload %02d" % number + bytes(number * 5) for number in range(24)]


def written(*, closed: bool = True) -> MemoryDirectory:
    """A log of three segments."""
    directory = MemoryDirectory()
    log = open_log(directory, segment_bytes=1024)
    for at in range(0, len(PAYLOADS), 2):
        for payload in PAYLOADS[at : at + 2] if at % 4 else ():
            log.append(payload)
        if at % 4 == 0:
            log.append_many(PAYLOADS[at : at + 2])
    if closed:
        log.close()
    assert len(directory.files) == 3
    return directory.after_kill()


def firsts(directory: MemoryDirectory) -> list[int]:
    return sorted(int(name[:20]) for name in directory.files)


def name_of(first: int) -> str:
    return f"{first:020d}.wal"


def outcome(directory: MemoryDirectory) -> str:
    """Read all that can be read, from both sides, and check it."""
    results = [
        _read_all(lambda: wal.Log(directory.after_kill())),
        _read_all(lambda: open_log(directory.after_kill())),
    ]
    assert results[0] == results[1]
    return results[0]


def _read_all(open_: Callable[[], wal.Log]) -> str:
    found: dict[int, bytes] = {}
    damages: list[wal.LogDamaged] = []
    offset: int | None = 1
    while offset is not None:
        try:
            with open_() as log:
                for entry in log.read(offset):
                    found[entry.offset] = entry.payload
                offset = None
        except wal.LogDamaged as damage:
            damages.append(damage)
            offset = damage.next_good
    assert all(PAYLOADS[offset - 1] == payload for offset, payload in found.items()), "never a wrong payload"
    assert damages or len(found) == len(PAYLOADS), "never a silent loss"
    assert all(f"at byte {damage.byte}" in str(damage) for damage in damages)
    return "damaged" if damages else "whole"


def test_an_undamaged_log_is_whole():
    assert outcome(written()) == outcome(written(closed=False)) == "whole"


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("number", range(3))
def test_no_flipped_byte_goes_unseen(closed, number):
    directory = written(closed=closed)
    name = name_of(firsts(directory)[number])
    data = bytes(directory.files[name].data)
    harmless = 0
    for at in range(len(data)):
        directory.put(name, data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        harmless += outcome(directory) == "whole"

    # Nobody needs the trailer, nor the end of a newest segment behind its last entry.
    assert harmless == 16 if number < 2 else harmless <= 200


@pytest.mark.parametrize("number", range(3))
def test_no_lost_end_goes_unseen(number):
    directory = written()
    name = name_of(firsts(directory)[number])
    data = bytes(directory.files[name].data)
    for length in range(0, len(data), 5):
        directory.put(name, data[:length])
        if length <= len(data) - 300:
            assert outcome(directory) == "damaged"
        else:
            outcome(directory)


@pytest.mark.parametrize("number", range(3))
def test_a_missing_segment_is_missed(number):
    directory = written()
    begins = [*firsts(directory), 25]
    directory.remove(name_of(begins[number]))
    log = wal.Log(directory)
    if number == 0:
        # Trimmed or lost: the log begins later, and whoever asks for more is told.
        with pytest.raises(wal.OffsetGone):
            log.read(1)
        assert payloads(log, begins[1]) == PAYLOADS[begins[1] - 1 :]
        return
    reading, found = log.read(1), []
    with pytest.raises(wal.LogDamaged) as caught:  # noqa: PT012  # what comes before it is wanted
        for entry in reading:
            found.append(entry.payload)
    assert found == PAYLOADS[: begins[number] - 1]
    assert caught.value.last_good == begins[number] - 1
    assert caught.value.next_good == (begins[2] if number == 1 else None)
    if number == 1:
        assert name_of(begins[1]) in str(caught.value)
        assert payloads(log, begins[2]) == PAYLOADS[begins[2] - 1 :]
    else:
        with pytest.raises(wal.LogDamaged, match="entries up to 24 were durable"):
            open_log(directory)


def test_all_segments_missing_is_no_empty_log():
    directory = written()
    for first in firsts(directory):
        directory.remove(name_of(first))
    with pytest.raises(wal.LogNotFound):
        wal.Log(directory)
    with pytest.raises(wal.LogError, match="all segments of a log with 24 entries are gone"):
        open_log(directory)


def test_damage_says_what_can_still_be_read():
    directory = written()
    begins = firsts(directory)
    directory.files[name_of(begins[1])].data[100] ^= 1
    log = wal.Log(directory)
    assert log.latest == 24
    with pytest.raises(wal.LogDamaged) as caught:
        list(log.read(1))

    assert caught.value.path == f"memory/{name_of(begins[1])}"
    assert (caught.value.byte, caught.value.last_good) == (64, begins[1] - 1)
    assert caught.value.next_good == begins[2]
    assert payloads(log, 1, until=caught.value.last_good) == PAYLOADS[: begins[1] - 1]
    assert payloads(log, caught.value.next_good) == PAYLOADS[begins[2] - 1 :]
    with open_log(directory) as writer:
        assert writer.append(b"x") == 25, "damage in an old segment does not keep a log from being written"


def test_a_torn_tail_is_legal_in_the_newest_segment_only():
    directory = written(closed=False)
    for first in firsts(directory):
        torn = directory.after_kill()
        torn.files[name_of(first)].data[-40:] = b""
        torn.files[name_of(first)].data += b"torn"
        torn.told = []  # its writer had told of nothing
        if first == firsts(directory)[-1]:
            assert len(payloads(wal.Log(torn))) == 23
            with open_log(torn) as log:
                assert log.append(b"x") == 24
                assert payloads(log) == [*PAYLOADS[:23], b"x"]
        else:
            assert outcome(torn) == "damaged"


def test_segments_that_belong_elsewhere_are_refused():
    directory, other = written(), written()
    begins = firsts(directory)
    for first, source in [(begins[1], other), (begins[2], other)]:
        mixed = directory.after_kill()
        mixed.put(name_of(first), bytes(source.files[name_of(first)].data))
        assert outcome(mixed) == "damaged"
    renamed = directory.after_kill()
    renamed.put(name_of(begins[1] + 1), bytes(renamed.files[name_of(begins[1])].data))
    renamed.remove(name_of(begins[1]))
    assert outcome(renamed) == "damaged"


def test_a_newer_format_is_named_as_such():
    directory = written()
    name = name_of(firsts(directory)[-1])
    data = directory.files[name].data
    struct.pack_into("<I", data, 8, 2)
    struct.pack_into("<I", data, 60, zlib.crc32(data[:60]))
    for open_ in (wal.Log, open_log):
        with pytest.raises(wal.SegmentUnsupported, match=f"memory/{name}: log segment of format 2"):
            open_(directory)


def test_a_record_of_several_entries_that_does_not_add_up_is_damage():
    directory = MemoryDirectory()
    log = open_log(directory)
    log.append(b"one")
    for payload in (b"", b"12345678", struct.pack("<II", 3, 3) + b"12345", struct.pack("<II", 0, 2**32 - 1)):
        log._writer.append(payload, 2, sync=True)
        with pytest.raises(wal.LogDamaged, match="does not add up at byte 103") as caught:
            list(log.read(1))
        assert caught.value.last_good == 1


def test_a_hostile_count_is_damage_and_no_memory():
    log = open_log()
    log._writer.append(b"x", 2**32 - 1, sync=True)
    with pytest.raises(wal.LogDamaged, match="does not add up"):
        next(log.read(1))


@pytest.mark.parametrize("told", [b"", b"x", bytes(32), b"\xff" * 32, b"x" * 5000])
def test_garbage_in_the_lock_is_not_believed(told):
    directory = written(closed=False)
    directory.told = [told]
    assert payloads(wal.Log(directory)) == PAYLOADS
    directory.is_locked = True
    assert payloads(wal.Log(directory)) == PAYLOADS
    directory.is_locked = False
    with open_log(directory) as log:
        assert payloads(log) == PAYLOADS


@pytest.fixture
def path(tmp_path):
    with wal.Log.open(tmp_path / "log") as log:
        log.append_many([b"one", b"two"])
    return tmp_path / "log"


def test_other_files_are_left_alone(path):
    names = ["README", "5.wal", "00000000000000000003.wal.bak", "00000000000000000003.log", "x.tmp"]
    for name in names:
        (path / name).write_bytes(b"garbage")
    (path / "folder.wal").mkdir()
    (path / f"{name_of(1)}.tmp").write_bytes(b"left over")
    for _ in range(2):
        with wal.Log.open(path) as log:
            assert payloads(log) == [b"one", b"two"]
    assert sorted(os.listdir(path)) == sorted([*names, "folder.wal", name_of(1), "LOCK"])


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/null", path)])
def test_what_is_no_file_is_no_segment(path, make):
    make(path / name_of(3))
    for read_only in (True, False):
        with pytest.raises(OSError), wal.Log.open(path, read_only=read_only) as log:
            log.read(3)
    os.rename(path / name_of(3), path / "elsewhere")
    with wal.Log.open(path) as log:
        assert payloads(log) == [b"one", b"two"]


@pytest.mark.parametrize("data", [b"", b"garbage", bytes(64), bytes(5000), b"x" * 5000])
def test_garbage_with_the_name_of_a_segment_is_damage(path, data):
    (path / name_of(3)).write_bytes(data)
    with pytest.raises(wal.LogDamaged, match=f"{name_of(3)}: .* at byte 0"):
        wal.Log.open(path)
    with wal.Log.open(path, read_only=True) as log:
        assert payloads(log, 1, until=2) == [b"one", b"two"]
        with pytest.raises(wal.LogDamaged):
            list(log.read(1))
        with pytest.raises(wal.LogDamaged):
            _ = log.latest


def test_a_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "000012.log").write_bytes(b"a segment of a store")
    (tmp_path / "CURRENT").write_bytes(b"x")
    with pytest.raises(wal.LogError, match="holds other files"):
        wal.Log.open(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["000012.log", "CURRENT", "LOCK"]
