"""Crashes while tables are taken over: nothing half, nothing twice, no leftovers after the next opening."""

import pytest

from lsm.adoption import Load, adopt, stage_columns
from lsm.filenames import parse
from lsm.verify import verify_on
from sstable import TableOptions
from tests.lsm.test_adoption import columns
from tests.reliability.scoreboard import announce
from tests.reliability.tiny import RESERVE_BYTES, StepClock, held, open_tiny
from tests.support.crash import crash_states
from tests.support.memfs import MemFS

BEFORE = {b"a": b"1", b"b": b"2", b"e": b"5"}
MEMORY = {b"c": b"3"}
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


@pytest.mark.parametrize("replaces", [False, True])
def test_a_load_is_whole_or_not_there(replaces, capsys):
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES)
    clock = StepClock()
    with held(open_tiny(fs, clock=clock, log_retention="all")) as db:
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
    stagings = {name: fs.sibling("stage").open(name).read_upto(0, 1 << 20) for name in names}
    after = result(replaces=replaces)
    outcomes, checked = set(), set()
    for state in crash_states(fs.log):
        if state.acked < 1 or (state.digest, state.acked) in checked:
            continue
        checked.add((state.digest, state.acked))
        outcomes.add(check(state, stagings, names, after, replaces=replaces))
    announce(capsys, f"adoption crash: images={len(checked)} outcomes={sorted(outcomes)}")
    assert outcomes == {"before", "after"}


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
