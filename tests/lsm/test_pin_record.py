"""Pins that are found again by name, after the process that made them is gone."""

import pytest

import lsm
from lsm.fs_pins import owner, sweep_pins
from lsm.pin_record import find_pinned, write_pinned
from lsm.pins import Moment, pin


@pytest.fixture
def path(tmp_path):
    with lsm.open(tmp_path / "db", background="manual") as db:
        db.update({b"%d" % number: b"x" for number in range(50)})
        db.flush()
        db[b"only logged"] = b"y"
        yield str(tmp_path / "db")


def test_a_pin_is_found_by_its_name(path):
    pinned = pin(path, Moment(keyspace="default"), owned_by="")
    name = write_pinned(pinned)

    assert "/" not in name
    assert find_pinned(path, name) == pinned
    pinned.release()
    assert find_pinned(path, name) is None


def test_a_pin_of_nobody_outlives_processes_until_its_time_is_over(path):
    pinned = pin(path, Moment(keyspace="default"), owned_by="", seconds=1000)
    brief = pin(path, Moment(keyspace="default"), owned_by="", seconds=-1)

    assert owner("").pid == 0
    assert sweep_pins(path) == 1
    assert pinned.is_held()
    assert not brief.is_held()
    pinned.release()


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing"])
def test_what_is_not_whole_is_gone(path, tmp_path, damage):
    pinned = pin(path, Moment(keyspace="default"), owned_by="")
    name = write_pinned(pinned)
    file = tmp_path / "db" / "pins" / name / "PINNED"
    data = bytearray(file.read_bytes())
    data[20] ^= 1
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(data if damage == "flipped" else data[:15])

    assert find_pinned(path, name) is None
    pinned.release()
