"""A sync that failed is never trusted again: no write is acknowledged after it, in whatever crash (F2, P5).

Each run of the story fails another sync.  The proof is on images: every crash before, at and after the
failure recovers at least what was acknowledged.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

import lsm
from lsm.fs_types import Cause
from tests.reliability.explorer import Explorer, check_window, opened
from tests.reliability.model import DEFAULT
from tests.reliability.reading import read_all
from tests.reliability.story import Story
from tests.reliability.tiny import RESERVE_BYTES, held
from tests.support.crash import CrashState
from tests.support.faultfs import Fault, FaultFS, FaultRule, FaultyAppendFile, Operation
from tests.support.memfs import MemFS
from tests.support.oplog import Mark, OpLog

SYNCS_MAX = 200  # far more than the story has: the loop ends by itself


class ForgetfulFile(FaultyAppendFile):
    """As Linux has it: after a failed sync the pages count as clean, and go whenever memory is short."""

    synced = 0

    def sync(self) -> None:
        try:
            super().sync()
        except OSError:
            inode = self._inner._inode
            inode.data[self.synced :] = bytes(len(inode.data) - self.synced)
            inode.frozen = None
            raise
        self.synced = self.size


class ForgetfulFS(FaultFS):
    """Fails by rule, and forgets what a failed sync should have saved."""

    def create(self, name: str, cause: Cause, *, reserve_bytes: int = 0) -> FaultyAppendFile:
        self.fault(Operation.CREATE, name)
        return ForgetfulFile(self, self.inner.create(name, cause, reserve_bytes=reserve_bytes), name)


def steps(story: Story) -> Iterator[Callable[[], object]]:
    yield lambda: story.put(b"a")
    yield lambda: story.put(b"b", sync=False)
    yield lambda: story.put(b"c")
    yield lambda: story.create("side")
    yield lambda: story.batch(("side", b"x", True), (DEFAULT, b"a", False))
    yield story.flush
    yield lambda: story.put(b"d", sync=False)
    yield story.sync
    yield story.compact
    yield lambda: story.put(b"e", sync=False)
    yield story.reopen


def told(rule: FaultRule, fs_type: type[FaultFS] = FaultFS) -> Story:
    """Tell the story up to the failure and a little beyond; return it, let go of."""
    story = Story(wrap=lambda fs: fs_type(fs, rule))
    with story.told(), suppress(lsm.Error):
        story.open()
        for step in steps(story):
            failed = False
            try:
                step()
            except lsm.Error:
                failed = True
            if failed:
                _go_on(story)
                break
    return story


def _go_on(story: Story) -> None:
    """Try to write after the failure: a store that takes the write has to keep it."""
    with suppress(lsm.ClosedError):
        shown = dict(story.db.scan())
        with suppress(lsm.Error):
            story.put(b"f")
            return
        assert dict(story.db.scan()) == shown


@pytest.mark.parametrize("pattern", ["*.log", "MANIFEST-*", "*.sst", "CURRENT.tmp"])
@pytest.mark.parametrize("fs_type", [FaultFS, ForgetfulFS])
def test_nothing_is_acknowledged_on_a_failed_sync(pattern, fs_type):
    explorer = Explorer(depth=1, one_in=60)
    for nth in itertools.count():
        assert nth < SYNCS_MAX
        rule = FaultRule(operation=Operation.SYNC, fault=Fault.EIO, pattern=pattern, nth=nth)
        story = told(rule, fs_type)
        if not story.fs.injected:
            break
        story.survivors.clear()
        explorer.explore(story, f"sync {nth} of {pattern} failed")
        check_reopened(story)
    assert nth > 0


def test_nothing_is_acknowledged_on_a_failed_sync_of_the_directory():
    explorer = Explorer(depth=1, one_in=60)
    for nth in itertools.count():
        assert nth < SYNCS_MAX
        story = told(FaultRule(operation=Operation.SYNC_DIR, fault=Fault.EIO, nth=nth))
        if not story.fs.injected:
            break
        explorer.explore(story, f"sync {nth} of the directory failed")
        check_reopened(story)
    assert nth > 3


def check_reopened(story: Story) -> None:
    """Open what the page cache has become, without a crash: it is one of the legal states too."""
    fs = MemFS.from_image(story.disk.image(), reserve_bytes_max=RESERVE_BYTES)
    state = CrashState(fs.image(), b"", marks_of(story.log), len(story.log))
    with held(opened(fs)) as db:
        check_window(story.model, state, read_all(db))


def marks_of(log: OpLog) -> dict[str, int]:
    marks: dict[str, int] = {}
    for op in log.ops:
        if isinstance(op, Mark):
            marks[op.kind] = max(op.number, marks.get(op.kind, 0))
    return marks


def test_a_store_that_says_it_failed_takes_no_write():
    story = Story()
    with story.told():
        story.open()
        story.put(b"z")
        story.fs.rule = FaultRule(operation=Operation.SYNC, fault=Fault.EIO, pattern="MANIFEST-*")
        with pytest.raises(lsm.Error):
            story.db.keyspace("side")
        assert story.db.stats().background.failure

        with pytest.raises(lsm.ReadOnlyError):
            story.db.put(b"a", b"1")


@pytest.mark.parametrize(
    "fs_type",
    [
        FaultFS,
        pytest.param(
            ForgetfulFS,
        ),
    ],
)
def test_resume_notices_what_a_full_disk_forgot(fs_type):
    """ENOSPC out of a sync: what was written without a wish for a sync may be gone from the file."""
    story = Story(wrap=fs_type)
    with story.told():
        story.open(memtable_bytes_max=4096)
        story.put(b"a")
        story.put(b"b", sync=False)
        held = dict(story.db.scan())
        story.fs.rule = FaultRule(operation=Operation.SYNC, fault=Fault.ENOSPC, pattern="*.log")
        with pytest.raises(lsm.DiskFull):
            story.db.put(b"c", b"refused")
        story.fs.heal()
        with suppress(lsm.Error):
            story.db.resume()

        assert dict(story.db.scan()) == held
        if story.db._state.failure is None:
            story.put(b"d")
            assert story.db.seq == story.model.now.seq
            story.db.close()
            story.open()
            assert dict(story.db.scan()) == story.model.now.contents[DEFAULT]


def untold_closes() -> list[int]:
    """Return the calls of close() whose failure nobody heard of."""
    untold = []
    for nth in range(SYNCS_MAX):
        story = Story()
        story.fs.rule = FaultRule(operation=Operation.CLOSE, fault=Fault.EIO, pattern="[0-9M]*", nth=nth)
        try:
            with story.told():
                story.open()
                story.put(b"a")
                story.flush()
                story.close()
        except lsm.Error:
            continue
        if not story.fs.injected:
            break
        untold.append(nth)
    return untold


def test_an_error_of_close_is_told():
    assert untold_closes() == []


def test_an_error_of_close_that_is_ignored_is_found(monkeypatch):
    """LevelDB 1081."""
    close = FaultyAppendFile.close

    def careless(self):
        with suppress(OSError):
            close(self)

    monkeypatch.setattr(FaultyAppendFile, "close", careless)

    assert untold_closes()
