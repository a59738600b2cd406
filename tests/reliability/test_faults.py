"""Every operation fails in every way, at every call: nothing acknowledged is lost, and nobody is left untold.

One story of a store is played again and again; each time another call of the file system fails, once or
from then on.  What a failure may and may not lead to is checked after every step, after close() and after
reopening, on the disk as it is and on the disk as a power cut at the end would leave it.
"""

import errno
import gc
import itertools
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lsm
from lsm.checkpoint import write_checkpoint
from lsm.db import DB
from lsm.fs_types import Cause
from lsm.verify import verify_on
from tests.reliability.model import DEFAULT, EMPTY, Found
from tests.reliability.reading import Violation, read_all
from tests.reliability.scoreboard import Parts, shared_folder
from tests.reliability.tiny import RESERVE_BYTES, StepClock, let_go, open_tiny
from tests.support.crash import image_digest
from tests.support.faultfs import (
    CELLS,
    Fault,
    FaultFS,
    FaultRule,
    FaultyAppendFile,
    FaultyReadFile,
    Operation,
)
from tests.support.memfs import MemFS
from tests.support.oplog import Append, Link, OpLog, Rename, Reserve, Sync, SyncDir, Truncate, Unlink

CELLS_MIN, INJECTIONS_MIN = 57, 3000
SIDE = "side"
INDEX_MAX = 1000  # far more calls than the story makes: the loop ends by itself
READING = {Operation.OPEN, Operation.PREAD, Operation.CLOSE, Operation.SIZE, Operation.LIST}
"""A read may fail while one of these does, with an error of ours: it opens tables and closes them again."""

ONLY_READ = " (only read)"

SILENT = {Fault.LIE, Fault.FLIP, Fault.SHORT_READ}
"""The file system reports success, so that only a checksum can tell: a right answer is enough."""


def absorbed(operation: Operation, name: str) -> str:
    """Say why it is right that nobody hears of this failure; empty if somebody must."""
    if operation is Operation.UNLINK:
        return "a file that nothing names is removed at the next opening; a warning is logged"
    if operation is Operation.CLOSE and name.endswith(ONLY_READ):
        return "of a file that was only read nothing can be lost"
    return ""


class WatchedFS(FaultFS):
    """Remembers every handle it gave out, and which files the rule hit."""

    def __init__(
        self, inner: MemFS, rule: FaultRule | None = None, parent: "WatchedFS | None" = None
    ) -> None:
        super().__init__(inner, rule)
        self.handles: list[FaultyAppendFile | FaultyReadFile] = []
        self.hits: list[str] = []
        self._parent = parent
        self._writers: list[FaultyAppendFile] = []

    def fault(self, operation: Operation, name: str) -> FaultRule | None:
        if self._parent is not None:
            return self._parent.fault(operation, name)
        before = self.injected
        closed = [writer for writer in self._writers if writer._is_closed]  # the one that calls, if any
        self._writers = [writer for writer in self._writers if not writer._is_closed]
        try:
            return super().fault(operation, name)
        finally:
            if self.injected > before:
                is_read = operation is Operation.CLOSE and not closed
                self.hits.append(name + ONLY_READ * is_read)

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> FaultyAppendFile:
        file = super().create(name, cause, reserve_bytes=reserve_bytes)
        self.handles.append(file)
        (self._parent or self)._writers.append(file)
        return file

    def open(self, name: str, cause: Cause = Cause.READ) -> FaultyReadFile:
        self.handles.append(super().open(name, cause))
        return self.handles[-1]

    def leaked(self) -> list[str]:
        return [handle._name for handle in self.handles if not handle._is_closed]


Writes = list[tuple[str, bytes, bytes | None]]


def after(found: Found, writes: Writes) -> Found:
    """Return a store after one more batch."""
    contents = {name: dict(held) for name, held in found.contents.items()}
    for name, key, value in writes:
        contents.setdefault(name, {}).pop(key, None)
        if value is not None:
            contents[name][key] = value
    return Found(found.seq + len(writes), contents)


class Run:
    """One playing of the story, with a fault somewhere in it."""

    def __init__(self, rule: FaultRule | None) -> None:
        self.disk = MemFS(reserve_bytes_max=RESERVE_BYTES)
        self.fs = WatchedFS(self.disk, rule)
        self.rule = rule
        self.db: DB | None = None
        self.acked = EMPTY
        self.prefixes = [EMPTY]  # every state that was acknowledged, oldest first
        self.uncertain: list[Writes] = []  # asked for since then, answered with an error
        self.wants_side = False  # was asked for, answered with an error
        self.copy: Found | None = None
        self.errors: list[lsm.Error] = []
        self.is_log_broken = False

    # Steps

    def play(self) -> None:
        self.step(self.open)
        if self.db is not None:
            for work in self.works():
                self.step(work)
                if len(self.errors) in (1, 3):  # after the first failure, and when more calls have met it
                    self.check_reads()
            self.step(self.db.close)
        self.check_leaks()
        self.step(self.read_beside)
        self.check_leaks()

    def works(self) -> Iterator[Callable[[], object]]:
        for number in range(7):
            yield lambda number=number: self.put(b"%c" % (97 + number), 20)
        yield self.make_side
        yield lambda: self.batch([(SIDE, b"x", b"1" * 20), (DEFAULT, b"a", b"2" * 20), (DEFAULT, b"c", None)])
        yield lambda: self.delete(b"b")
        yield self.db.flush
        yield self.look
        yield self.snapshot_over_compaction
        yield self.db.stats
        yield lambda: self.put(b"h", 30)
        yield self.checkpoint
        yield lambda: self.put(b"d", 10)
        yield self.changes
        yield self.db.sync
        yield self.db.step
        yield self.look
        yield lambda: self.put(b"e", 12)

    def step(self, work: Callable[[], object]) -> None:
        """Take a step that may fail, but only with an error of ours (F1)."""
        injected = self.fs.injected
        try:
            work()
        except lsm.Error as error:
            self.errors.append(error)
            if not str(error).strip("()"):
                raise Violation(f"an error without a message: {error!r}") from error
        except Violation:
            raise
        except Exception as error:
            raise Violation(f"a foreign exception: {error!r}") from error
        if self.fs.injected > injected and self.rule.operation is Operation.SYNC:
            self.is_log_broken |= self.rule.fault is not Fault.LIE and self.fs.hits[-1].endswith(".log")

    def open(self) -> None:
        self.db = open_tiny(self.fs)

    def put(self, key: bytes, size: int) -> None:
        value = b"%d." % (self.acked.seq + len(self.uncertain)) + b"v" * size
        with self.committing([(DEFAULT, key, value)]):
            self.db.put(key, value)

    def delete(self, key: bytes) -> None:
        with self.committing([(DEFAULT, key, None)]):
            self.db.delete(key)

    def batch(self, writes: Writes) -> None:
        if SIDE not in self.acked.contents:
            return
        with self.committing(writes), self.db.batch() as batch:
            for name, key, value in writes:
                if value is None:
                    batch.delete(key, keyspace=name)
                else:
                    batch.put(key, value, keyspace=name)

    @contextmanager
    def committing(self, writes: Writes) -> Iterator[None]:
        self.uncertain.append(writes)
        yield
        if self.is_log_broken:
            raise Violation("a write was acknowledged after a failed sync of the log (F2)")
        self.uncertain.clear()
        self.acked = after(self.acked, writes)
        self.prefixes.append(self.acked)
        if self.db.seq != self.acked.seq:
            raise Violation(f"the store is at {self.db.seq}, acknowledged was {self.acked.seq}")

    def make_side(self) -> None:
        self.wants_side = True
        self.db.keyspace(SIDE)
        self.wants_side = False
        self.acked = Found(self.acked.seq, {**self.acked.contents, SIDE: {}})
        self.prefixes.append(self.acked)

    def look(self) -> None:
        if read_all(self.db) != self.acked:
            raise Violation(f"the store shows {read_all(self.db)}, acknowledged was {self.acked}")

    def snapshot_over_compaction(self) -> None:
        with self.db.snapshot() as snapshot:
            held = dict(self.acked.contents[DEFAULT])
            self.put(b"a", 15)
            self.db.compact()
            if dict(snapshot.scan()) != held or [snapshot.get(key) for key in held] != list(held.values()):
                raise Violation("a snapshot changed")
        self.db.compact()

    def checkpoint(self) -> None:
        target = WatchedFS(self.disk.sibling("copy"), parent=self.fs)
        try:
            with self.db._typed("making a checkpoint"):  # as DB.checkpoint does, which takes a path
                write_checkpoint(self.db._state, self.db._committer, target)
        finally:
            if target.leaked():
                raise Violation(f"a checkpoint leaked {target.leaked()} (F5)")
        self.copy = self.acked

    def changes(self) -> None:
        for change in self.db.changes(self.db._state.version.flushed_seq):
            if not 0 < change.seq <= self.acked.seq:
                raise Violation(f"a change was shown that was never acknowledged: {change}")

    def read_beside(self) -> None:
        """Open for reading while the fault may go on."""
        db = open_tiny(self.fs, "r")
        try:
            found = read_all(db)
            if found not in self.legal():
                raise Violation(f"a reader shows {found}, legal are {self.legal()}")
        finally:
            db.close()

    # What must be true

    def check_reads(self) -> None:
        """Look at everything through the handle that has seen the failure (F3)."""
        try:
            self.look()
        except lsm.Error as error:
            if self.rule.operation not in READING and self.rule.fault is not Fault.LIE:
                raise Violation(f"reads ended with a failure of {self.rule.operation}: {error!r}") from error
        except OSError as error:
            raise Violation(f"a foreign exception out of a read: {error!r}") from error

    def check_leaks(self) -> None:
        leaked = self.fs.leaked()
        if leaked:
            raise Violation(f"never closed: {leaked} (F5)")
        if self.disk.disk.held:
            raise Violation(f"the lock is still held: {self.disk.disk.held} (F5)")

    def check_reported(self) -> None:
        """Demand that somebody was told, unless the failure is one that concerns nobody (F1)."""
        if not self.errors and self.fs.injected and self.rule.fault not in SILENT:
            untold = [n for n in self.fs.hits if not absorbed(self.rule.operation, n)]
            if untold:
                raise Violation(f"nobody heard of the failure on {untold} (F1)")

    def legal(self) -> list[Found]:
        """Return what a reopened store may hold: what was acknowledged, and at most one batch more."""
        found = [self.acked, *(after(self.acked, writes) for writes in self.uncertain)]
        if self.wants_side:
            found += [Found(one.seq, {**one.contents, SIDE: {}}) for one in found]
        if self.rule is not None and self.rule.fault is Fault.LIE:
            found += self.prefixes
        return found

    def check_reopened(self) -> None:
        """Heal and open again: nothing is missing, nothing came from nowhere (F2, F4)."""
        self.fs.heal()
        self.expect(self.disk.image(), self.legal(), "the disk as it is")
        if self.rule.fault is not Fault.LIE:
            self.expect(durable_image(self.disk.log), self.legal(), "the disk after a power cut")
        if self.copy is not None:
            self.expect(self.disk.sibling("copy").image(), [self.copy], "the checkpoint")

    def expect(self, image: dict[str, bytes], legal: list[Found], what: str) -> None:
        found = reopened(image)
        if isinstance(found, Found):
            if found not in legal:
                raise Violation(f"{what} holds {found}, legal are {legal} (F2, F4)")
        elif self.rule.fault is not Fault.LIE:  # a lie need only be seen, by opening or by verifying
            raise Violation(f"{what} does not open, or not well: {found!r} (F4)")


_reopened: dict[bytes, Found | Exception] = {}


def reopened(image: dict[str, bytes]) -> Found | Exception:
    """Return what a store holds, or why it does not open; many faults leave the same image."""
    digest = image_digest(image)
    if digest not in _reopened:
        try:
            _reopened[digest] = _reopen(image)
        except (lsm.Error, OSError, Violation) as error:
            _reopened[digest] = error.with_traceback(None)
    return _reopened[digest]


def _reopen(image: dict[str, bytes]) -> Found:
    fs = MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)
    with open_tiny(fs) as db:
        found = read_all(db)
        db.put(b"on", b"and on")
        if db.get(b"on") != b"and on":
            raise Violation("it does not go on")
    if not verify_on(fs).is_sound:
        raise Violation(f"verify says {verify_on(fs).problems}")
    return found


def durable_image(log: OpLog) -> dict[str, bytes]:
    """Return what a power cut leaves if nothing arrived that was not synced."""
    now: dict[int, bytearray] = {}
    safe: dict[int, bytes] = {}
    names: dict[str, int] = {}
    safe_names: dict[str, int] = {}
    for op in log.ops:
        match op:
            case Append(ino=ino, offset=offset, data=data):
                now.setdefault(ino, bytearray())[offset : offset + len(data)] = data
            case Reserve(ino=ino, end=end):
                held = now.setdefault(ino, bytearray())
                held += bytes(end - len(held))
            case Truncate(ino=ino, size=size):
                del now.setdefault(ino, bytearray())[size:]
            case Sync(ino=ino):
                safe[ino] = bytes(now.get(ino, b""))
            case Link(directory="mem", name=name, ino=ino):
                names[name] = ino
            case Rename(directory="mem", old=old, new=new):
                names[new] = names.pop(old)
            case Unlink(directory="mem", name=name):
                del names[name]
            case SyncDir(directory="mem"):
                safe_names = dict(names)
    return {name: safe.get(ino, b"") for name, ino in safe_names.items()}


def play_with(rule: FaultRule) -> Run:
    """Play the story under a rule and check everything."""
    run = Run(rule)
    try:
        try:
            run.play()
        finally:
            if run.db is not None:
                let_go(run.db)  # nothing, unless a violation came before its close
        run.check_reported()
        run.check_reopened()
    except Violation as violation:
        how = "from then on" if rule.sticky else "once"
        raise Violation(
            f"{rule.operation} fails by {rule.fault}, call {rule.nth}, {how} (on {run.fs.hits[:4]}): "
            f"{violation}"
        ) from violation
    return run


def test_the_story_without_a_fault_reaches_every_operation():
    run = Run(None)
    run.play()

    assert not run.errors
    assert set(run.fs.calls) == set(Operation)
    assert run.acked.seq > 10 and run.copy is not None
    assert any(len(meta.levels) > 1 for meta in open_and_look(run.disk).values())


def open_and_look(fs: MemFS):
    db = open_tiny(fs, "r")
    try:
        return db._state.version.keyspaces
    finally:
        db.close()


@pytest.fixture
def no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


OPERATIONS = tuple(Operation)


@pytest.mark.usefixtures("no_thread_stays")
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_fault_at_every_call(operation, tmp_path_factory, capsys):
    cells, injections, reported = 0, 0, Counter()
    for fault in (fault for of, fault in CELLS if of is operation):
        cells += 1
        for sticky in (False, True):
            # A fault that stays is much the same from one append to the next: there every other call does.
            for nth in itertools.count(step=2 if sticky and operation is Operation.APPEND else 1):
                assert nth < INDEX_MAX
                run = play_with(FaultRule(operation=operation, fault=fault, nth=nth, sticky=sticky))
                if not run.fs.injected:
                    break
                injections += 1
                reported[bool(run.errors)] += 1
    assert injections >= 2 * cells

    parts = Parts(shared_folder(tmp_path_factory), "faults", len(OPERATIONS))
    counts = {"cells": cells, "injections": injections, "absorbed": reported[False]}
    if parts.add(OPERATIONS.index(operation), counts, {}):
        with capsys.disabled():
            print(
                f"\nfaults: cells={parts.total('cells')} injections={parts.total('injections')} "
                f"absorbed={parts.total('absorbed')} unreported=0"
            )
        assert parts.total("cells") == len(CELLS) >= CELLS_MIN
        assert parts.total("injections") >= INJECTIONS_MIN


@pytest.mark.parametrize("operation", [Operation.OPEN, Operation.PREAD, Operation.CLOSE], ids=str)
def test_changes_fail_with_errors_of_ours(operation):
    fs = FaultFS(MemFS(reserve_bytes_max=RESERVE_BYTES))
    with open_tiny(fs) as db:
        db.put(b"a", b"1")
        fs.rule = FaultRule(operation=operation, fault=Fault.EIO, pattern="*.log")
        try:
            assert [change.key for change in db.changes()] == [b"a"]
        except lsm.Error:
            assert fs.injected
        finally:
            fs.heal()


def test_a_table_that_does_not_open_is_closed():
    for nth in range(INDEX_MAX):
        run = play_with(FaultRule(operation=Operation.PREAD, fault=Fault.EIO, nth=nth))
        assert not run.fs.leaked(), f"pread {nth} fails"
        if not run.fs.injected:
            break


def test_close_lets_everything_go_though_closing_fails():
    for nth in range(INDEX_MAX):
        run = play_with(FaultRule(operation=Operation.CLOSE, fault=Fault.EIO, nth=nth, sticky=True))
        assert not run.fs.leaked(), f"close {nth} fails, and all after it"
        if not run.fs.injected:
            break


class CountingFS(FaultFS):
    """Ends a loop without an end."""

    def open(self, name: str, cause: Cause = Cause.READ) -> FaultyReadFile:
        assert self.calls[Operation.OPEN] < INDEX_MAX, "it opens the same file for ever"
        return super().open(name, cause)


def test_changes_of_a_damaged_log_end():
    fs = CountingFS(MemFS(reserve_bytes_max=RESERVE_BYTES))
    with open_tiny(fs) as db:
        fs.rule = FaultRule(operation=Operation.APPEND, fault=Fault.LIE, pattern="*.log")
        db.put(b"a", b"1")
        db.put(b"b", b"2")
        with pytest.raises(lsm.Error):
            list(db.changes())


# A full disk

FULL = {
    "log append": FaultRule(operation=Operation.APPEND, fault=Fault.ENOSPC, pattern="*.log", sticky=True),
    "half a log append": FaultRule(
        operation=Operation.APPEND, fault=Fault.SHORT_WRITE, pattern="*.log", sticky=True
    ),
    "log reserve": FaultRule(operation=Operation.CREATE, fault=Fault.ENOSPC, pattern="*.log", sticky=True),
    "log sync": FaultRule(operation=Operation.SYNC, fault=Fault.ENOSPC, pattern="*.log", sticky=True),
    "manifest": FaultRule(operation=Operation.APPEND, fault=Fault.ENOSPC, pattern="MANIFEST*", sticky=True),
    "table": FaultRule(operation=Operation.APPEND, fault=Fault.ENOSPC, pattern="*.sst", sticky=True),
    "table, quota": FaultRule(operation=Operation.APPEND, fault=Fault.EDQUOT, pattern="*.sst", sticky=True),
    "everything": FaultRule(operation=Operation.APPEND, fault=Fault.ENOSPC, sticky=True),
}


def write_until_full(db: DB, held: dict[bytes, bytes]) -> None:
    """Put and flush until the disk is full; note what was acknowledged."""
    for number in range(1000):
        key, value = b"w%03d" % number, b"%d" % number + b"v" * 40
        db.put(key, value)
        held[key] = value
        if number % 5 == 4:
            db.flush()


@pytest.mark.parametrize("where", FULL)
def test_a_full_disk_can_be_resumed(where):
    disk = MemFS(reserve_bytes_max=RESERVE_BYTES)
    fs = FaultFS(disk)
    db = open_tiny(fs)
    held = {b"old": b"from before"}
    db.put(b"old", held[b"old"])
    db.flush()
    fs.rule = FULL[where]

    for _ in range(2):  # the second time it is known already
        with pytest.raises(lsm.DiskFull):
            write_until_full(db, held)
        assert dict(db.scan()) == held
        assert all(db.get(key) == value for key, value in held.items())
    if db._state.failure is not None:
        with pytest.raises(lsm.Error):
            db.resume()  # still full
        assert dict(db.scan()) == held

    fs.heal()
    db.resume()
    db.put(b"new", b"after")
    held[b"new"] = b"after"
    db.compact()
    assert dict(db.scan()) == held
    db.close()
    with open_tiny(MemFS.from_image(disk.image()), clock=StepClock()) as db:
        assert dict(db.scan()) == held
    with open_tiny(MemFS.from_image(durable_image(disk.log)), clock=StepClock()) as db:
        assert dict(db.scan()) == held
    assert verify_on(disk).is_sound


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 16 MiB: a log segment alone reserves 4."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", path], check=True)
    yield path
    gc.collect()
    subprocess.run(["umount", path], check=True)


def fill_up(db: DB, held: dict[bytes, bytes]) -> None:
    for number in range(100_000):
        key, value = b"%06d" % number, b"%06d" % (number * 7919 % 1_000_003) * 160
        db.put(key, value, sync=number % 16 == 0)
        held[key] = value


def test_a_real_disk_fills_up_and_is_resumed(small_disk):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(6 * 1024 * 1024))
    held: dict[bytes, bytes] = {}
    with lsm.open(small_disk / "store", background="manual", memtable_bytes_max=65536) as db:
        with pytest.raises(lsm.DiskFull) as caught:
            fill_up(db, held)
        assert caught.value.errno == errno.ENOSPC
        assert dict(db.scan()) == held
        ballast.unlink()
        db.resume()
        for number in range(50):
            key = b"n%03d" % number
            db.put(key, key * 10)
            held[key] = key * 10
        assert dict(db.scan()) == held
    with lsm.open(small_disk / "store", "w", background="manual") as db:
        assert dict(db.scan()) == held
    assert lsm.verify(small_disk / "store").is_sound
