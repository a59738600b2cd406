"""The stream of writes of `amplify`, and the words beside its figures."""

from dataclasses import replace

import numpy as np
import pytest

from bench.amplify.amplification import Amplification
from bench.amplify.driver import writes_of_a_memtable
from bench.amplify.moment import Moment
from bench.amplify.prediction import Prediction
from bench.amplify.settings import AmplifySettings
from bench.amplify.stream import Keys, all_writes, is_uniform, load_chunks, overwrite_chunks
from bench.counting.os_counters import OsCounters

SETTINGS = AmplifySettings(keys=1000, key_bytes=16, value_bytes=100, warm_up=0.5, overwrites=2.0, seed=3)


def test_all_keys_are_loaded_once_and_then_overwritten():
    loaded = Keys(load_chunks(SETTINGS)).take(10_000)
    over = Keys(overwrite_chunks(SETTINGS)).take(10_000)

    assert sorted(loaded) == list(range(1000)) and list(loaded) != sorted(loaded)
    assert len(over) == 2500 and over.min() >= 0 and over.max() < 1000


def test_pieces_of_any_length_are_the_same_stream():
    whole = Keys(overwrite_chunks(SETTINGS)).take(2500)
    keys = Keys(overwrite_chunks(SETTINGS))

    pieces = [keys.take(size) for size in (1, 0, 700, 1799, 99)]

    assert np.array_equal(np.concatenate(pieces), whole)
    assert [len(piece) for piece in pieces] == [1, 0, 700, 1799, 0]


def test_the_simulator_is_fed_the_same_writes():
    fed = np.concatenate([writes.keys for writes in all_writes(SETTINGS)])

    written = [Keys(load_chunks(SETTINGS)).take(1000), Keys(overwrite_chunks(SETTINGS)).take(2500)]
    assert np.array_equal(fed, np.concatenate(written))
    assert all((writes.sizes == 116).all() and not writes.deletes.any() for writes in all_writes(SETTINGS))


def test_sizes_follow_the_data_unless_an_option_says_otherwise():
    small, large = AmplifySettings(keys=10), AmplifySettings(keys=100_000_000, key_bytes=20)
    asked = replace(small, option=["memtable_bytes_max=1MiB"])
    cut = replace(small, option=["table_bytes_max=5000"])

    assert small.store_options().seal_bytes == 16 * 1024
    assert large.store_options().seal_bytes == 16 * 1024 * 1024
    assert asked.store_options().table_bytes == 2 * 1024 * 1024
    assert cut.store_options().table_bytes == 5000
    assert large.simulation().costs.sample == 100


def test_a_memtable_holds_at_least_one_write():
    assert writes_of_a_memtable(AmplifySettings(keys=10, value_bytes=1_000_000)) == 1
    # 164 bytes of log for each put of 116
    assert writes_of_a_memtable(replace(SETTINGS, option=["memtable_bytes_max=16400"])) == 100


@pytest.mark.parametrize(("dist", "expected"), [("uniform", True), ("zipf:0.99", False), ("latest", False)])
def test_the_formulas_are_for_uniform_overwrites(dist, expected):
    assert is_uniform(replace(SETTINGS, dist=dist)) == expected


def with_os(counters):
    """A run that has measured nothing but what the system has counted."""
    found = Amplification(SETTINGS, SETTINGS.store_options())
    found.prediction = Prediction.of(
        all_writes(SETTINGS), SETTINGS.simulation(), entry_bytes=116, total_bytes=3500 * 116
    )
    start = Moment(
        operations=0,
        user_bytes=0,
        store_user_bytes=0,
        written={"log": 0},
        flush_bytes=0,
        flushes=0,
        os=None if counters is None else OsCounters(0, 0),
    )
    found.course.steady_from = start
    found.course.last = replace(start, user_bytes=1000, written={"log": 1000}, os=counters)
    return found


@pytest.mark.parametrize(
    ("counters", "said", "is_said"),
    [
        (None, "shows no counter", True),
        (OsCounters(1000, 0), "write_bytes is 0", True),
        (OsCounters(1000, 1010), "is write_bytes of this process", True),
        (OsCounters(1000, 1010), "against the file system layer", False),
        (OsCounters(1000, 2000), "+100% against the file system layer", True),
    ],
)
def test_it_is_said_which_counter_the_system_has(counters, said, is_said):
    notes = " ".join(with_os(counters).notes())

    assert (said in notes) == is_said


def test_a_figure_that_theory_misses_is_pointed_out():
    notes = with_os(None).notes()

    assert any(note.startswith("log: the formula is off by +41%") for note in notes)


def test_before_anything_was_measured_there_is_still_something_to_show():
    found = Amplification(SETTINGS, SETTINGS.store_options())

    (sheet,) = found.sheets()
    assert sheet.head == ["nothing was measured"]
    assert found.figures() == {} and found.to_json()["write_amp_rows"] == []
