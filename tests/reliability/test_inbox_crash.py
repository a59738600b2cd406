"""Crashes while a job of the inbox is left, taken and answered: nothing half, nothing twice, no leftovers.

The store and the directory of the job are two directories of one disk: what is opened are pairs of images
that one moment may leave of them.
"""

import random

import pytest

import lsm
from lsm.adoption.job import DONE, JOB, Job, Outcome, leave, parse_taken, read_note
from lsm.adoption.submit import _take_back
from lsm.filenames import parse
from lsm.verify import verify_on
from tests.lsm.test_inbox import stage
from tests.reliability.scoreboard import announce
from tests.reliability.tiny import RESERVE_BYTES, StepClock, held, open_tiny
from tests.support.crash import CrashStates, _digest
from tests.support.memfs import MemFS
from tests.support.mutants import syncs_at
from tests.support.oplog import Mark

BEFORE = {b"a": b"1", b"b": b"2", b"e": b"5"}
MEMORY = {b"c": b"3"}
PARTS = [[(b"b", b"loaded"), (b"c", b"loaded")], [(b"d", b"loaded"), (b"e", None)]]
ROWS = sum(map(len, PARTS))
AFTER = {b"a": b"1", b"b": b"loaded", b"c": b"loaded", b"d": b"loaded"}
PLACE = "mem/inbox/job"
LEFT, TAKEN_OVER, LATE = 1, 2, 3
COMBINATIONS = 8


def moments(log, directories):
    """Yield, at every moment, the marks so far and an image of each directory; each set once."""
    disks = [CrashStates(log, "sector", 6, 100, directory) for directory in directories]
    rng = random.Random(len(log.ops))
    seen = set()
    acked = 0
    for op in log.ops:
        if isinstance(op, Mark):
            acked = max(acked, op.number) if op.kind == "ack" else acked
        for disk in disks:
            if not isinstance(op, Mark):
                disk._disk.apply(op)
        if not acked:
            continue
        for images in together(rng, *(list(disk._images()) for disk in disks)):
            key = (acked, *map(_digest, images))
            if key not in seen:
                seen.add(key)
                yield acked, [{name: content.data for name, content in image.items()} for image in images]


def together(rng, *directories):
    """Yield images of all directories: nothing arrived, everything did, and some of what is between."""
    yield tuple(images[0] for images in directories)
    yield tuple(images[-1] for images in directories)
    for _ in range(COMBINATIONS - 2):
        yield tuple(rng.choice(images) for images in directories)


def leave_job(fs, store_id, transaction):
    place = fs.sibling(PLACE)
    for number, rows in enumerate(PARTS):
        stage(place, f"{number}.sst", rows, store_id)
    names = tuple(f"{number}.sst" for number in range(len(PARTS)))
    job = Job(store_id=store_id.hex(), keyspace="default", names=names, transaction=transaction)
    leave(place, job)


def taken_over(transaction, skip=None):
    """Return the disk of a store that takes a job out of its inbox."""
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES, skip_syncs=skip)
    fs.sibling("mem/inbox")
    with held(open_tiny(fs, clock=StepClock(), log_retention="all")) as db:
        db.update(BEFORE)
        db.flush()
        db.update(MEMORY)
        leave_job(fs, db._state.version.store_id, transaction)
        fs.log.ack(LEFT)
        while db.step():
            pass
        assert dict(db) == AFTER
        fs.log.ack(TAKEN_OVER)
        db[b"z"] = b"after"
        fs.log.ack(LATE)
    return fs


def explored(fs):
    """Return where a job may stand on disk after a crash, one item an image; each of them must be right."""
    return [check(acked, store, place) for acked, (store, place) in moments(fs.log, ["mem", PLACE])]


@pytest.mark.parametrize("transaction", [None, ("job", 7)])
def test_a_job_is_done_once_whenever_the_writer_dies(transaction, capsys):
    stood_at = explored(taken_over(transaction))

    announce(capsys, f"inbox crash: images={len(stood_at)} found={sorted(set(stood_at))}")
    assert {"waiting", "taken", "answered"} <= set(stood_at)


def check(acked, store, place):
    disk = MemFS.from_image(store, reserve_bytes_max=RESERVE_BYTES)
    disk.sibling("mem/inbox")
    box = disk.sibling(PLACE)
    for name, data in place.items():
        box._names[name] = disk.disk.new_inode(data).ino
    stood_at = "answered" if DONE in place else "waiting" if JOB in place else "taken"
    with held(open_tiny(disk, log_retention="all")) as db:
        found = dict(db)
        late = found.pop(b"z", None)
        assert found == AFTER
        assert late is not None or acked < LATE
        expected = len(BEFORE) + len(MEMORY) + ROWS + (late is not None)
        assert db.seq == expected, "not twice"
        assert [change.seq for change in db.changes()] == list(range(1, expected + 1))
        assert Outcome.decode(read_note(box, DONE)).error == ""
        waiting = [name for name in box.list() if name == JOB or parse_taken(name) is not None]
        assert not waiting or stood_at == "answered", "what is answered is swept"
        assert verify_on(disk).problems == ()
        tables = {number for kind, number in map(parse, filter(parse, disk.list())) if kind == "sst"}
        assert tables == set(db._state.version.all_tables())
        assert db.step() in (True, False)
        assert db.seq == expected
    return stood_at


def explored_while_left(skip=None):
    """Return how many rows a store may find of a job that a crash interrupted while it was being left."""
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES, skip_syncs=skip)
    fs.sibling("mem/inbox")
    with held(open_tiny(fs, clock=StepClock())) as db:
        fs.log.ack(LEFT)
        leave_job(fs, db._state.version.store_id, None)
    store = fs.image()
    outcomes = set()
    for _, (place,) in moments(fs.log, [PLACE]):
        disk = MemFS.from_image(store, reserve_bytes_max=RESERVE_BYTES)
        disk.sibling("mem/inbox")
        box = disk.sibling(PLACE)
        for name, data in place.items():
            box._names[name] = disk.disk.new_inode(data).ino
        with held(open_tiny(disk)) as db:
            assert dict(db) in ({}, {key: value for rows in PARTS for key, value in rows if value})
            outcomes.add(len(db))
            assert not box.exists(DONE) or Outcome.decode(read_note(box, DONE)).error == ""
    return outcomes


def test_a_job_that_was_not_left_durably_is_whole_or_not_there():
    assert explored_while_left() == {0, 3}


def test_no_sync_of_a_job_can_be_left_out(capsys):
    sites = [site for site in taken_over(None).log.sites() if site.function.startswith("lsm.adoption")]
    survivors = [site for site in sites if not is_killed(syncs_at(site))]
    announce(capsys, f"inbox syncs: killed={len(sites) - len(survivors)} of {len(sites)}")
    assert survivors == []


def is_killed(skip):
    for explore in (lambda: explored(taken_over(None, skip)), lambda: explored_while_left(skip)):
        try:
            explore()
        except (AssertionError, lsm.Error, OSError):
            return True
    return False


def images_after_taking_back(skip=None):
    """Return what a crash may leave of a job's directory after its owner was told that nobody took it."""
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES, skip_syncs=skip)
    leave_job(fs, bytes(16), None)
    assert _take_back(fs.sibling(PLACE))
    fs.log.ack(LEFT)
    return [place for _, (place,) in moments(fs.log, [PLACE])], fs.log.sites()


def test_a_job_that_was_taken_back_does_not_come_back_after_a_crash():
    images, sites = images_after_taking_back()
    assert images and not any(JOB in place for place in images)
    (site,) = [site for site in sites if site.function == "lsm.adoption.submit._take_back"]

    assert any(JOB in place for place in images_after_taking_back(syncs_at(site))[0])
