"""Crashes in the middle of what consumers do: a position is the old or the new one, and no change is lost.

Every image that a crash may leave is opened.  `issue` and `ack` number the commits: a position that was
acknowledged is there, and none that was never begun.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

import lsm
from lsm.db import DB
from lsm.opening import Flag
from lsm.options import OptionValue
from tests.reliability.tiny import held, open_tiny
from tests.support.crash import CrashState, Image, crash_states
from tests.support.memfs import MemFS
from tests.support.mutants import SyncCall, SyncPredicate

OUTPUT = "output"
NAME = "c"
# Every flush lets go of all log that nobody has pinned.
NO_LOG: dict[str, OptionValue] = {"log_retention_bytes": 0}
ALL_LOG: dict[str, OptionValue] = {"log_retention": "all"}


@dataclass(frozen=True)
class Found:
    """What a crash has left of a consumer: None as its position if there is none."""

    position: int | None
    is_dropped: bool
    seen: tuple[bytes, ...]
    output: frozenset[bytes]


def numbered(number: int) -> bytes:
    return b"%03d" % number


def prepared(count: int, **options: OptionValue) -> MemFS:
    """Return a disk, all of it durable, with a store that holds `count` changes."""
    fs = MemFS(reserve_bytes_max=0)
    with open_tiny(fs, **options) as db:
        db.keyspace(OUTPUT)
        for number in range(count):
            db.put(numbered(number), b"v")
    return MemFS.from_image(fs.image(), reserve_bytes_max=0)


@contextmanager
def begun(fs: MemFS, flag: Flag = "c", **options: OptionValue) -> Iterator[DB]:
    """Open a store and begin to record there: crashes of opening have tests of their own."""
    with held(open_tiny(fs, flag, **options)) as db:
        begin(fs)
        yield db


def begin(fs: MemFS) -> None:
    """Take everything that has happened so far for durable."""
    fs.log.ops.clear()
    fs.log.base_names = {fs.name: dict(fs._names)}
    fs.log.base_bytes = {ino: bytes(inode.data) for ino, inode in fs.disk.inodes.items()}


def recovered(image: Image, **options: OptionValue) -> Found:
    """Open what a crash has left, beside nobody and for writing; both must find the same consumer."""
    with held(open_tiny(MemFS.from_image(image, reserve_bytes_max=0), "r")) as db:
        beside = position_of(db)
    with held(open_tiny(MemFS.from_image(image, reserve_bytes_max=0), **options)) as db:
        position, is_dropped = position_of(db)
        assert (position, is_dropped) == beside
        seen: list[bytes] = []
        if position is not None and not is_dropped:
            try:
                seen = go_on(db, position)
            except lsm.ConsumerDropped:
                is_dropped = True  # told so; just now, if the crash came before it
        return Found(position, is_dropped, tuple(seen), frozenset(db.keyspace(OUTPUT)))


def go_on(db: DB, position: int) -> list[bytes]:
    """Return what the consumer gets that was at `position`, to the end."""
    seen: list[bytes] = []
    with db.consumer(NAME, start=None) as consumer:
        assert consumer.position == position
        while changes := consumer.poll():
            seen += [change.key for change in changes if change.keyspace != OUTPUT]
        consumer.commit()
    return seen


def position_of(db: DB) -> tuple[int | None, bool]:
    infos = {info.name: info for info in db.consumers()}
    if NAME not in infos:
        return None, False
    assert not infos[NAME].problem
    return infos[NAME].position, infos[NAME].is_dropped


def explore(
    fs: MemFS, check: Callable[[CrashState, Found], None], one_in: int = 1, **options: OptionValue
) -> int:
    """Check crashes of what was done on a disk; return how many different ones were opened.

    Of all that there are, one in so many: chosen by digest, so the same every time, and one of every set of
    names among them.
    """
    found: dict[bytes, Found] = {}
    names: set[tuple[str, ...]] = set()
    for state in crash_states(fs.log, product_max=200):
        is_known = tuple(state.image) in names
        names.add(tuple(state.image))
        if is_known and state.digest[0] % one_in and state.digest not in found:
            continue
        if state.digest not in found:
            found[state.digest] = recovered(state.image, **options)
        check(state, found[state.digest])
    print(f"{len(found)} different crashes")
    return len(found)


some_or_all = pytest.mark.parametrize("one_in", [12, pytest.param(1, marks=pytest.mark.slow)])


class Commits:
    """Numbers commits for the harness, and knows which position each leads to."""

    def __init__(self, fs: MemFS, position: int | None) -> None:
        self._fs = fs
        self.positions = [position]

    def expecting(self, position: int | None) -> "Commits":
        self.positions.append(position)
        return self

    def __enter__(self) -> None:
        self._fs.log.issue(len(self.positions) - 1)

    def __exit__(self, *_: object) -> None:
        self._fs.log.ack(len(self.positions) - 1)

    def legal(self, state: CrashState) -> list[int | None]:
        return self.positions[state.acked : state.issued + 1]


def check_position(commits: Commits) -> Callable[[CrashState, Found], None]:
    def check(state: CrashState, found: Found) -> None:
        assert found.position in commits.legal(state)

    return check


# Commits


@some_or_all
@pytest.mark.parametrize("sync", ["always", "os"])
def test_a_commit_in_the_writer(sync, one_in):
    fs = prepared(9, sync=sync, **ALL_LOG)
    commits = Commits(fs, None)
    with begun(fs, sync=sync, **ALL_LOG) as db:
        with commits.expecting(0):
            consumer = db.consumer(NAME)
        for position in (2, 4, 6):
            consumer.poll(2)
            with commits.expecting(position):
                consumer.commit()
        with commits.expecting(3):
            consumer.seek(3)

    def check(state: CrashState, found: Found) -> None:
        assert found.position in commits.legal(state)
        if found.position is not None:
            assert found.seen == tuple(numbered(number) for number in range(found.position, 9))

    assert explore(fs, check, one_in) > 20


@some_or_all
@pytest.mark.parametrize("sync", ["always", "os"])
def test_output_and_position_are_both_there_or_both_not(sync, one_in):
    """Exactly once, over every crash, whether batches are synced at once or by the system's leave."""
    fs = prepared(8, sync=sync)
    commits = Commits(fs, None)
    with begun(fs, sync=sync) as db:
        with commits.expecting(0):
            consumer = db.consumer(NAME)
        for position in (2, 4, 8):
            changes = consumer.poll(position - consumer.position)
            with commits.expecting(position), db.batch() as batch:
                for change in changes:
                    batch.put(change.key, b"seen", keyspace=OUTPUT)
                consumer.commit(batch=batch)

    def check(state: CrashState, found: Found) -> None:
        legal = commits.positions[: state.issued + 1] if sync == "os" else commits.legal(state)
        assert found.position in legal
        assert found.output == {numbered(number) for number in range(found.position or 0)}
        if found.position is not None:
            assert found.seen == tuple(numbered(number) for number in range(found.position, 8))

    assert explore(fs, check, one_in, sync=sync) > 20


def test_a_commit_beside_the_writer():
    fs = prepared(9)
    commits = Commits(fs, None)
    with begun(fs, "r") as db:
        with commits.expecting(0):
            consumer = db.consumer(NAME)
        for position in (2, 4, 6):
            consumer.poll(2)
            with commits.expecting(position):
                consumer.commit()
        with commits.expecting(3):
            consumer.seek(3)

    def check(state: CrashState, found: Found) -> None:
        assert found.position in commits.legal(state)
        if found.position is not None:
            assert found.seen == tuple(numbered(number) for number in range(found.position, 9))

    assert explore(fs, check) > 20


@some_or_all
def test_a_consumer_that_moves_between_the_writer_and_a_reader(one_in):
    fs = prepared(9)
    commits = Commits(fs, None)
    with begun(fs) as db, held(open_tiny(fs, "r")) as reader:
        for position, handle in enumerate((db, reader, reader, db, db, reader)):
            with commits.expecting(position):
                consumer = handle.consumer(NAME)  # taking it over may be a write, and changes nothing
            with consumer:
                assert consumer.position == position
                consumer.poll(1)
                with commits.expecting(position + 1):
                    consumer.commit()

    assert explore(fs, check_position(commits), one_in) > 20


# Removing


@some_or_all
@pytest.mark.parametrize("where", ["writer", "reader", "both"])
def test_a_consumer_that_is_removed_is_there_or_not(where, one_in):
    fs = prepared(5)
    with held(open_tiny(fs)) as db, held(open_tiny(fs, "r")) as reader:
        for handle in {"writer": [db], "reader": [reader], "both": [db, reader]}[where]:
            with handle.consumer(NAME) as consumer:
                consumer.poll(2)
                consumer.commit()
        db.sync()
    fs = MemFS.from_image(fs.image(), reserve_bytes_max=0)
    position = 4 if where == "both" else 2
    commits = Commits(fs, position)
    with begun(fs) as db, commits.expecting(None):
        db.drop_consumer(NAME)
    explore(fs, check_position(commits), one_in)

    fs = MemFS.from_image(fs.image(), reserve_bytes_max=0)
    with held(open_tiny(fs)) as db:
        db.consumer(NAME, start=3).close()
    fs = MemFS.from_image(fs.image(), reserve_bytes_max=0)
    commits = Commits(fs, 3)
    with begun(fs, "r") as reader, commits.expecting(None):
        reader.drop_consumer(NAME)
    with held(open_tiny(fs)):
        pass  # and the writer removes what is left of it
    assert explore(fs, check_position(commits), one_in) > 3


# Retention


def settle(db: DB) -> None:
    db.flush()
    while db.step():
        pass


def retention_story(where: str, sync: str, skip: SyncPredicate | None = None) -> tuple[MemFS, Commits]:
    """Let a consumer commit, in the writer with its output or beside it, and the log be trimmed behind it."""
    options: dict[str, OptionValue] = {**NO_LOG, "sync": sync}
    fs = prepared(0, **options)
    fs.disk.skip_syncs = skip
    commits = Commits(fs, None)
    with begun(fs, **options) as db, held(open_tiny(fs, "r")) as reader:
        with commits.expecting(0):
            consumer = (db if where == "c" else reader).consumer(NAME)
        base = db.seq
        for number in range(0, 9, 3):
            for one in range(number, number + 3):
                db.put(numbered(one), b"v")
            db.flush()
            done = consumer.poll(3)[-1].seq
            if where == "c":
                # Not synced by itself, if the store is not: retention has to see to it.
                with db.batch() as batch:
                    fs.log.issue(len(commits.positions))
                    commits.expecting(done)
                    consumer.commit(batch=batch)
            else:
                with commits.expecting(done):
                    consumer.commit()
            while db.step():
                pass
        assert db.log.earliest > base + 3
    return fs, commits


def check_retention(commits: Commits) -> Callable[[CrashState, Found], None]:
    def check(state: CrashState, found: Found) -> None:
        assert found.position in commits.positions[: state.issued + 1]
        assert not found.is_dropped  # polling from there has not raised: nothing that it needs is gone

    return check


@some_or_all
@pytest.mark.parametrize("where", ["c", "r"])
@pytest.mark.parametrize("sync", ["always", "os"])
def test_no_crash_brings_back_a_position_whose_log_is_gone(where, sync, one_in):
    fs, commits = retention_story(where, sync)

    assert explore(fs, check_retention(commits), one_in, **NO_LOG, sync=sync) > 30


@some_or_all
@pytest.mark.parametrize("where", ["c", "r"])
def test_a_drop_is_durable_before_the_log_goes(where, one_in):
    """After any crash the consumer is dropped and told so, or can read all that it has not seen."""
    fs = prepared(2, **NO_LOG)
    with begun(fs, **NO_LOG) as db, held(open_tiny(fs, "r")) as reader:
        (db if where == "c" else reader).consumer(NAME, max_lag_bytes=300).close()
        for number in range(2, 12):
            db.put(numbered(number), b"v" * 20)
        settle(db)
        assert [info.is_dropped for info in db.consumers()] == [True]
        assert db.log.earliest > 3

    def check(state: CrashState, found: Found) -> None:
        if found.position is not None and not found.is_dropped:
            assert found.seen == tuple(numbered(number) for number in range(len(found.seen)))
            assert len(found.seen) >= 2

    assert explore(fs, check, one_in, **NO_LOG) > 30


# The tests above find a sync that is missing


@pytest.mark.parametrize("kind", ["sync", "sync_dir"])
def test_a_position_file_without_its_syncs_is_caught(kind):
    def skip(call: SyncCall) -> bool:
        return call.kind == kind and call.site.function.endswith("ConsumerFiles.write")

    fs = MemFS.from_image(prepared(9).image(), reserve_bytes_max=0, skip_syncs=skip)
    commits = Commits(fs, None)
    with begun(fs, "r") as db:
        with commits.expecting(0):
            consumer = db.consumer(NAME)
        consumer.poll(2)
        with commits.expecting(2):
            consumer.commit()

    assert fs.disk.skipped
    with pytest.raises((AssertionError, lsm.Error)):
        explore(fs, check_position(commits))


def test_retention_that_trusts_an_unsynced_position_is_caught():
    """When the store leaves syncing to the system, the log is synced before segments go, and only there."""

    def skip(call: SyncCall) -> bool:
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_name != "trim":
            frame = frame.f_back
        return frame is not None and call.name.endswith(".log")

    fs, commits = retention_story("c", "os", skip)

    assert fs.disk.skipped
    with pytest.raises((AssertionError, lsm.Error)):
        explore(fs, check_retention(commits), 12, **NO_LOG, sync="os")
