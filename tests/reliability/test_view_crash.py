"""Crashes of stores with views: what is left of a view is the fold over the log up to its position, exactly.

Every image that a crash may leave is opened by a reader and by a writer.  The state that is found must be
what the fold of its version makes of the recorded history up to the position that is found with it; the
position must not be before the last one that was acknowledged; and folding on must lead to the whole.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import lsm
from lsm.db import DB
from lsm.views import View, folding, folds
from lsm.views.books import Books
from lsm.views.entry import Entry
from tests.lsm.view_models import failing, folded, history, mirror, system_names, tally
from tests.reliability.tiny import RESERVE_BYTES, StepClock, held, let_go, open_tiny
from tests.support.crash import CrashState, Image, crash_states
from tests.support.memfs import MemFS

POSITION = "position"  # a mark: the view's position that a refresh has returned with
BASE = Path(__file__).parent.parent.parent
FOLDS = {1: tally, 2: mirror, 3: folds.latest_by(lambda change: change.value[:1])}


class Telling:
    """A store with one view on a recorded disk, and all the changes that were ever made to it."""

    def __init__(self, **options: object) -> None:
        self.fs = MemFS(reserve_bytes_max=RESERVE_BYTES)
        self.options = {"log_retention": "all", "memtable_bytes_max": 1024, **options}
        self.clock = StepClock()
        self.past: list[lsm.Change] = []
        self.count = 0
        self.earliest = 1  # of the log, in the end
        self.db: DB
        self.view: View
        self.open()

    def open(self) -> None:
        self.db = open_tiny(self.fs, clock=self.clock, **self.options)

    def register(self, version: int = 1, faults: set[int] | None = None) -> View:
        self.version = version
        fold = FOLDS[version]
        self.view = self.db.view("v", version=version)(failing(fold, faults) if faults else fold)
        return self.view

    def put(self, *keys: bytes) -> None:
        """Put some keys in one batch; values are all different."""
        with self.db.batch() as batch:
            for key in keys:
                self.count += 1
                batch.put(key, b"%d" % self.count)
        self.note()

    def delete(self, key: bytes) -> None:
        self.db.delete(key)
        self.note()

    def note(self) -> None:
        self.past += self.db.changes(self.past[-1].seq if self.past else 0)

    def refresh(self) -> None:
        self.view.refresh()
        self.fs.log.mark(POSITION, self.view.position)

    def reopen(self) -> None:
        self.db.close()
        self.open()
        self.register(self.version)


def committed(story: Telling) -> None:
    story.register()
    story.put(b"a")
    story.put(b"b", b"c", b"a")
    story.refresh()
    story.put(b"a")
    story.delete(b"b")
    story.put(b"d")
    story.refresh()


def flushed(story: Telling) -> None:
    story.put(b"a", b"b")
    story.register()
    story.refresh()
    story.db.flush()
    story.put(b"c")
    story.refresh()
    story.db.compact()
    story.put(b"a")
    story.refresh()


def reopened(story: Telling) -> None:
    story.register()
    story.put(b"a")
    story.refresh()
    story.reopen()
    story.put(b"a")
    story.refresh()
    story.reopen()


def another_version(story: Telling) -> None:
    story.register(1)
    story.put(b"a", b"b")
    story.put(b"a")
    story.refresh()
    story.register(2)
    story.refresh()
    story.put(b"c")
    story.refresh()


def rebuilt(story: Telling) -> None:
    story.register(1)
    story.put(b"a", b"b")
    story.put(b"a")
    story.refresh()
    story.view.rebuild("earliest")
    story.put(b"b")
    story.refresh()


def bootstrapped(story: Telling) -> None:
    story.register(2)
    story.put(b"a", b"b")
    story.put(b"a")
    story.refresh()
    story.delete(b"b")
    story.view.rebuild("bootstrap")
    story.put(b"b")
    story.refresh()


def stopped_and_mended(story: Telling) -> None:
    story.register(1, faults={4, 5})
    story.put(b"a", b"b")
    story.put(b"a", b"c", b"d")
    with suppress(lsm.ViewFailed):
        story.view.refresh()
    story.register(1)
    story.refresh()


def dropped(story: Telling) -> None:
    """No marks: what was acknowledged of a view that is dropped does not count."""
    story.register(1)
    story.put(b"a")
    story.view.refresh()
    story.db.drop_view("v")
    story.register(2)
    story.put(b"b")
    story.view.refresh()


STORIES: list[Callable[[Telling], None]] = [
    committed,
    flushed,
    reopened,
    another_version,
    rebuilt,
    bootstrapped,
    stopped_and_mended,
    dropped,
]


def told(tell: Callable[[Telling], None], **options: object) -> Telling:
    story = Telling(**options)
    try:
        tell(story)
        story.note()
        story.earliest = story.db.log.earliest
    finally:
        let_go(story.db)
    return story


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "CHUNK_CHANGES", 2)


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_every_crash_leaves_a_view_that_is_the_fold_up_to_its_position(tell):
    explore(told(tell))


@pytest.mark.parametrize("tell", [committed, rebuilt, bootstrapped], ids=lambda tell: tell.__name__)
def test_also_where_nobody_syncs(tell):
    explore(told(tell, sync="os"))


SHORT = {"log_retention": "limits", "log_retention_bytes": 0}


def short_log(story: Telling) -> None:
    """The history is gone before there is a view: it is made from a bootstrap, twice."""
    story.put(b"a", b"b", b"x")
    story.db.flush()
    story.put(b"a")
    story.register(2)
    story.refresh()
    story.put(b"c")
    story.delete(b"x")
    story.db.flush()
    story.refresh()
    story.register(3)
    story.refresh()
    story.put(b"b")
    story.refresh()


def trimmed(story: Telling) -> None:
    """The log goes behind a view that counts its history: no crash may take away what it still needs."""
    story.register(1)
    for key in (b"a", b"b", b"a"):
        story.put(key, b"x")
        story.db.flush()
        story.refresh()  # the position that lets the log go is the last thing in the log
        while story.db.step():
            pass
    story.put(b"c")


@pytest.mark.parametrize("sync", ["always", "os"])
@pytest.mark.parametrize("tell", [short_log, trimmed], ids=lambda tell: tell.__name__)
def test_also_where_the_log_goes_as_soon_as_it_may(tell, sync):
    story = told(tell, sync=sync, **SHORT)
    assert story.earliest > 1
    explore(story)


@pytest.mark.slow
@pytest.mark.parametrize("memtable_bytes_max", [256, 1024])
@pytest.mark.parametrize("sync", ["always", "os"])
@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
def test_all_images(tell, sync, memtable_bytes_max):
    explore(told(tell, sync=sync, memtable_bytes_max=memtable_bytes_max), images_max=100)


@pytest.mark.slow
@pytest.mark.parametrize("memtable_bytes_max", [256, 1024])
def test_all_images_of_a_short_log(memtable_bytes_max):
    explore(told(short_log, memtable_bytes_max=memtable_bytes_max, **SHORT), images_max=100)


def _two_batches(books: Books, entry: Entry, *rest: object, sync: bool | None = None) -> Entry:
    if len(rest) == 2 and rest[1]:
        books.add(*rest)
    return COMMIT(books, entry, sync=sync)


def _never_synced(books: Books, entry: Entry, *rest: object, sync: bool | None = None) -> Entry:
    return COMMIT(books, entry, *rest)


COMMIT = Books.commit


@pytest.mark.parametrize(
    ("mutant", "tell", "sync"),
    [(_two_batches, committed, "always"), (_never_synced, rebuilt, "os")],
    ids=["state and position apart", "the old state goes before the switch is durable"],
)
def test_mutants_are_found(monkeypatch, mutant, tell, sync):
    monkeypatch.setattr(Books, "commit", mutant)
    with pytest.raises((AssertionError, lsm.KeyspaceNotFound)):
        explore(told(tell, sync=sync), images_max=30)


def explore(story: Telling, *, images_max: int = 4) -> None:
    """Check images of every moment at which a story may crash, so many of each, chosen by their digest."""
    moments: dict[int, list[CrashState]] = {}
    for state in crash_states(story.fs.log):
        moments.setdefault(state.cut, []).append(state)
    positions: dict[bytes, int | None] = {}
    for states in moments.values():
        for state in sorted(states, key=lambda state: state.digest)[:images_max]:
            if state.digest not in positions:
                positions[state.digest] = check_reader(story, state.image)
                check_writer(story, state.image, positions[state.digest])
            found = positions[state.digest] or 0
            assert story.options.get("sync") == "os" or found >= state.marks.get(POSITION, 0)
    assert len(positions) > 20


def check_reader(story: Telling, image: Image) -> int | None:
    """Return the position of the view in an image, None without one; its state must be that position's."""
    fs = MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)
    try:
        db = open_tiny(fs, "r")
    except lsm.StoreNotFound:
        return None
    with held(db):
        if not db.views():
            return None
        view = db.open_view("v")
        with view.snapshot() as snapshot:
            check_state(story, dict(snapshot), view.version, snapshot.position)
            return snapshot.position


def check_writer(story: Telling, image: Image, position: int | None) -> None:
    fs = MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)
    with held(open_tiny(fs, **story.options)) as db:
        last_seq = db.seq
        past = [one for one in story.past if one.seq <= last_seq]
        if position is not None:
            before = db.open_view("v")
            assert before.position == position
            check_state(story, dict(before), before.version, position)
        view = db.view("v", version=story.version)(FOLDS[story.version])
        assert len(system_names(db)) <= 2  # served, and half built
        view.refresh()
        assert dict(view) == folded(FOLDS[story.version], past)
        if story.version != 1 or db.log.earliest == 1:  # what counts its history needs it to be verified
            assert view.verify().is_sound
        assert len(system_names(db)) == 1
        db.put(b"on", b"1")
        assert view.refresh() == 1
        assert dict(view) == folded(FOLDS[story.version], [*past, *db.changes(last_seq)])


def check_state(story: Telling, state: dict[bytes, bytes], version: int | None, position: int) -> None:
    past = [one for one in story.past if one.seq <= position]
    assert state == ({} if version is None else folded(FOLDS[version], past)), f"at {position}"


# A real writer that is killed: views in the background and by hand, in a process of their own.

CHILD = """
import sys, lsm
from tests.lsm.view_models import mirror, tally
path, start = sys.argv[1], int(sys.argv[2])
with lsm.open(path, memtable_bytes_max="64KiB", log_retention="all") as db:
    counts = db.view("tally", background=True)(tally)
    copy = db.view("mirror", version=start % 3 + 1)(mirror)
    print("open", flush=True)
    for number in range(start, start + 10**6):
        with db.batch() as batch:
            for at in range(3):
                batch.put(b"%d" % ((number * 7 + at) % 97), b"%d" % number)
        if number % 5 == 0:
            copy.refresh()
            print("at", copy.position, flush=True)
"""


def test_a_killed_writer_loses_and_doubles_nothing(tmp_path, seed):
    path, number = tmp_path / "db", seed % 1000
    for round_ in range(4):
        acked = run_and_kill(path, number, lines=4 + (seed + round_) % 40)
        number += 1000
        assert check_beside(path) >= acked, f"seed {seed}"
    with lsm.open(path) as db:
        for name, fold in (("tally", tally), ("mirror", mirror)):
            view = db.view(name, version=db.open_view(name).version)(fold)
            view.refresh()
            assert dict(view) == folded(fold, history(db))
            assert view.verify().is_sound


def check_beside(path: Path) -> int:
    """Look at both views from outside, whether the writer is alive or not; return the position of one."""
    with lsm.open(path, "r") as db:
        for name, fold in (("tally", tally), ("mirror", mirror)):
            with db.open_view(name).snapshot() as snapshot:
                assert dict(snapshot) == folded(fold, history(db, snapshot.position)), name
        return db.open_view("mirror").position


def run_and_kill(path: Path, number: int, lines: int) -> int:
    """Let a child write until it has printed so many lines; return the last position it was sure of."""
    environment = {**os.environ, "PYTHONPATH": str(BASE)}
    command = [sys.executable, "-c", CHILD, str(path), str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
        assert child.stdout is not None
        acked = 0
        for line, _ in zip(child.stdout, range(lines), strict=False):
            if line.startswith("at "):
                acked = int(line.split()[1])
        assert check_beside(path) >= acked
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    return acked
