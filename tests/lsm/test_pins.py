"""Pins: files stay as long as somebody reads them, and not longer."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

import lsm
from lsm.column_scan import Wanted
from lsm.fs_pins import LEASE, Lease, Owner, is_gone, make_loose_pin, make_pin, owner, remove_pin
from lsm.pins import Moment, pin, sweep
from lsm.spark.merge import read_range

pytest.importorskip("pyarrow")
NOW = Moment(keyspace="default")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "db")


@pytest.fixture
def db(path):
    with lsm.open(path, background="manual", table_bytes_max=8192) as db:
        db.update({b"%04d" % n: b"x" * 50 for n in range(1000)})
        db.compact()
        yield db


def read(pinned, start=None, stop=None):
    found = []
    for arrays in read_range(pinned, start, stop, Wanted(), verify=True):
        found += zip(arrays.keys.to_pylist(), arrays.values.to_pylist(), strict=True)
    return found


def pins(path):
    try:
        return os.listdir(os.path.join(path, "pins"))
    except FileNotFoundError:
        return []


def test_what_is_pinned_stays_though_the_store_lets_it_go(path, db):
    db[b"new"] = b"only in the log"
    expected = list(db.scan())
    pinned = pin(path, NOW)

    db.clear()
    db.compact()

    assert read(pinned) == expected
    assert read(pinned, b"0100", b"0200") == [pair for pair in expected if b"0100" <= pair[0] < b"0200"]
    pinned.release()
    assert pins(path) == []


def test_links_take_no_room_and_only_of_tables_in_range(path, db):
    db[b"0500"] = b"y"
    db.compact()  # merged, not moved as it is: there are several tables now

    pinned = pin(path, Moment(keyspace="default", start=b"0000", stop=b"0010"))

    (run,) = pinned.runs
    assert len(run.tables) == 1 < len(db._state.version.tables())
    name = f"{run.tables[0].number:06d}.sst"
    assert os.stat(os.path.join(run.directory, name)).st_ino == os.stat(os.path.join(path, name)).st_ino
    pinned.release()


def test_a_pin_beside_a_writer_that_compacts_is_always_whole(path):
    stop = threading.Event()
    with lsm.open(path, memtable_bytes_max=65536, table_bytes_max=16384, l0_tables_max=2) as db:
        db.update({b"%04d" % n: b"0" for n in range(500)})

        def write():
            round_ = 0
            while not stop.is_set():
                round_ += 1
                db.update({b"%04d" % n: b"%d" % round_ for n in range(500)}, sync=False)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            seqs = []
            for _ in range(15):
                pinned = pin(path, NOW)
                found = read(pinned)
                assert len(found) == 500
                assert len({value for _, value in found}) == 1, "half of a batch"
                seqs.append(pinned.seq)
                pinned.release()
        finally:
            stop.set()
            writer.join()
    assert seqs == sorted(seqs)


def test_a_crashed_reader_leaves_nothing_for_long(path, db):
    take = f"pin({path!r}, Moment(keyspace='default'))"
    script = f"import os; from lsm.pins import Moment, pin; {take}; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", script], cwd=os.getcwd(), env=_environment(), check=False)
    assert len(pins(path)) == 1

    assert sweep(path) == 1
    assert pins(path) == []


def test_the_next_opening_sweeps(path, db):
    make_pin(path, "left", Lease(Owner(owner().host, 2**22 + 1, "1"), 3600)).close()
    db.close()

    lsm.open(path).close()

    assert pins(path) == []


def test_a_pin_in_use_is_left_alone(path, db):
    pinned = pin(path, NOW)

    assert sweep(path) == 0
    assert pinned.is_held()
    pinned.release()
    assert not pinned.is_held()


def test_a_pin_that_nobody_used_for_long_is_swept_though_its_owner_lives(path, db):
    pinned = pin(path, NOW, seconds=100)
    lease = os.path.join(pinned.directory, LEASE)
    os.utime(lease, (time.time() - 101,) * 2)
    other = pin(path, NOW, seconds=100)

    assert pins(path) == [os.path.basename(other.directory)]
    other.release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"owner": 3, "seconds": "x"}'])
def test_a_half_made_pin_is_swept_after_a_while(path, db, content):
    directory = os.path.join(path, "pins", "half")
    os.makedirs(directory)
    with open(os.path.join(directory, LEASE), "w") as file:
        file.write(content)

    assert sweep(path) == 0
    os.utime(directory, (time.time() - 61,) * 2)
    assert sweep(path) == 1


def test_processes_are_told_apart():
    me = owner()

    assert not is_gone(me)
    assert is_gone(me._replace(started="1"))
    assert not is_gone(me._replace(host="elsewhere", started="1")), "of other hosts nothing is known"
    assert not is_gone(owner("no such program"))


def test_a_store_that_cannot_be_written_is_read_in_place(path, db, monkeypatch):
    db[b"new"] = b"only in the log"
    monkeypatch.setattr("lsm.pins.make_pin", lambda *_: None)

    pinned = pin(path, NOW)

    assert read(pinned) == list(db.scan())
    assert not pinned.directory.startswith(path)
    pinned.release()
    assert not os.path.exists(pinned.directory)


def test_loose_pins_have_a_lease_too():
    fs = make_loose_pin(Lease(owner(), 5))
    fs.close()
    with open(os.path.join(fs.name, LEASE)) as file:
        assert json.load(file)["seconds"] == 5
    remove_pin(fs.name)


@pytest.mark.parametrize("seq", [0, 10**9])
def test_a_moment_that_is_not_kept_is_refused_with_the_range(path, db, seq):
    with pytest.raises(lsm.OffsetOutOfRange) as caught:
        pin(path, Moment(keyspace="default", seq=seq))

    assert (caught.value.earliest, caught.value.latest) == (db.seq, db.seq)
    assert pins(path) == []


def test_every_moment_that_is_kept_can_be_pinned(path):
    with lsm.open(path, background="manual", log_history=True, memtable_bytes_max=65536) as db:
        history = {}
        for n in range(60):
            if n % 5 == 4:
                db.delete(b"%d" % (n % 7))
            else:
                db[b"%d" % (n % 7)] = b"%d" % n
            history[db.seq] = list(db.scan())
            if n % 13 == 0:
                db.flush()
            if n % 29 == 0:
                db.compact()
        for seq, expected in history.items():
            pinned = pin(path, Moment(keyspace="default", seq=seq))
            assert read(pinned) == expected, seq
            pinned.release()


def _environment():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return {**os.environ, "PYTHONPATH": root}
