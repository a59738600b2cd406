"""The inbox of a store: what others have left there is taken over by its writer, each job once."""

import os
import threading
import time

import pytest

import lsm
from lsm.adoption import stage_columns
from lsm.adoption.inbox import COUNTER
from lsm.adoption.job import DONE, JOB, BadNote, Job, Outcome, parse_taken, read_note, taken_name, write_note
from lsm.adoption.submit import LoadRefused, LoadTimeout, hand_over, look_at
from lsm.fs_inbox import give_up, make_job, remove_job, sweep_jobs
from lsm.fs_types import Cause
from lsm.verify import verify_on
from sstable import TableOptions
from tests.lsm.test_adoption import columns
from tests.reliability.tiny import open_tiny
from tests.support.memfs import MemFS


class Boxed:
    """A store in memory, and jobs in its inbox."""

    def __init__(self):
        self.fs = MemFS()
        self.db = open_tiny(self.fs, log_retention="all")
        self.fs.sibling("mem/inbox")

    def reopen(self):
        self.db.close()
        self.db = open_tiny(self.fs, log_retention="all")

    def place(self, name):
        return self.fs.sibling(f"mem/inbox/{name}")

    def leave(self, name, *parts, **how):
        """Leave a job with parts of rows."""
        place = self.place(name)
        names = [f"{number}.sst" for number in range(len(parts))]
        for file, rows in zip(names, parts, strict=True):
            stage(place, file, rows, self.store_id)
        fields = {"store_id": self.store_id.hex(), "keyspace": "default", "names": tuple(names)} | how
        write_note(place, JOB, Job(**fields).encode())
        return place

    @property
    def store_id(self):
        return self.db._state.version.store_id


def stage(place, name, rows, store_id):
    stage_columns(place, name, [columns(*rows)], TableOptions(), store_id=store_id, time_us=1)


def outcome(place):
    return Outcome.decode(read_note(place, DONE))


@pytest.fixture
def boxed():
    made = Boxed()
    yield made
    made.db.close()


def test_a_step_takes_a_job_over_and_says_so(boxed):
    boxed.db[b"a"] = b"old"
    place = boxed.leave("job", [(b"a", b"1"), (b"b", b"2")], [(b"c", None)])

    while boxed.db.step():
        pass

    assert dict(boxed.db) == {b"a": b"1", b"b": b"2"}
    assert outcome(place) == Outcome(first_seq=2, last_seq=4, is_new=True)
    assert place.list() == [DONE], "its files have names in the store now"
    assert boxed.db.stats().background.loads == 1
    assert boxed.db.step() is False
    boxed.reopen()
    assert dict(boxed.db) == {b"a": b"1", b"b": b"2"}
    assert boxed.db.seq == 4
    assert verify_on(boxed.fs).is_sound


def test_what_was_left_while_nobody_wrote_is_there_after_opening(boxed):
    boxed.db.close()
    first = boxed.leave("1", [(b"a", b"1")])
    second = boxed.leave("2", [(b"a", b"2")])

    boxed.db = open_tiny(boxed.fs)

    assert boxed.db.seq == 2
    assert outcome(first).is_new
    assert outcome(second).is_new
    assert boxed.db._state.version.transactions == {COUNTER: 2}


def test_a_writer_that_is_held_back_adopts_nothing(boxed):
    """It has the turn already, which adopting needs."""
    boxed.leave("job", [(b"a", b"1")])

    boxed.db.update({b"%d" % n: bytes(100) for n in range(30)})
    for n in range(50):
        boxed.db[b"%d" % n] = bytes(100)

    assert b"a" not in boxed.db
    while boxed.db.step():
        pass
    assert b"a" in boxed.db


def test_jobs_may_replace_have_a_keyspace_and_a_transaction(boxed):
    boxed.db[b"a"] = b"old"
    boxed.leave("1", [(b"b", b"1")], replaces=True)
    boxed.leave("2", [(b"x", b"1")], keyspace="orders", transaction=("app", 5))
    again = boxed.leave("3", [(b"x", b"2")], keyspace="orders", transaction=("app", 5))
    while boxed.db.step():
        pass

    assert dict(boxed.db) == {b"b": b"1"}
    assert dict(boxed.db.keyspace("orders")) == {b"x": b"1"}
    assert outcome(again) == Outcome(is_new=False)
    assert boxed.db.stats().background.loads == 2


@pytest.mark.parametrize(
    ("parts", "how", "problem"),
    [
        ([[(b"a", b"1"), (b"c", b"1")], [(b"b", b"1")]], {}, "overlap"),
        ([[(b"a", b"1")]], {"store_id": "00" * 16}, "another store"),
        ([[(b"a", b"1")]], {"names": ("missing.sst",)}, "missing"),
        ([[(b"a", b"1")]], {"names": ("../../000003.sst",)}, "not a plain file name"),
        ([[(b"a", b"1")]], {"names": ("0.sst", "0.sst")}, "overlap"),
        ([[(b"a", b"1")]], {"keyspace": "lsm:consumers"}, "reserved"),
        ([[(b"a", b"1")]], {"transaction": ("", 1)}, "name"),
        ([[(b"a", b"1")]], {"transaction": ("x" * 256, 1)}, "name"),
        ([[(b"a", b"1")]], {"transaction": ("x", -1)}, "no number"),
    ],
)
def test_what_cannot_be_taken_over_is_refused_and_the_next_job_is_not(boxed, parts, how, problem):
    bad = boxed.leave("1-bad", *parts, **how)
    good = boxed.leave("2-good", [(b"good", b"1")])
    while boxed.db.step():
        pass

    assert problem in outcome(bad).error
    assert outcome(good).is_new
    assert dict(boxed.db) == {b"good": b"1"}
    assert boxed.db._state.failure is None
    assert verify_on(boxed.fs).is_sound


@pytest.mark.parametrize("data", [b"", b"nonsense", b"00000000 {}\n", b'5ff95a66 {"format": 2}'])
def test_a_job_that_is_none_is_refused(boxed, data):
    place = boxed.place("job")
    write_note(place, JOB, data)
    while boxed.db.step():
        pass

    assert outcome(place).error.startswith("BadNote")


def test_a_damaged_table_is_refused(boxed):
    place = boxed.leave("job", [(b"a", b"1")])
    inode = place.disk.inodes[place._names["0.sst"]]
    inode.data[3] ^= 1
    inode.frozen = None
    boxed.db.step()

    assert "TableCorrupt" in outcome(place).error
    assert boxed.db.seq == 0


def test_a_job_whose_number_is_in_the_manifest_was_done_before(boxed):
    boxed.leave("1", [(b"a", b"1")])
    boxed.db.step()
    done = boxed.leave("2", [(b"b", b"2")])
    done.rename(JOB, taken_name(1))
    open_one = boxed.leave("3", [(b"c", b"3")])
    open_one.rename(JOB, taken_name(2))
    while boxed.db.step():
        pass

    assert dict(boxed.db) == {b"a": b"1", b"c": b"3"}
    assert outcome(done).is_new
    assert outcome(open_one).is_new


def test_strange_things_in_the_inbox_are_left_alone(boxed):
    file = boxed.fs.sibling("mem/inbox").create("file", Cause.OTHER)
    file.close()
    boxed.place("empty")
    boxed.leave("job", [(b"a", b"1")])
    boxed.db.step()

    assert dict(boxed.db) == {b"a": b"1"}


def test_notes_come_back_as_they_were():
    job = Job(
        store_id="ab", keyspace="größe", names=("a", "b"), replaces=True, transaction=("täglich", 2**62)
    )
    answer = Outcome(first_seq=1, last_seq=2, is_new=True, error='no "way"\n')

    assert Job.decode(job.encode()) == job
    assert Outcome.decode(answer.encode()) == answer
    for data in (job.encode(), answer.encode()):
        for at in range(len(data) - 1):
            with pytest.raises(BadNote):
                Job.decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


@pytest.mark.parametrize("name", ["TAKEN-", "TAKEN-01", "TAKEN--1", "TAKEN-x", "taken-1", "TAKEN-1.tmp"])
def test_only_our_names_are_taken_jobs(name):
    assert parse_taken(name) is None
    assert parse_taken(taken_name(12)) == 12


# On real files


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "db")
    lsm.open(path).close()
    return path


def submit(path, *rows, timeout=20, name="load-1", **how):
    store_id = look_at(path).store_id
    place = make_job(path, name)
    try:
        stage(place, "0.sst", rows, store_id)
        job = Job(store_id=store_id.hex(), keyspace="default", names=("0.sst",), **how)
        return hand_over(path, place, job, timeout=timeout)
    finally:
        place.close()
        give_up(path, name)


def leftovers(path):
    inbox = os.path.join(path, "inbox")
    return sorted(os.listdir(inbox)) if os.path.exists(inbox) else []


def test_without_a_writer_the_load_takes_the_lock_itself(path):
    found = submit(path, (b"a", b"1"), (b"b", b"2"))

    assert (found.first_seq, found.last_seq, found.is_new) == (1, 2, True)
    assert leftovers(path) == []
    with lsm.open(path, "r") as db:
        assert dict(db) == {b"a": b"1", b"b": b"2"}


@pytest.mark.parametrize("background", ["thread", "process"])
def test_a_live_writer_takes_it_over_beside_its_own_writes(path, background):
    with lsm.open(path, background=background, log_retention="all") as db:
        is_over = threading.Event()

        def write():
            while not is_over.is_set():
                db.put(b"busy", b"x", sync=False)
                time.sleep(0.001)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            found = [submit(path, (b"a", b"%d" % n), name=f"load-{n}") for n in range(3)]
        finally:
            is_over.set()
            writer.join()
        assert all(one.is_new for one in found)
        assert db[b"a"] == b"2"
        loads = [change for change in db.changes() if change.key == b"a"]
        assert [change.seq for change in loads] == [one.first_seq for one in found]
        assert db.stats().background.loads == 3
    assert leftovers(path) == []


def test_a_load_that_nobody_takes_is_taken_back(path):
    with lsm.open(path, background="manual") as db:
        with pytest.raises(LoadTimeout, match="nothing was loaded"):
            submit(path, (b"a", b"1"), timeout=0.3)
        assert leftovers(path) == []
        db.step()
        assert db.seq == 0


def test_a_load_that_was_taken_but_is_not_done_stays_the_writers(path):
    with lsm.open(path, background="manual") as db:
        store_id = look_at(path).store_id
        place = make_job(path, "load-1")
        stage(place, "0.sst", [(b"a", b"1")], store_id)
        job = Job(store_id=store_id.hex(), keyspace="default", names=("0.sst",))

        def take():
            while not place.exists(JOB):
                time.sleep(0.01)
            place.rename(JOB, taken_name(1))

        taking = threading.Thread(target=take)
        taking.start()
        with pytest.raises(LoadTimeout, match="may still come"):
            hand_over(path, place, job, timeout=0.3)
        taking.join()
        place.close()
        give_up(path, "load-1")
        assert leftovers(path) == ["load-1"]
        db.step()
        assert dict(db) == {b"a": b"1"}
    remove_job(os.path.join(path, "inbox", "load-1"))


def test_the_reason_of_a_refusal_reaches_who_asked(path):
    with pytest.raises(LoadRefused, match="name has 1 to 255 bytes"):
        submit(path, (b"a", b"1"), transaction=("x" * 300, 1))
    assert leftovers(path) == []


def test_leftovers_go_at_the_next_opening_and_jobs_at_work_stay(path):
    pid = os.fork()
    if pid == 0:
        make_job(path, "killed").close()
        os._exit(0)
    os.waitpid(pid, 0)
    make_job(path, "at-work").close()
    assert leftovers(path) == ["at-work", "killed"]

    lsm.open(path).close()

    assert leftovers(path) == ["at-work"]
    remove_job(os.path.join(path, "inbox", "at-work"))
    assert not os.path.exists(os.path.join(path, "inbox"))


def test_a_job_of_another_host_goes_by_age(path):
    place = make_job(path, "elsewhere")
    lease = os.path.join(place.name, "LEASE")
    place.close()
    with open(lease, encoding="utf-8") as file:
        text = file.read()
    with open(lease, "w", encoding="utf-8") as file:
        file.write(text.replace('[["', '[["another ', 1).replace('{"owner": ["', '{"owner": ["another '))

    assert sweep_jobs(path) == 0
    os.utime(lease, (0, 0))
    assert sweep_jobs(path) == 1


def test_a_load_for_a_path_without_a_store_makes_one(tmp_path):
    found = submit(str(tmp_path / "new"), (b"a", b"1"))

    assert found.is_new
    with lsm.open(tmp_path / "new") as db:
        assert dict(db) == {b"a": b"1"}


def test_a_copy_is_refused(path, tmp_path):
    copy = str(tmp_path / "copy")
    lsm.follow(path, copy).close()

    with pytest.raises(lsm.ReadOnlyError, match="follows another store"):
        look_at(copy)


def test_the_directory_of_a_job_is_no_foreign_file(path):
    make_job(path, "job").close()

    assert lsm.verify(path).foreign_files == ()
