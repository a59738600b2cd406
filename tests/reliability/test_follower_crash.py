"""Crashes of a copy at every moment: it is always a beginning of its source, and goes on to be the same."""

import gc
import inspect
import io
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import lsm
from lsm.filenames import BOOTSTRAP, CURRENT
from lsm.follower.api import apply_on
from lsm.follower.bootstrap import begin, holds_copy
from lsm.follower.follower import follow_on
from lsm.follower.source import SourceLog
from lsm.log.offsets import earliest, latest
from lsm.manifest import read_current, read_manifest
from lsm.segments import read_segment
from lsm.verify import verify_on
from tests.lsm.followers import Contents, Pair, contents
from tests.lsm.hookfs import HookFS
from tests.reliability.reading import Violation
from tests.reliability.tiny import RESERVE_BYTES, StepClock, let_go, open_tiny
from tests.support.crash import CrashState, Image, crash_states, random_crash_state
from tests.support.memfs import MemFS
from tests.support.mutants import SyncCall, SyncPredicate
from tests.support.oplog import Append, Link, Op, Reserve, Site, Sync, SyncDir

TAKEN = "taken"  # the copy has acknowledged this sequence number
PROMOTED = "promoted"
QUIET = Site("quiet", 0)
# One image in so many is opened, and always one of every set of names; a release opens more.
ONE_IN = {"followed": 80, "shipped": 40, "made": 4, "made_anew": 4, "handed_over": 4}
ONE_IN_OF_A_RELEASE = 4


class Skipping:
    """Which syncs the disks of scenes leave out: none, but for mutants."""

    predicate: SyncPredicate | None = None

    @contextmanager
    def of(self, function: str, line: int = 0) -> Iterator[None]:
        """Leave out the syncs that a function asks for, itself or through others, or one line of it."""

        def skips(_: SyncCall) -> bool:
            frame = sys._getframe(1)
            while frame is not None:
                first = frame.f_code.co_firstlineno
                if frame.f_code.co_name == function and line in (0, frame.f_lineno - first):
                    return True
                frame = frame.f_back
            return False

        self.predicate = skips
        try:
            yield
        finally:
            self.predicate = None


skipping = Skipping()


class Scene:
    """A source and its copy on one disk, whose history is recorded from a quiet moment on."""

    def __init__(self, **options: lsm.options.OptionValue) -> None:
        self.pair = Pair(**options)
        self.pair.fs.disk.reserve_bytes_max = RESERVE_BYTES
        self.pair.fs.disk.skip_syncs = skipping.predicate
        self.log = self.pair.fs.log
        self.start = 0
        self.source: MemFS
        self.expected: Contents

    def quiet(self) -> None:
        """Forget how it came to what there is: all of that is durable."""
        disk, sizes = self.pair.fs.disk, dict[int, int]()
        for op in self.log.ops:
            if isinstance(op, Append):
                sizes[op.ino] = op.offset + len(op.data)
        ops: list[Op] = []
        for ino, inode in disk.inodes.items():
            data = inode.content()
            ops += [Append(ino, 0, data[: sizes.get(ino, 0)]), Reserve(ino, len(data)), Sync(ino, QUIET)]
        for directory, names in disk.directories.items():
            for name, ino in names.items():
                ops += [Link(directory, name, ino), SyncDir(directory, QUIET)]
        self.log.ops[:] = ops
        self.start = len(ops)

    def taken(self, seq: int) -> None:
        self.log.mark(TAKEN, seq)

    def finish(self, source: str = "source") -> None:
        """Keep what the source is in the end."""
        self.source = MemFS.from_image(self.pair.dir(source).image())
        with self.pair.open(source) as db:
            self.expected = contents(db, db.log.earliest - 1)

    @contextmanager
    def told(self) -> Iterator[None]:
        gc.disable()  # when a collection falls decides which files nobody reads any more
        try:
            yield
        finally:
            gc.enable()


def followed() -> Scene:
    """The copy takes what comes in many small steps: puts, batches, keyspaces, flushes of its own."""
    scene = Scene()
    pair = scene.pair
    with scene.told():
        pair.write(2)
        pair.follow().close()
        scene.quiet()
        with pair.follow() as follower:
            for number in range(2, 5):
                pair.write(1, number)
                scene.taken(follower.catch_up())
            pair.db.keyspace("third").put(b"k", b"v")
            scene.taken(follower.catch_up())
            pair.db.drop_keyspace("third")
            scene.taken(follower.catch_up())
            follower.db.flush()
        pair.db.close()
    scene.finish()
    return scene


def made() -> Scene:
    """The copy is made of links, then takes what is left."""
    scene = Scene(log_retention="limits")
    pair = scene.pair
    with scene.told():
        pair.write(8)
        scene.quiet()
        with pair.follow() as follower:
            scene.taken(follower.catch_up())
        pair.db.close()
    scene.finish()
    return scene


def made_anew() -> Scene:
    """The copy fell behind, and is made again in place."""
    scene = Scene(log_retention="limits")
    pair = scene.pair
    with scene.told():
        pair.write(2)
        with pair.follow() as follower:
            follower.catch_up()
        pair.write(10, 2)
        scene.quiet()
        with pair.follow(bootstrap_again=True) as follower:
            scene.taken(follower.catch_up())
        pair.db.close()
    scene.finish()
    return scene


def shipped() -> Scene:
    """The copy comes over a stream: a snapshot, then the log, then another stream."""
    scene = Scene(log_retention="limits")
    pair = scene.pair
    with scene.told():
        pair.write(10)
        assert earliest(pair.db._state.version) > 1
        first, at = pair.ship(), pair.db.seq
        pair.db.put(b"k", b"v")
        second = pair.ship(at)
        scene.quiet()
        scene.taken(pair.apply(first))
        scene.taken(pair.apply(second))
        pair.db.close()
    scene.finish()
    return scene


def handed_over() -> Scene:
    """An old copy follows the one that was promoted, over the border of the epochs."""
    scene = Scene()
    pair = scene.pair
    with scene.told():
        pair.write(2)
        with pair.follow() as follower:
            follower.catch_up()
        pair.write(1, 2)
        pair.db.close()
        with pair.promoted("first") as first:
            first.put(b"k", b"new")
            scene.quiet()
            with pair.follow("first") as follower:
                scene.taken(follower.catch_up())
    scene.finish("first")
    return scene


SCENES: dict[str, Callable[[], Scene]] = {
    scene.__name__: scene for scene in (followed, made, made_anew, shipped, handed_over)
}


def chosen(scene: Scene, one_in: int) -> Iterator[CrashState]:
    """Yield the crash states that are looked at; which ones falls by digest, so it is the same every time."""
    seen: set[tuple[str, ...]] = set()
    for state in crash_states(scene.log, directory="copy"):
        if state.cut < scene.start:
            continue
        names = tuple(sorted(state.image))
        if names not in seen or state.digest[0] % one_in == 0:
            seen.add(names)
            yield state


def copy_in(image: Image) -> MemFS:
    return MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)


def check_beginning(state: CrashState, scene: Scene) -> None:
    """Raise unless what the crash left is no store yet, or the source at one of its numbers."""
    fs = copy_in(state.image)
    taken = state.marks.get(TAKEN, 0)
    if BOOTSTRAP in state.image and CURRENT not in state.image:
        with pytest.raises(lsm.FollowerError):
            open_tiny(fs)
    if not holds_copy(fs):
        assert not taken, "a copy that was acknowledged is gone"
        return
    copy = SourceLog(fs, StepClock())
    seq = latest(copy)
    assert taken <= seq <= scene.expected.seq
    assert copy.version.follows
    with open_tiny(copy_in(state.image), "r") as db:
        assert db.seq == seq
        since = min(seq, max(earliest(db._state.version), scene.expected.changes[0].seq) - 1)
        known = {*db.keyspaces()} & {*scene.expected.pairs}  # what was dropped later is not told any more
        ours = [change for change in db.changes(since) if change.keyspace in known]
        theirs = [change for change in scene.expected.changes if since < change.seq <= seq]
        assert ours == [change for change in theirs if change.keyspace in known]


def check_goes_on(state: CrashState, scene: Scene) -> None:
    """Raise unless the copy, taken up again, is the same as its source in the end, with nothing twice."""
    fs = copy_in(state.image)
    follower = follow_on(scene.source, fs, clock=StepClock(), bootstrap_again=True)
    try:
        follower.catch_up()
        db = follower.db
        found = contents(db, db.log.earliest - 1)
        assert found[:3] == scene.expected[:3]
        seqs = [change.seq for change in scene.expected.changes if change.seq >= db.log.earliest]
        changes = [change for change in found.changes if change.seq in {*seqs}]
        assert changes == [change for change in scene.expected.changes if change.seq in {*seqs}]
        assert len(found.changes) == len({change.seq for change in found.changes})
        assert verify_on(fs).is_sound
    finally:
        let_go(follower.db)


@pytest.mark.parametrize("name", SCENES)
def test_a_copy_that_crashed_is_a_beginning_and_goes_on_to_be_the_same(name):
    explore(name, ONE_IN[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_copy_that_crashed_goes_on_in_many_more_states(name):
    explore(name, ONE_IN_OF_A_RELEASE)


def explore(name: str, one_in: int) -> None:
    scene = SCENES[name]()
    count, went_on = 0, set()
    for state in chosen(scene, one_in):
        try:
            check_beginning(state, scene)
            if state.digest not in went_on:
                went_on.add(state.digest)
                check_goes_on(state, scene)
        except (AssertionError, lsm.Error) as error:
            raise Violation(f"{name}, crash after {state.cut} of {len(scene.log)}: {error!r}") from error
        count += 1
    assert count > 50


def test_a_stream_into_a_copy_that_crashed_goes_on():
    scene = shipped()
    streams = {}
    for since in (None, *range(scene.expected.changes[0].seq, scene.expected.seq + 1)):
        out = io.BytesIO()
        lsm.follower.api.ship_on(scene.source, out, since, clock=StepClock())
        streams[since] = out.getvalue()
    for state in chosen(scene, ONE_IN["shipped"]):
        fs = copy_in(state.image)
        if holds_copy(fs):
            at = latest(SourceLog(fs, StepClock()))
            stream = streams.get(at, streams[None])
        else:
            stream = streams[None]
        assert apply_on(io.BytesIO(stream), fs, clock=StepClock()) == scene.expected.seq
        with open_tiny(copy_in(fs.image()), "r") as db:
            assert contents(db, db.log.earliest - 1)[:3] == scene.expected[:3]


MUTANTS = {
    "append_shipped": ("followed", 0),  # records are durable before the copy says that it has them
    "_end_table": ("shipped", 0),  # a table is durable before it is named
    "start_epoch": ("handed_over", 0),  # epochs are durable before a record of them is taken
    "_put_in_force": ("made", 0),  # all files are durable before the copy is in force
}


@pytest.mark.parametrize("function", MUTANTS)
def test_a_sync_that_is_left_out_is_noticed(function):
    name, line = MUTANTS[function]
    with skipping.of(function, line), pytest.raises(Violation):
        explore(name, ONE_IN[name])


def begins():
    """Return the lines of `begin` that sync, counted from its first."""
    lines = inspect.getsource(begin).splitlines()
    return [number for number, line in enumerate(lines) if "sync_dir" in line]


@pytest.mark.parametrize("line", begins())
def test_an_old_copy_goes_step_by_step(line):
    with skipping.of("begin", line), pytest.raises(Violation):
        explore("made_anew", ONE_IN["made_anew"])


class Least(random.Random):
    """Draws the image of a crash that keeps nothing but what was durable."""

    def choice(self, seq):
        return seq[0]

    def random(self):
        return 1.0

    def randrange(self, *_):
        return 0


class Most(Least):
    """Draws the image of a crash that keeps everything."""

    def choice(self, seq):
        return seq[-1]

    def random(self):
        return 0.0

    def randrange(self, *_):
        return 1


@pytest.mark.parametrize("sync", ["always", "os"])
def test_a_copy_is_never_ahead_of_what_its_source_would_have_after_a_crash(sync):
    scene = Scene(sync=sync)
    pair = scene.pair
    with scene.told():
        scene.quiet()
        with pair.follow() as follower:
            for number in range(6):
                pair.write(1, number)
                follower.catch_up()
        pair.db.close()
    check_never_ahead(scene)


def check_never_ahead(scene: Scene) -> None:
    """Raise unless at every moment the source would be left with all that the copy could have."""
    for cut in range(scene.start, len(scene.log) + 1):
        source = random_crash_state(scene.log, Least(1), cut=cut, directory="source").image
        copy = random_crash_state(scene.log, Most(1), cut=cut, directory="copy").image
        fs = copy_in(copy)
        if holds_copy(fs):
            ours, theirs = SourceLog(fs, StepClock()), SourceLog(copy_in(source), StepClock())
            assert latest(ours) <= latest(theirs), f"after {cut} operations"
            there = {meta.id: meta.name for meta in theirs.version.keyspaces.values()}
            here = {meta.id: meta.name for meta in ours.version.keyspaces.values()}
            assert here.items() <= there.items(), f"after {cut} operations"


def test_a_keyspace_is_taken_only_once_the_manifest_that_has_it_is_durable():
    check_never_ahead(seen_early())


def test_a_manifest_that_is_believed_before_it_is_durable_is_noticed():
    with skipping.of("_sync_manifest"), pytest.raises(AssertionError, match="after"):
        check_never_ahead(seen_early())


def seen_early() -> Scene:
    """The copy looks at a manifest that was written and not yet synced."""
    scene = Scene()
    pair = scene.pair
    hooked = HookFS(pair.fs)
    with scene.told():
        pair.db.close()
        pair.db = open_tiny(hooked, "w", clock=pair.clock)
        with pair.follow() as follower:
            scene.quiet()

            def look(operation, name, _):
                if operation == "sync" and name.startswith("MANIFEST"):
                    hooked.hook = None
                    follower.catch_up()

            hooked.hook = look
            pair.db.keyspace("new")
            assert follower.db.keyspaces() == ["default", "new"]
        pair.db.close()
    return scene


# Hand-over


def promotion(*, writes_first: int) -> tuple[Scene, int]:
    scene = Scene()
    pair = scene.pair
    with scene.told():
        pair.write(2)
        follower = pair.follow()
        follower.catch_up()
        if writes_first:
            pair.write(writes_first, 2)
            follower.catch_up()
        else:
            follower.db.flush()  # so that the segment in use is empty
        last = follower.seq
        scene.quiet()
        db = follower.promote()
        scene.log.mark(PROMOTED, 1)
        db.put(b"own", b"1")
        scene.taken(last + 1)
        db.close()
        pair.db.close()
    scene.finish()
    return scene, last


@pytest.mark.parametrize("writes_first", [0, 1])
def test_a_promotion_happens_wholly_or_not_at_all(writes_first):
    scene, last = promotion(writes_first=writes_first)
    found = set()
    for state in crash_states(scene.log, directory="copy"):
        if state.cut < scene.start:
            continue
        fs = copy_in(state.image)
        version = read_manifest(fs, read_current(fs)).version
        found.add(version.follows)
        if version.follows:
            assert PROMOTED not in state.marks
            assert [epoch[:2] for epoch in version.epochs] == [(1, 1)]
        else:
            assert [epoch[:2] for epoch in version.epochs] == [(1, 1), (2, last + 1)]
        assert version.epoch == version.epochs[-1].number
        for meta in version.segments:
            assert read_segment(fs, version, meta).header.epoch == version.epoch_of(meta.first_seq)
        (check_still_follows if version.follows else check_writes)(scene, state, last)
    assert found == {True, False}


def check_still_follows(scene: Scene, state: CrashState, last: int) -> None:
    follower = follow_on(scene.source, copy_in(state.image), clock=StepClock())
    assert follower.seq == last
    with pytest.raises(lsm.ReadOnlyError):
        follower.db.put(b"k", b"v")
    assert contents(follower.db)[:3] == scene.expected[:3]
    let_go(follower.promote())


def check_writes(scene: Scene, state: CrashState, last: int) -> None:
    with pytest.raises(lsm.ForeignLog, match="older epoch"):
        follow_on(scene.source, copy_in(state.image), clock=StepClock())
    db = open_tiny(copy_in(state.image), "w")
    assert last + (TAKEN in state.marks) <= db.seq <= last + 1
    seq = db.seq
    db.put(b"k", b"v")
    assert db.seq == seq + 1
    let_go(db)
