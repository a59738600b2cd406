"""A log as a trace: keys become numbers in their order, however many they are."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.simulate import Settings, Shape, Synthetic, recorded, replayed, run
from sstable import Columns, Kind

KIB = 1024
SMALL = Settings(
    shape=Shape(level_ratio=4, l0_tables_max=2, memtable_bytes=24 * KIB, table_bytes_max=24 * KIB)
)
WRITES = st.lists(st.tuples(st.binary(max_size=4), st.none() | st.integers(0, 9)), max_size=60)


def columns_of(writes: list[tuple[bytes, int | None]]) -> Columns:
    return Columns.from_lists(
        [key for key, _ in writes],
        list(range(1, len(writes) + 1)),
        [Kind.DELETE if length is None else Kind.PUT for _, length in writes],
        [bytes(length or 0) for _, length in writes],
    )


@given(st.lists(WRITES, max_size=5))
def test_a_short_log_is_kept_whole(chunks):
    trace = replayed(map(columns_of, chunks))

    expected = recorded([write for chunk in chunks for write in chunk])
    assert trace.writes.keys.tolist() == expected.keys.tolist()
    assert trace.writes.sizes.tolist() == expected.sizes.tolist()
    assert trace.writes.deletes.tolist() == expected.deletes.tolist()
    assert (trace.count, trace.user_bytes) == (len(expected), int(expected.sizes.sum()))


@given(WRITES, st.dictionaries(st.binary(max_size=4), st.integers(0, 9), max_size=20))
def test_keys_held_before_are_numbered_with_those_of_the_log(writes, held):
    trace = replayed([columns_of(writes)], held.items())

    keys = sorted({*held, *(key for key, _ in writes)})
    assert [keys[number] for number in trace.writes.keys] == [key for key, _ in writes]
    if held:
        assert [keys[number] for number in trace.loaded.keys] == list(held)
        assert trace.loaded.sizes.tolist() == [len(key) + length for key, length in held.items()]


def log_of(stream: Synthetic) -> list[Columns]:
    return [columns_of([(b"%016d" % number, 100) for number in writes.keys.tolist()]) for writes in stream]


def test_a_long_log_is_thinned_and_costs_about_the_same():
    stream = Synthetic(keys=8000, count=24_000, seed=3)

    trace = replayed(log_of(stream), kept_max=6000)

    whole, sampled = run(stream, SMALL), run(trace, SMALL)
    assert trace.sample > 1 and len(trace.writes) <= 6000
    assert sampled.user_bytes == whole.user_bytes
    assert sampled.tree_write_amp == pytest.approx(whole.tree_write_amp, rel=0.12)


def test_many_keys_held_thin_the_log_too(seed):
    numbers = list(range(40_000))
    random.Random(seed).shuffle(numbers)
    held = [(b"%08d" % number, 50) for number in numbers]

    trace = replayed(log_of(Synthetic(keys=2000, count=4000, seed=1)), held, kept_max=5000)

    assert trace.sample >= 8 and len(trace.loaded) <= 5000
    assert len(trace.loaded) * trace.sample == pytest.approx(40_000, rel=0.1)
    assert len(trace.writes) * trace.sample == pytest.approx(4000, rel=0.3)
    assert trace.count == 4000
    assert len(np.unique(trace.loaded.keys)) == len(trace.loaded)


def test_a_log_of_nothing_with_a_store_before_it():
    trace = replayed([], [(b"a", 1)])

    figures = run(trace, SMALL)
    assert (figures.user_bytes, figures.live_bytes) == (0, 2)
    assert replayed([]).loaded is None
