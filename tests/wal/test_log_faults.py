"""A disk that fails: typed errors, no further writes, and nothing acknowledged that is not there."""

import errno

import pytest

import wal
from tests.wal.memory_directory import MemoryDirectory, open_log, payloads


class Fault:
    """Fails the operations of a kind from the n-th on."""

    def __init__(self, kind: str, after: int = 0, *, error: BaseException | None = None) -> None:
        self._kind, self._left = kind, after
        self._error = error or OSError(errno.ENOSPC, "No space left on device")

    def __call__(self, kind: str, name: str) -> None:
        if kind == self._kind:
            self._left -= 1
            if self._left < 0:
                raise self._error


def fill(log: wal.Log, times: int) -> int:
    """Append until it fails; return the last offset that was acknowledged."""
    acknowledged = log.latest
    with pytest.raises(wal.LogFailed) as caught:  # noqa: PT012  # whichever of them it is
        for _ in range(times):
            acknowledged = log.append(bytes(300))
    assert caught.value.errno == errno.ENOSPC
    return acknowledged


@pytest.mark.parametrize("kind", ["append", "sync", "tell"])
def test_a_failed_write_ends_writing_until_the_log_is_reopened(kind):
    directory = MemoryDirectory()
    log = open_log(directory)
    log.append(b"one")
    directory.fault = Fault(kind)
    with pytest.raises(wal.LogFailed, match="No space left") as caught:
        log.append(b"two")
    assert caught.value.errno == errno.ENOSPC
    assert isinstance(caught.value, OSError)
    directory.fault = Fault("none")

    for use in (lambda: log.append(b"three"), lambda: log.append_many([b"x"]), log.sync):
        with pytest.raises(wal.LogFailed):
            use()
    assert payloads(log) == payloads(wal.Log(directory)) == [b"one"], "readers go on"
    log.close()
    shown = payloads(wal.Log(directory))
    assert shown == [b"one"] or (kind == "tell" and shown == [b"one", b"two"])
    with open_log(directory) as log:
        assert payloads(log) in ([b"one"], [b"one", b"two"])
        assert log.append(b"next") == log.latest
        assert payloads(wal.Log(directory)) == payloads(log)


@pytest.mark.parametrize("kind", ["create", "rename", "append", "sync", "tell", "remove"])
@pytest.mark.parametrize("after", range(4))
def test_a_failure_while_segments_change_loses_nothing(kind, after):
    directory = MemoryDirectory()
    log = open_log(directory, segment_bytes=1024, retention_bytes=3000)
    for _ in range(12):
        log.append(bytes(300))
    directory.fault = Fault(kind, after)
    acknowledged = fill(log, 60)
    log.close()
    directory.fault = Fault("none")
    with wal.Log(directory) as outside:
        assert outside.latest >= acknowledged
        assert len(payloads(outside)) == outside.latest - outside.earliest + 1
    with open_log(directory, segment_bytes=1024) as log:
        assert log.latest >= acknowledged
        assert log.append(b"next") == log.latest


@pytest.mark.parametrize("kind", ["create", "rename", "append", "sync", "tell"])
@pytest.mark.parametrize("state", ["new", "closed", "killed"])
def test_a_failure_while_a_log_is_opened_leaves_it_as_it_was(kind, state):
    directory = MemoryDirectory()
    if state != "new":
        log = open_log(directory)
        log.append_many([b"one", b"two"])
        log.close() if state == "closed" else None
    directory = directory.after_kill()
    directory.fault = Fault(kind)
    with pytest.raises(OSError, match="No space left"):
        open_log(directory)
    assert not directory.is_locked
    directory.fault = Fault("none")

    with open_log(directory) as log:
        assert payloads(log) == ([] if state == "new" else [b"one", b"two"])


def test_a_failed_close_says_so_and_lets_others_in():
    directory = MemoryDirectory()
    log = open_log(directory, sync=False)
    log.append(b"one")
    directory.fault = Fault("sync")
    with pytest.raises(wal.LogFailed):
        log.close()
    log.close()
    directory.fault = Fault("none")
    with open_log(directory) as log:
        assert payloads(log) == [b"one"]


def test_an_interrupt_in_a_write_ends_writing():
    directory = MemoryDirectory()
    log = open_log(directory)
    directory.fault = Fault("append", error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        log.append(b"one")
    directory.fault = Fault("none")
    with pytest.raises(wal.LogFailed, match="KeyboardInterrupt"):
        log.append(b"two")
    log.close()
    with open_log(directory) as log:
        assert payloads(log) == []


def test_a_trim_that_fails_does_not_end_writing():
    directory = MemoryDirectory()
    log = open_log(directory, segment_bytes=1024)
    for _ in range(20):
        log.append(bytes(300))
    directory.fault = Fault("remove", error=PermissionError(errno.EPERM, "Operation not permitted"))
    with pytest.raises(PermissionError):
        log.trim(15)
    directory.fault = Fault("none")
    assert (log.earliest, log.append(b"x")) == (1, 21)
    log.trim(15)
    assert log.earliest > 1


def test_a_full_disk_of_the_system(tmp_path, monkeypatch):
    # A real file, of which the system takes only the first part.
    pwrite, room = wal.directory.os.pwrite, 5000

    def short(fd: int, data: bytes, position: int) -> int:
        if position >= room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(fd, bytes(data)[: room - position], position)

    monkeypatch.setattr("wal.directory.os.pwrite", short)
    log = wal.Log.open(tmp_path / "log")
    latest = fill(log, 100)
    assert log.latest == latest > 10
    log.close()
    monkeypatch.undo()
    with wal.Log.open(tmp_path / "log") as log:
        assert log.latest == latest
        assert log.append(b"x") == latest + 1
