"""The real file system: permissions, hostile directories, full disks, forks."""

import errno
import fcntl
import gc
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lsm.fs import Cause, LockHeld, OsAppendFile, OsFileSystem, PoisonedFile, ShortRead, open_directory
from lsm.fs_types import IoCounters

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def fs(store: Path) -> Iterator[OsFileSystem]:
    found = open_directory(store, create=True, read_only=False)
    yield found
    found.close()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(fs: OsFileSystem, name: str, data: bytes = b"data") -> None:
    file = fs.create(name, Cause.OTHER)
    file.append(data)
    file.close()


def in_child(work: Callable[[], None]) -> None:
    """Run `work` in a forked child, which must end well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def run(script: str, *arguments: object) -> "subprocess.Popen[str]":
    """Start a Python of its own that knows the package."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


class TestDirectory:
    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
    def test_only_the_owner_may_read_whatever_the_umask(self, store, umask):
        before = os.umask(umask)
        try:
            fs = open_directory(store, create=True, read_only=False)
            write(fs, "a")
            fs.lock("LOCK", "me").release()
        finally:
            os.umask(before)

        assert (mode_of(store), mode_of(store / "a"), mode_of(store / "LOCK")) == (0o700, 0o600, 0o600)
        assert fs.permissions == 0o700
        fs.close()

    def test_a_wider_mode_is_a_choice(self, store):
        fs = open_directory(store, create=True, read_only=False, mode=0o750)
        write(fs, "a")
        fs.close()

        assert (mode_of(store), mode_of(store / "a")) == (0o750, 0o640)

    def test_a_directory_that_was_there_keeps_its_mode(self, store):
        store.mkdir()
        store.chmod(0o755)
        open_directory(store, create=True, read_only=False).close()

        assert mode_of(store) == 0o755

    def test_nothing_is_made_unasked(self, store):
        for create, read_only in ((False, False), (False, True), (True, True)):
            with pytest.raises(FileNotFoundError):
                open_directory(store, create=create, read_only=read_only)
        assert not store.exists()

    def test_a_file_is_no_directory(self, store):
        store.write_bytes(b"")

        with pytest.raises(NotADirectoryError):
            open_directory(store, create=True, read_only=False)

    def test_read_only_changes_nothing(self, store, fs):
        write(fs, "a")
        reader = open_directory(store, create=False, read_only=True)
        for use in (
            lambda: reader.create("b", Cause.LOG),
            lambda: reader.rename("a", "b"),
            lambda: reader.unlink("a"),
            lambda: reader.lock("LOCK", "me"),
            lambda: fs.link("a", reader),
        ):
            with pytest.raises(OSError) as caught:
                use()
            assert caught.value.errno == errno.EROFS
        file = reader.open("a")
        file.sync()
        reader.sync_dir()

        assert file.pread(0, 4) == b"data"
        assert reader.list() == ["a"]
        file.close()
        reader.close()

    def test_names_stay_with_the_open_directory(self, store, fs):
        write(fs, "a")
        store.rename(store.with_name("moved"))
        write(fs, "b")

        assert fs.list() == ["a", "b"]
        assert (store.with_name("moved") / "b").exists()

    def test_a_new_directory_is_durable_before_its_first_file(self, store, monkeypatch):
        synced = []
        fsync = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), fsync(fd)))
        parent = store.parent.stat().st_ino
        open_directory(store, create=True, read_only=False).close()
        assert synced == [parent]
        fs = open_directory(store, create=True, read_only=False)  # Its maker may have died before the sync.
        assert synced == [parent, parent]
        write(fs, "a")
        fs.close()
        open_directory(store, create=True, read_only=False).close()

        assert synced == [parent, parent]

    def test_a_failed_sync_of_the_directory_is_never_forgiven(self, fs, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", failing(errno.EIO))
            with pytest.raises(OSError):
                fs.sync_dir()

        with pytest.raises(PoisonedFile):
            fs.sync_dir()

    def test_handles_are_given_back(self, store):
        before = open_descriptors()
        fs = open_directory(store, create=True, read_only=False)
        write(fs, "a")
        file = fs.open("a")
        file.buffer()
        file.close()
        fs.lock("LOCK", "me").release()
        for use in (lambda: fs.open("b"), lambda: fs.create("a", Cause.LOG)):
            with pytest.raises(OSError):
                use()
        fs.close()
        fs.close()

        assert open_descriptors() == before


class TestHostileNames:
    def test_a_symbolic_link_is_not_followed(self, store, fs):
        secret = store.with_name("secret")
        secret.write_bytes(b"secret")
        for name, target in (("a", secret), ("b", store.with_name("nowhere"))):
            (store / name).symlink_to(target)

        for use in (lambda: fs.open("a"), lambda: fs.open("b"), lambda: fs.lock("a", "me")):
            with pytest.raises(OSError) as caught:
                use()
            assert caught.value.errno == errno.ELOOP
        with pytest.raises(FileExistsError):
            fs.create("b", Cause.LOG)
        target = open_directory(store.with_name("copy"), create=True, read_only=False)
        with pytest.raises(OSError, match="not a regular file"):
            fs.link("a", target)
        assert target.list() == []
        fs.unlink("a")
        assert secret.read_bytes() == b"secret"
        assert not store.with_name("nowhere").exists()
        target.close()

    def test_a_pipe_is_refused_without_waiting(self, store, fs):
        os.mkfifo(store / "a")

        for use in (lambda: fs.open("a"), lambda: fs.lock("a", "me")):
            with pytest.raises(OSError, match="not a regular file"):
                use()

    def test_a_directory_is_no_file(self, store, fs):
        (store / "a").mkdir()

        for use in (lambda: fs.open("a"), lambda: fs.lock("a", "me"), lambda: fs.unlink("a")):
            with pytest.raises((IsADirectoryError, PermissionError)):
                use()

    def test_refused_files_leave_no_handle_open(self, store, fs):
        os.mkfifo(store / "a")
        before = open_descriptors()
        for use in (lambda: fs.open("a"), lambda: fs.lock("a", "me")):
            with pytest.raises(OSError):
                use()

        assert open_descriptors() == before


def failing(code: int) -> Callable[..., int]:
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


class TestAppend:
    def test_a_short_write_is_finished(self, store, fs, monkeypatch):
        pwrite = os.pwrite
        file = fs.create("a", Cause.LOG)
        monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, memoryview(data)[:3], at))
        file.append(b"0123456789")
        file.append(b"abc")
        file.close()

        assert (store / "a").read_bytes() == b"0123456789abc"

    @pytest.mark.parametrize("error", [OSError(errno.EIO, "disk"), KeyboardInterrupt()])
    def test_any_error_of_a_write_is_the_last_word(self, store, fs, monkeypatch, error):
        pwrite = os.pwrite

        def fail(fd: int, data: bytes, at: int) -> int:
            pwrite(fd, data[:2], at)
            raise error

        file = fs.create("a", Cause.LOG, reserve_bytes=4096)
        file.append(b"good")
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", fail)
            with pytest.raises(type(error)):
                file.append(b"bad")

        for use in (lambda: file.append(b"more"), file.sync):
            with pytest.raises(PoisonedFile, match="earlier write"):
                use()
        assert file.size == 4
        file.close()
        assert (store / "a").read_bytes() == b"good"

    def test_a_failed_sync_is_never_asked_again(self, fs, monkeypatch):
        file = fs.create("a", Cause.LOG)
        file.append(b"x")
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", failing(errno.EIO))
            with pytest.raises(OSError):
                file.sync()

        for use in (file.sync, lambda: file.append(b"y")):
            with pytest.raises(PoisonedFile):
                use()
        assert fs.counters.snapshot().syncs[Cause.LOG] == 0
        file.close()

    def test_a_sync_that_fails_while_the_reserve_grows_is_not_forgotten(self, fs, monkeypatch):
        fallocate = os.posix_fallocate
        file = fs.create("a", Cause.LOG, reserve_bytes=4096)

        def fail_beside(fd: int, offset: int, size: int) -> None:
            fallocate(fd, offset, size)
            with pytest.raises(OSError):
                file.sync()

        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", failing(errno.EIO))
            patched.setattr(os, "posix_fallocate", fail_beside)
            with pytest.raises(PoisonedFile):
                file.append(b"x" * 5000)

        with pytest.raises(PoisonedFile):
            file.append(b"x")
        file.close()

    def test_an_error_of_close_is_reported_and_the_handle_gone(self, fs, monkeypatch):
        file = fs.create("a", Cause.LOG, reserve_bytes=4096)
        before = open_descriptors()
        with monkeypatch.context() as patched:
            patched.setattr(os, "ftruncate", failing(errno.EIO))
            with pytest.raises(OSError):
                file.close()

        assert open_descriptors() == before - 1
        file.close()

    def test_reserve_is_allocated_ahead_and_given_back(self, fs):
        file = fs.create("a", Cause.LOG, reserve_bytes=1 << 20)
        assert fs.disk_bytes("a") >= 1 << 20
        file.append(b"x" * 1000)
        file.sync()
        assert fs.size_of("a") == 1 << 20
        file.append(b"x" * (1 << 20))
        assert fs.disk_bytes("a") >= 2 << 20
        file.close()

        assert fs.size_of("a") == (1 << 20) + 1000
        assert fs.disk_bytes("a") < (1 << 20) + 65536

    @pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, None])
    def test_without_preallocation_it_goes_on(self, fs, monkeypatch, code):
        if code is None:
            monkeypatch.delattr(os, "posix_fallocate")
        else:
            monkeypatch.setattr(os, "posix_fallocate", failing(code))
        file = fs.create("a", Cause.LOG, reserve_bytes=4096)
        file.append(b"x" * 10_000)
        file.close()

        assert fs.size_of("a") == 10_000

    def test_without_fdatasync_it_uses_fsync(self, fs, monkeypatch):
        monkeypatch.delattr(os, "fdatasync")
        file = fs.create("a", Cause.LOG)
        file.append(b"x")
        file.sync()
        file.close()

        assert fs.counters.snapshot().syncs[Cause.LOG] == 1

    def test_sync_runs_beside_appends(self, fs):
        file = fs.create("a", Cause.LOG, reserve_bytes=65536)
        stop = threading.Event()

        def syncing() -> None:
            while not stop.is_set():
                file.sync()

        thread = threading.Thread(target=syncing)
        thread.start()
        for number in range(5000):
            file.append(number.to_bytes(4, "little"))
        stop.set()
        thread.join()
        file.close()

        reader = fs.open("a")
        assert reader.pread(0, 20_000) == b"".join(n.to_bytes(4, "little") for n in range(5000))
        reader.close()

    def test_a_forgotten_file_is_closed_counted_and_told(self, fs):
        before = open_descriptors()
        files = [fs.create("a", Cause.LOG)]
        files[0].append(b"123")
        with pytest.warns(ResourceWarning, match="a was never closed"):
            files.clear()

        assert open_descriptors() == before
        assert fs.counters.snapshot().written[Cause.LOG] == 3


class TestRead:
    def test_a_file_that_shrank_is_not_mapped(self, store, fs):
        write(fs, "a", b"x" * 10_000)
        file = fs.open("a")
        os.truncate(store / "a", 10)

        with pytest.raises(ShortRead):
            file.buffer()
        with pytest.raises(ShortRead):
            file.pread(0, 100)
        file.close()

    def test_what_cannot_be_mapped_is_read(self, fs, monkeypatch):
        write(fs, "a", b"0123")
        monkeypatch.setattr("lsm.fs_files.mmap", failing(errno.ENODEV))
        file = fs.open("a")

        assert file.buffer() == b"0123"
        file.close()

    def test_a_lack_of_memory_for_the_map_is_told(self, fs, monkeypatch):
        write(fs, "a", b"0123")
        monkeypatch.setattr("lsm.fs_files.mmap", failing(errno.ENOMEM))
        file = fs.open("a")

        with pytest.raises(OSError):
            file.buffer()
        file.close()

    @pytest.mark.parametrize(
        ("code", "is_fine"), [(errno.EROFS, True), (errno.EINVAL, True), (errno.EIO, False)]
    )
    def test_a_sync_of_what_cannot_change_is_fine(self, fs, monkeypatch, code, is_fine):
        write(fs, "a")
        file = fs.open("a")
        monkeypatch.setattr(os, "fdatasync", failing(code))
        if is_fine:
            file.sync()
        else:
            with pytest.raises(OSError):
                file.sync()
        file.close()

    def test_a_read_in_parts_is_put_together(self, fs, monkeypatch):
        write(fs, "a", b"0123456789")
        pread = os.pread
        monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 3), at))
        file = fs.open("a")

        assert file.pread(1, 8) == b"12345678"
        assert file.read_bytes == 8
        file.close()

    def test_a_reader_without_users_closes_itself(self, fs):
        write(fs, "a")
        before = open_descriptors()
        file = fs.open("a")
        file.pread(0, 4)
        del file
        gc.collect()

        assert open_descriptors() == before
        assert fs.counters.snapshot().read[Cause.READ] == 4


class TestLink:
    def test_a_link_is_the_same_inode(self, store, fs):
        write(fs, "a")
        target = open_directory(store.with_name("copy"), create=True, read_only=False)
        fs.link("a", target)

        assert (store / "a").stat().st_ino == (store.with_name("copy") / "a").stat().st_ino
        target.close()

    def test_across_devices_it_is_a_synced_copy(self, store, fs, monkeypatch):
        write(fs, "a", b"x" * 100)
        target = open_directory(store.with_name("copy"), create=True, read_only=False)
        monkeypatch.setattr(os, "link", failing(errno.EXDEV))
        fs.link("a", target)

        assert (store.with_name("copy") / "a").read_bytes() == b"x" * 100
        assert mode_of(store.with_name("copy") / "a") == 0o600
        counted = target.counters.snapshot()
        assert (counted.written[Cause.CHECKPOINT], counted.syncs[Cause.CHECKPOINT]) == (100, 1)
        assert fs.counters.snapshot().read[Cause.CHECKPOINT] == 100
        target.close()

    def test_half_a_copy_is_removed(self, store, fs, monkeypatch):
        write(fs, "a", b"x" * 100)
        target = open_directory(store.with_name("copy"), create=True, read_only=False)
        monkeypatch.setattr(os, "link", failing(errno.EXDEV))
        monkeypatch.setattr(os, "fdatasync", failing(errno.EIO))
        with pytest.raises(OSError):
            fs.link("a", target)

        assert target.list() == []
        target.close()


class TestFullDisk:
    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[OsFileSystem]:
        """Return a directory on a disk of 256 KiB."""
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small disk")
        mount = tmp_path / "small"
        mount.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount], check=True)
        fs = open_directory(mount, create=False, read_only=False)
        yield fs
        fs.close()
        subprocess.run(["umount", mount], check=True)

    def test_a_device_that_is_always_full(self):
        file = OsAppendFile(os.open("/dev/full", os.O_WRONLY), "full", Cause.LOG, IoCounters(), 0)
        with pytest.raises(OSError) as caught:
            file.append(b"x")

        assert caught.value.errno == errno.ENOSPC
        with pytest.raises(PoisonedFile):
            file.append(b"x")
        file.close()

    def test_half_an_append_is_no_append_and_close_takes_it_back(self, small):
        file = small.create("a", Cause.LOG)
        file.append(b"good")
        with pytest.raises(OSError) as caught:
            file.append(b"x" * 1_000_000)
        assert caught.value.errno == errno.ENOSPC
        assert small.size_of("a") > file.size == 4
        with pytest.raises(PoisonedFile):
            file.append(b"x")
        file.close()

        assert small.size_of("a") == 4
        assert small.free_bytes() > 200_000

    def test_no_room_for_the_reserve_leaves_no_file(self, small):
        before = open_descriptors()
        with pytest.raises(OSError) as caught:
            small.create("a", Cause.LOG, reserve_bytes=1 << 20)

        assert caught.value.errno == errno.ENOSPC
        assert small.list() == []
        assert open_descriptors() == before

    def test_a_reserve_that_cannot_grow_writes_nothing(self, small):
        file = small.create("a", Cause.LOG, reserve_bytes=200_000)
        file.append(b"x" * 150_000)
        with pytest.raises(OSError) as caught:
            file.append(b"y" * 60_000)
        assert caught.value.errno == errno.ENOSPC
        file.close()

        assert small.size_of("a") == 150_000

    def test_the_lock_works_on_a_full_disk(self, small):
        small.lock("LOCK", "first").release()
        file = small.create("a", Cause.LOG)
        with pytest.raises(OSError):
            file.append(b"x" * 1_000_000)
        small.lock("LOCK", "second").release()
        file.close()

        small.unlink("LOCK")
        small.lock("LOCK", "third").release()


HOLD = """
import sys
from lsm.fs import open_directory
fs = open_directory(sys.argv[1], create=False, read_only=False)
lock = fs.lock("LOCK", "the other process")
print("held", flush=True)
sys.stdin.read()
"""

ORPHAN = """
import os, sys
from lsm.fs import open_directory
fs = open_directory(sys.argv[1], create=False, read_only=False)
lock = fs.lock("LOCK", "the parent")
if os.fork() == 0:
    print("child", flush=True)
    sys.stdin.read()
    print("done", flush=True)
    os._exit(0)
os._exit(0)
"""


class TestLock:
    def test_another_process_is_refused_and_let_in_when_the_holder_is_killed(self, store, fs):
        holder = run(HOLD, store)
        with holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(LockHeld) as caught:
                fs.lock("LOCK", "me")
            assert caught.value.holder == "the other process"
            holder.kill()
        fs.lock("LOCK", "me").release()

    def test_a_child_does_not_keep_the_lock_of_a_dead_parent(self, store, fs):
        parent = run(ORPHAN, store)
        with parent:
            assert parent.stdout is not None
            assert parent.stdin is not None
            assert parent.stdout.readline() == "child\n"
            parent.wait()
            fs.lock("LOCK", "me").release()
            parent.stdin.close()
            assert parent.stdout.readline() == "done\n"

    def test_the_holder_of_a_lock_cannot_steer_a_terminal(self, store, fs):
        holder = run(HOLD.replace("the other process", r"\x1b[2J\nroot"), store)
        with holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            with pytest.raises(LockHeld) as caught:
                fs.lock("LOCK", "me")
            holder.kill()

        assert caught.value.holder == "?[2J?root"

    def test_a_lock_file_that_was_replaced_is_not_enough(self, store, fs, monkeypatch):
        flock = fcntl.flock

        def replace_once(fd: int, how: int) -> None:
            monkeypatch.undo()
            (store / "LOCK").unlink()
            flock(fd, how)

        monkeypatch.setattr(fcntl, "flock", replace_once)
        lock = fs.lock("LOCK", "me")

        with pytest.raises(LockHeld):
            fs.lock("LOCK", "you")
        lock.release()


class TestFork:
    def test_a_child_can_neither_lock_nor_unlock(self, store, fs):
        lock = fs.lock("LOCK", "parent")

        def child() -> None:
            lock.release()
            lock.abandon()
            with pytest.raises(LockHeld):
                open_directory(store, create=False, read_only=False).lock("LOCK", "child")

        in_child(child)
        in_child(child)
        lock.release()

    def test_a_child_changes_no_byte(self, store, fs):
        file = fs.create("a", Cause.LOG, reserve_bytes=4096)
        file.append(b"parent")

        def child() -> None:
            for use in (lambda: file.append(b"child"), file.sync):
                with pytest.raises(PoisonedFile, match="parent"):
                    use()
            file.close()
            assert fs.counters.snapshot().written[Cause.LOG] == 6

        in_child(child)
        assert fs.size_of("a") == 4096
        file.append(b" goes on")
        file.close()
        assert (store / "a").read_bytes() == b"parent goes on"

    def test_a_fork_while_another_thread_counts_does_not_hang_the_child(self, fs):
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with fs.counters._lock:
                held.set()
                done.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        in_child(lambda: assert_counts(fs))
        done.set()
        thread.join()


def assert_counts(fs: OsFileSystem) -> None:
    assert sum(fs.counters.snapshot().written.values()) == 0
