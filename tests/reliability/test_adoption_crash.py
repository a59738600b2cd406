"""Crashes while tables are taken over: nothing half, nothing twice, no leftovers after the next opening."""

import pytest

import lsm
from lsm.adoption import Load, adopt, stage_columns
from lsm.filenames import parse
from lsm.verify import verify_on
from sstable import TableOptions
from tests.lsm.test_adoption import columns
from tests.reliability.scoreboard import announce
from tests.reliability.sync_sites import skipping_functions
from tests.reliability.tiny import RESERVE_BYTES, StepClock, held, open_tiny
from tests.support.crash import crash_states
from tests.support.memfs import MemFS
from tests.support.mutants import syncs_at

BEFORE = {b"a": b"1", b"b": b"2", b"e": b"5"}
MEMORY = {b"c": b"3"}
ROWS = {b"%03d" % number: b"v" * 20 for number in range(30)}
LOADED = [[(b"b", b"loaded"), (b"c", b"loaded")], [(b"d", b"loaded"), (b"e", None)]]
JOB = ("job", 1)


def stage(fs, db):
    names = []
    for number, rows in enumerate(LOADED):
        names.append(f"part-{number}")
        stage_columns(
            fs.sibling("stage"),
            names[-1],
            [columns(*rows)],
            TableOptions(),
            store_id=db._state.version.store_id,
            time_us=1,
        )
    return tuple(names)


def load(fs, db, names, *, replaces):
    how = Load(source=fs.sibling("stage"), names=names, keyspace=0, replaces=replaces, transaction=JOB)
    return adopt(db._state, db._committer, db._background, how)


def result(*, replaces):
    loaded = {key: value for rows in LOADED for key, value in rows if value is not None}
    return loaded if replaces else {b"a": b"1", **loaded}


def told(*, replaces, skip=None):
    """Return the disk of a store that takes a load over, and what was staged for it."""
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES, skip_syncs=skip)
    with held(open_tiny(fs, clock=StepClock(), log_retention="all")) as db:
        db.update(BEFORE)
        db.flush()
        db.update(MEMORY)
        fs.log.ack(1)
        names = stage(fs, db)
        fs.log.issue(2)
        load(fs, db, names, replaces=replaces)
        fs.log.ack(2)
        db[b"z"] = b"after"
        fs.log.ack(3)
    return fs, {name: fs.sibling("stage").open(name).read_upto(0, 1 << 20) for name in names}


def explored(fs, stagings, *, replaces, since=1):
    """Open every image that a crash may leave; return how many there are, and what was found.

    `since` is the promise that must have been given by then.
    """
    after = result(replaces=replaces)
    outcomes, checked = set(), set()
    for state in crash_states(fs.log):
        if state.acked < since or (state.digest, state.acked) in checked:
            continue
        checked.add((state.digest, state.acked))
        outcomes.add(check(state, stagings, tuple(stagings), after, replaces=replaces))
    return len(checked), outcomes


@pytest.mark.parametrize("replaces", [False, True])
def test_a_load_is_whole_or_not_there(replaces, capsys):
    images, outcomes = explored(*told(replaces=replaces), replaces=replaces)

    announce(capsys, f"adoption crash: images={images} outcomes={sorted(outcomes)}")
    assert outcomes == {"before", "after"}


def test_no_sync_of_an_adoption_can_be_left_out():
    """Of the bytes that are staged, and of the directory with the names of all tables of the load."""
    fs, _ = told(replaces=True)
    sites = [site for site in fs.log.sites() if site.function.startswith("lsm.adoption")]
    assert [site.function for site in sites] == ["lsm.adoption.staging.stage_columns"]
    names = skipping_functions(
        "sync_dir", "lsm.segments.create_segment", "lsm.commit_whole.StoreCommitter._skip"
    )

    for skip in (*map(syncs_at, sites), names):
        with pytest.raises((AssertionError, lsm.CorruptionError)):
            explored(*told(replaces=True, skip=skip), replaces=True, since=2)


def bulk_loaded(skip=None):
    """Return the disk of a store that was handed rows to load at once."""
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES, skip_syncs=skip)
    with held(open_tiny(fs, clock=StepClock())) as db:
        db.bulk_load(ROWS)
        fs.log.ack(1)
    return fs


def check_bulk_load(fs):
    for state in crash_states(fs.log):
        if state.acked:
            with held(open_tiny(MemFS.from_image(state.image, reserve_bytes_max=RESERVE_BYTES))) as db:
                assert dict(db) == ROWS


def test_rows_that_were_loaded_at_once_survive_and_need_the_sync_of_their_tables():
    fs = bulk_loaded()
    check_bulk_load(fs)
    (site,) = [site for site in fs.log.sites() if site.function.startswith("lsm.adoption")]

    with pytest.raises((AssertionError, lsm.CorruptionError)):
        check_bulk_load(bulk_loaded(syncs_at(site)))


def check(state, stagings, names, after, *, replaces):
    disk = MemFS.from_image(state.image, reserve_bytes_max=RESERVE_BYTES)
    staging = disk.sibling("stage")
    for name, data in stagings.items():
        staging._names[name] = disk.disk.new_inode(data).ino
    with held(open_tiny(disk, log_retention="all")) as db:
        found = dict(db)
        late = found.pop(b"z", None)
        is_loaded = found != BEFORE | MEMORY
        assert found == (after if is_loaded else BEFORE | MEMORY)
        assert is_loaded or state.acked < 2
        assert late is not None or state.acked < 3
        assert verify_on(disk).problems == ()
        tables = {number for kind, number in map(parse, filter(parse, disk.list())) if kind == "sst"}
        assert tables == set(db._state.version.all_tables())
        assert [change.seq for change in db.changes()] == list(range(1, db.seq + 1))
        assert load(disk, db, names, replaces=replaces).is_new is not is_loaded
        again = dict(db)
        assert again.pop(b"z", None) == (None if replaces and not is_loaded else late)
        assert again == after
    return "after" if is_loaded else "before"
