"""Opens every image that a crash of a story may leave, and checks what comes out.

An image is recovered once, however many moments lead to it; each moment then asks its own question:
at least what was acknowledged, at most what was begun, and exactly a state that once was.
"""

import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import lsm
from compaction import check_levels
from lsm.db import DB
from lsm.filenames import CURRENT, LOCK, manifest_name, parse, segment_name, table_name
from lsm.manifest import read_current, read_manifest
from lsm.segments import read_segment
from lsm.verify import verify_on
from tests.reliability.model import DEFAULT, EMPTY, Found, Model
from tests.reliability.reading import Violation, read_all
from tests.reliability.story import CLOSED, COPIED, EDIT, EDITED, OPENED, SHOWN, Story
from tests.reliability.tiny import RESERVE_BYTES, held, open_tiny
from tests.support.crash import CrashState, Image, Tearing, crash_states, image_digest
from tests.support.memfs import MemFS
from tests.support.oplog import OpLog, Sync
from wal import Ending

OPEN_SECONDS_MAX = 10.0
READ_ONE_IN = 3  # where not every image is opened: of those that are, so many by a reader too
PRODUCT_MAX = 100_000  # enough for every story here: nothing is left out


@dataclass(slots=True)
class Figures:
    """What an exploration did; sets, so that parts can be put together."""

    states: int = 0  # images built
    opened: set[bytes] = field(default_factory=set)  # different ones that were recovered
    opened_again: set[bytes] = field(default_factory=set)  # of crashes in recovery
    capped: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        return (
            f"crash: states={self.states} distinct={len(self.opened)} depth2={len(self.opened_again)} "
            f"capped={self.capped} seconds={self.seconds:.1f}"
        )

    def add(self, other: "Figures") -> None:
        self.states += other.states
        self.opened |= other.opened
        self.opened_again |= other.opened_again
        self.capped += other.capped
        self.seconds += other.seconds


class Explorer:
    """Recovers images, remembers what each led to, and counts.

    `one_in` and `one_in_again` open only so many of the images of a crash, and of a crash in recovery.
    The choice falls by digest, so it is the same every time; one image of every set of names is always
    among them.  With 1 every image is opened.
    """

    def __init__(
        self, *, tearing: Tearing = "sector", depth: int = 2, one_in: int = 1, one_in_again: int = 1
    ) -> None:
        self.figures = Figures()
        self._tearing: Tearing = tearing
        self._depth = depth
        self._one_in = one_in
        self._one_in_again = one_in_again
        self._names: set[tuple[str, ...]] = set()
        self._found: dict[bytes, Found] = {}
        self._found_again: dict[bytes, Found] = {}
        self._settled: set[bytes] = set()
        self._crashed_again: set[tuple[bytes, ...]] = set()

    def explore(self, story: Story, name: str) -> None:
        """Check every crash of a story, of its checkpoints, and every kill between its steps."""
        started = time.perf_counter()
        for state in self._states(story.log):
            if self._is_chosen(state):
                with explained(name, state.image, story.log, state.cut):
                    check_window(story.model, state, self.recovered(state.image, state.digest))
        for number, survivor in enumerate(story.survivors):
            with explained(f"{name}, killed after step {number}", survivor.image, story.log, len(story.log)):
                found = self.recovered(survivor.image, image_digest(survivor.image))
                expect("a kill loses nothing", survivor.expected, found)
        for copy, expected in story.copies.items():
            for state in self._states(story.log, directory=copy):
                with explained(f"{name}, {copy}", state.image, story.log, state.cut):
                    check_copy(state, copy, expected)
        self.figures.seconds += time.perf_counter() - started

    def _states(self, log: OpLog, directory: str = "mem") -> Iterator[CrashState]:
        states = crash_states(log, tearing=self._tearing, directory=directory, product_max=PRODUCT_MAX)
        yield from states
        self.figures.states += states.states
        self.figures.capped += states.capped

    def _is_chosen(self, state: CrashState) -> bool:
        if self._one_in == 1 or state.digest in self._found or state.digest[0] % self._one_in == 0:
            return True
        names = tuple(state.image)
        is_new = names not in self._names
        self._names.add(names)
        return is_new

    def recovered(self, image: Image, digest: bytes) -> Found:
        """Return what the store in an image holds once it is open."""
        found = self._found.get(digest)
        if found is None:
            found = self._found[digest] = self._recover(image)
            self.figures.opened.add(digest)
            if self._one_in == 1 or digest[1] % READ_ONE_IN == 0:
                expect("read-only and writing handles agree", read_only(image) or EMPTY, found)
        return found

    def _recover(self, image: Image) -> Found:
        fs = MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)
        with held(opened(fs)) as db:
            recovery = OpLog([*fs.log.ops], fs.log.base_names, fs.log.base_bytes)
            after = image_digest(fs.image())
            is_new = after not in self._settled
            found = read_all(db, every_path=is_new)
            if is_new:
                self._settled.add(after)
                check_structure(fs, db, image)
                check_changes(db, found)
                check_goes_on(fs, db, found)
        if self._depth > 1 and self._is_new_recovery(image, after):
            self.crash_again(recovery, found, self._depth)
        return found

    def _is_new_recovery(self, image: Image, after: bytes) -> bool:
        """Tell whether no image with these names led to this store before: only tears may differ."""
        kind = (after, *(name.encode() for name in sorted(image)))
        # The first one in any case: where there are few, the digests may choose none.
        is_chosen = not self._crashed_again or zlib.crc32(b"".join(kind)) % self._one_in_again == 0
        is_new = kind not in self._crashed_again and is_chosen
        self._crashed_again.add(kind)
        return is_new

    def crash_again(self, recovery: OpLog, found: Found, depth: int) -> None:
        """Check every crash of a recovery: the next one must find the same (I6, I7)."""
        states = crash_states(recovery, tearing=self._tearing)
        for state in states:
            with explained("crash in recovery", state.image, recovery, state.cut):
                again = self._recovered_again(state, found, depth)
                expect("a crash in recovery changes nothing", found, again)
        self.figures.capped += states.capped

    def _recovered_again(self, state: CrashState, found: Found, depth: int) -> Found:
        again = self._found.get(state.digest) or self._found_again.get(state.digest)
        if again is None:
            fs = MemFS.from_image(state.image, reserve_bytes_max=RESERVE_BYTES)
            with held(opened(fs)) as db:
                again = self._found_again[state.digest] = read_all(db, every_path=False)
            self.figures.opened_again.add(state.digest)
            if depth > 2 and self._is_new_recovery(state.image, image_digest(fs.image())):
                self.crash_again(fs.log, found, depth - 1)
        return again


def opened(fs: MemFS) -> DB:
    """Open a crashed store: it must work, and soon (I1)."""
    started = time.process_time()  # of this process alone: other programs may be there, too
    try:
        db = open_tiny(fs)
    except Exception as error:  # whatever it is, a crash must not lead to it
        raise Violation(f"a crashed store does not open: {error!r}") from error
    if time.process_time() - started > OPEN_SECONDS_MAX:
        raise Violation(f"opening took {time.process_time() - started:.1f} s")
    return db


def read_only(image: Image) -> Found | None:
    """Return what a reader sees, None where there is no store yet; it must change nothing."""
    fs = MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)
    try:
        db = open_tiny(fs, "r")
    except lsm.StoreNotFound:
        return None
    except Exception as error:  # as above
        raise Violation(f"a crashed store cannot be read: {error!r}") from error
    with held(db):
        found = read_all(db, every_path=False)
    if any(not isinstance(op, Sync) for op in fs.log.ops):
        raise Violation(f"a reader changed the disk: {fs.log.ops}")
    return found


def check_window(model: Model, state: CrashState, found: Found) -> None:
    """Raise unless the store is one that may be found at this moment (I2, I3, I4, I16)."""
    marks = state.marks
    if marks.get(CLOSED, 0) > marks.get(OPENED, 0):
        check_closed(state.image)
    least = max(state.acked, marks.get(SHOWN, 0))
    for number in range(least, state.issued + 1):
        if model.seq_of(number) == found.seq:
            edits = range(marks.get(EDITED, 0), marks.get(EDIT, 0) + 1)
            legal = [model.at(number, edit) for edit in edits]
            if found not in legal:
                raise Violation(f"batch {number} was recovered as {found}, legal are {legal}")
            return
    raise Violation(
        f"recovered up to {found.seq}, which is none of the batches {least} to {state.issued}: "
        f"{[model.seq_of(number) for number in range(least, state.issued + 1)]}"
    )


def check_closed(image: Image) -> None:
    """Raise unless a store that was closed in order says so: a flipped bit is always seen then (P6)."""
    fs = MemFS.from_image(image)
    manifest = read_manifest(fs, read_current(fs))
    if not (manifest.is_closed and manifest.version.is_closed):
        raise Violation("the manifest of a closed store has no close marker")
    for meta in manifest.version.segments:
        if meta.last_seq is None or read_segment(fs, manifest.version, meta).end.ending is not Ending.CLOSED:
            raise Violation(f"log segment {meta.number} of a closed store has no close marker")


def check_copy(state: CrashState, copy: str, expected: Found) -> None:
    """Raise unless a checkpoint is whole once it was acknowledged, and whole or no store before (I12)."""
    is_complete = f"{COPIED} {copy}" in state.marks
    try:
        db = open_tiny(MemFS.from_image(state.image, reserve_bytes_max=RESERVE_BYTES), "w")
    except lsm.Error:
        if is_complete:
            raise Violation("a checkpoint does not open") from None
        return
    with held(db):
        found = read_all(db)
    expect("a checkpoint is whole", expected, found)
    if is_complete:
        check_closed(state.image)


def check_structure(fs: MemFS, db: DB, before: Image) -> None:
    """Raise unless the files are those of the manifest and agree with it (I8, I9)."""
    version = db._state.version
    names = {CURRENT, LOCK, manifest_name(db._state.manifest.number)}
    names |= {segment_name(meta.number) for meta in version.segments}
    names |= {table_name(number) for number in version.tables()}
    expect("files are those of the manifest", sorted(names), fs.list())
    numbers = [numbered[1] for name in {*before, *fs.list()} if (numbered := parse(name)) is not None]
    if db._state.next_number <= max(numbers, default=0):
        raise Violation(f"number {db._state.next_number} would be used again: {sorted(numbers)}")
    for meta in version.keyspaces.values():
        check_levels(meta.levels)
    report = verify_on(fs)
    if not report.is_sound:
        raise Violation(f"verify: {report.problems}")


def check_changes(db: DB, found: Found) -> None:
    """Raise unless the log, read as changes, is without a gap and ends where the store stands (I4)."""
    version = db._state.version
    since = version.segments[0].first_seq - 1
    if db.options.log_retention == "all":
        expect("everything stays in the log", 0, since)
    last: dict[tuple[str, bytes], bytes | None] = {}
    seqs = []
    has_past = version.history_seq is not None and since == 0
    for change in db.changes(since, before=has_past):
        seqs.append(change.seq)
        if has_past:
            expect(
                "a change replaces the one before it", last.get((change.keyspace, change.key)), change.before
            )
        last[change.keyspace, change.key] = change.value
    expected = list(range(since + 1, found.seq + 1))
    if version.next_keyspace > len(found.contents):  # writes to a dropped keyspace are left out
        expected = sorted(set(seqs) & set(expected))
    expect("changes have no gap", expected, seqs)
    held = {(name, key): found.contents[name].get(key) for name, key in last if name in found.contents}
    expect("changes lead to what is there", held, {where: last[where] for where in held})


def check_goes_on(fs: MemFS, db: DB, found: Found) -> None:
    """Write, compact, close and reopen: nothing may come back or go missing (I5, I8, I15)."""
    db.put(b"on", b"and on")
    default = {**found.contents[DEFAULT], b"on": b"and on"}
    expected = Found(found.seq + 1, {**found.contents, DEFAULT: default})
    expect("the next write has the next sequence number", expected.seq, db.seq)
    db.compact()
    expect("compaction changes nothing", expected, read_all(db))
    check_changes(db, expected)
    db.close()
    if not verify_on(fs).is_sound:
        raise Violation(f"verify after close: {verify_on(fs).problems}")
    with held(opened(fs)) as again:
        expect("closing changes nothing", expected, read_all(again))


def expect(claim: str, expected: object, found: object) -> None:
    if expected != found:
        raise Violation(f"not true: {claim}: expected {expected}, found {found}")


class explained:  # noqa: N801  # reads as a clause: with explained(...)
    """Keeps the image of a violation, and says how to look at it again."""

    def __init__(self, name: str, image: Image, log: OpLog, cut: int) -> None:
        self._case = (name, image, log, cut)

    def __enter__(self) -> None:
        """Do nothing; this is entered for every image."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Violation):
            name, image, log, cut = self._case
            folder = keep(image, log, cut)
            again = f"python -m tests.reliability.replay {folder}"
            raise Violation(
                f"{name}, crash after {cut} of {len(log)} operations: {error}\nagain: {again}"
            ) from error


def keep(image: Image, log: OpLog, cut: int) -> Path:
    """Write an image and the operations before it to a folder, and return that."""
    folder = Path(tempfile.gettempdir()) / f"lsm-crash-{image_digest(image).hex()[:12]}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "image").mkdir(parents=True)
    for name, data in image.items():
        (folder / "image" / name).write_bytes(data)
    (folder / "operations.txt").write_text("\n".join(map(repr, log.ops[:cut])))
    return folder
