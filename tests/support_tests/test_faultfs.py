"""The failing file system: each fault where and when the rule says, and nowhere else."""

import errno

import pytest

from lsm.fs_types import Cause, PoisonedFile, ShortRead
from tests.support.faultfs import CELLS, Fault, FaultFS, FaultRule, Operation
from tests.support.memfs import MemFS
from tests.support.oplog import Sync, SyncDir


def workload(fs: FaultFS) -> bytes:
    """Use every operation at least twice."""
    lock = fs.lock("LOCK", "me")
    for name in ("a", "b"):
        file = fs.create(name, Cause.LOG)
        try:
            file.append(b"0123")
            file.append(b"4567")
            file.sync()
            file.sync()
        finally:
            file.close()
    fs.sync_dir()
    fs.rename("b", "c")
    fs.link("a", FaultFS(fs.inner.sibling("copy")))
    fs.link("c", fs.inner.sibling("copy"))
    fs.sync_dir()
    file = fs.open("a")
    try:
        data = file.pread(0, 4) + file.read_upto(4, 100) + bytes(file.buffer())
        file.refresh_size()
    finally:
        file.close()
    fs.open("c").close()
    assert fs.exists("a") and fs.size_of("a") == 8 and fs.disk_bytes("a") and fs.free_bytes()
    fs.list()
    fs.unlink("a")
    fs.rename("c", "d")
    fs.unlink("d")
    fs.list()
    lock.release()
    fs.lock("LOCK", "me").release()
    fs.close()
    return data


def rule(operation: str, fault: str, **more) -> FaultRule:
    return FaultRule(operation=Operation(operation), fault=Fault(fault), **more)


def test_without_a_rule_nothing_fails_and_everything_is_counted():
    fs = FaultFS(MemFS())

    assert workload(fs) == b"01234567" * 2
    assert set(fs.calls) == set(Operation)
    assert all(count >= 2 for count in fs.calls.values())
    assert fs.injected == fs.matched == fs.calls_after_poison == 0


def test_there_are_enough_cells():
    assert len(CELLS) == len(set(CELLS)) >= 50
    assert {operation for operation, _ in CELLS} == set(Operation)
    assert {fault for _, fault in CELLS} == set(Fault)


@pytest.mark.parametrize(("operation", "fault"), CELLS)
def test_every_cell_fails_at_every_call_once(operation, fault):
    hits = 0
    while True:
        fs = FaultFS(MemFS(), FaultRule(operation=operation, fault=fault, nth=hits))
        outcome = outcome_of(fs)
        if not fs.injected:
            break
        assert fs.injected == 1
        assert outcome in outcomes_of(fault)
        hits += 1

    assert outcome == "passed"
    assert hits == fs.calls[operation] >= 2


def outcome_of(fs: FaultFS) -> str:
    try:
        return "passed" if workload(fs) == b"01234567" * 2 else "wrong bytes"
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def outcomes_of(fault: Fault) -> set[str]:
    special = {
        Fault.SHORT_WRITE: {"ENOSPC"},
        Fault.SHORT_READ: {"EIO", "wrong bytes"},
        Fault.FLIP: {"wrong bytes"},
        # A rename that did not happen is noticed when the new name is used.
        Fault.LIE: {"passed", "wrong bytes", "ENOENT"},
    }
    return special.get(fault, {str(fault)})


def test_a_sticky_fault_stays_until_healed():
    fs = FaultFS(MemFS(), rule("create", "ENOSPC", nth=1, sticky=True))
    fs.create("a", Cause.LOG)
    for _ in range(3):
        with pytest.raises(OSError, match="injected"):
            fs.create("b", Cause.LOG)
    assert (fs.matched, fs.injected) == (4, 3)
    fs.heal()

    fs.create("b", Cause.LOG)


def test_only_matching_names_fail():
    fs = FaultFS(MemFS(), rule("create", "EIO", pattern="*.sst", sticky=True))
    fs.create("1.log", Cause.LOG)
    with pytest.raises(OSError):
        fs.create("1.sst", Cause.FLUSH)

    assert (fs.calls[Operation.CREATE], fs.matched) == (2, 1)


@pytest.mark.parametrize("operation", ["append", "sync"])
def test_an_injected_error_poisons_the_handle_for_ever(operation):
    fs = FaultFS(MemFS(), rule(operation, "EIO"))
    file = fs.create("a", Cause.LOG)
    with pytest.raises(OSError, match="injected"):
        workload_of(file)
    fs.heal()

    for use in (lambda: file.append(b"x"), file.sync):
        with pytest.raises(PoisonedFile):
            use()
    assert fs.calls_after_poison == 2
    file.close()


def workload_of(file):
    file.append(b"x")
    file.sync()


def test_a_failed_sync_of_the_directory_stays_failed_until_reopened():
    fs = FaultFS(MemFS(), rule("sync_dir", "EIO"))
    with pytest.raises(OSError):
        fs.sync_dir()
    with pytest.raises(PoisonedFile):
        fs.sync_dir()
    fs.heal()

    fs.sync_dir()


def test_a_short_write_leaves_a_part_behind():
    inner = MemFS()
    fs = FaultFS(inner, rule("append", "short write", nth=1))
    file = fs.create("a", Cause.LOG)
    file.append(b"good")
    with pytest.raises(OSError) as caught:
        file.append(b"12345678")
    file.close()

    assert caught.value.errno == errno.ENOSPC
    assert file.size == 4
    assert inner.image() == {"a": b"good1234"}


def test_a_lie_is_reported_as_done_and_not_done():
    inner = MemFS()
    fs = FaultFS(inner, rule("append", "lie", nth=1))
    file = fs.create("a", Cause.LOG)
    for data in (b"one", b"two", b"three"):
        file.append(data)
    for operation in ("sync", "sync_dir", "rename", "unlink", "link"):
        fs.rule, fs.matched = rule(operation, "lie"), 0
        {
            "sync": file.sync,
            "sync_dir": fs.sync_dir,
            "rename": lambda: fs.rename("a", "b"),
            "unlink": lambda: fs.unlink("a"),
            "link": lambda: fs.link("a", inner.sibling("copy")),
        }[operation]()
    file.close()

    assert inner.image() == {"a": b"one\0\0\0three"}
    assert inner.sibling("copy").image() == {}
    assert not [op for op in inner.log.ops if isinstance(op, Sync | SyncDir)]
    assert fs.injected == 6


def test_a_flip_changes_one_bit_of_what_is_read():
    inner = MemFS.from_image({"a": b"0123456789"})
    fs = FaultFS(inner, rule("pread", "flip", flip_at=12, sticky=True))
    file = fs.open("a")

    assert file.pread(0, 10) == file.read_upto(0, 10) == bytes(file.buffer()) == b"0133456789"
    assert file.read_upto(10, 5) == b""
    fs.heal()
    assert file.pread(0, 10) == b"0123456789"
    file.close()


def test_a_short_read_is_an_error_where_all_bytes_were_asked_for():
    fs = FaultFS(MemFS.from_image({"a": b"0123456789"}), rule("pread", "short read", sticky=True))
    file = fs.open("a")

    for use in (lambda: file.pread(0, 10), file.buffer):
        with pytest.raises(ShortRead):
            use()
    assert file.read_upto(0, 10) == b"01234"
    file.close()


def test_a_failing_close_closes_all_the_same():
    inner = MemFS()
    fs = FaultFS(inner, rule("close", "EIO", sticky=True))
    file = fs.create("a", Cause.LOG, reserve_bytes=512)
    reader = fs.open("a")
    for handle in (file, reader):
        with pytest.raises(OSError, match="injected"):
            handle.close()
        handle.close()

    assert inner.image() == {"a": b""}
    assert fs.injected == 2


def test_a_cell_without_sense_is_refused():
    with pytest.raises(ValueError, match="cannot fail by"):
        rule("list", "flip")
