"""Traces: streams kept in memory, whole or as a sample that knows what was left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.simulate import Costs, Settings, Shape, Synthetic, Trace, Writes, run, thinned, timeline
from compaction.trace import KEYS_MIN, is_in_sample

KIB = 1024
STREAM = Synthetic(keys=8000, count=24_000, distribution="zipf", delete_share=0.1, seed=3)
SMALL = Settings(
    shape=Shape(level_ratio=4, l0_tables_max=2, memtable_bytes=24 * KIB, table_bytes_max=24 * KIB)
)


def writes_of(keys: list[int], size: int = 100) -> Writes:
    count = len(keys)
    return Writes(np.array(keys, np.int64), np.full(count, size), np.zeros(count, np.bool_))


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_a_whole_trace_costs_exactly_what_its_stream_does(batch):
    trace, settings = thinned(STREAM), replace(SMALL, batch=batch)

    assert (trace.sample, len(trace), len(trace.writes)) == (1, 24_000, 24_000)
    assert run(trace, settings) == run(STREAM, settings)


def test_a_batch_is_never_cut():
    counts = [count for count, _, _ in thinned(STREAM).memtables(24 * KIB, 9.0, 100)]

    assert all(count % 100 == 0 for count in counts[:-1]) and sum(counts) == 24_000


def test_a_sample_of_a_stream_is_thinned_while_it_passes():
    trace = thinned(STREAM, kept_max=5000)

    whole, sampled = run(STREAM, SMALL), run(trace, SMALL)
    assert trace.sample in (4, 8, 16) and len(trace.writes) <= 5000
    assert (trace.count, sampled.user_bytes) == (24_000, whole.user_bytes)
    assert sampled.flushes == pytest.approx(whole.flushes, rel=0.03)
    assert sampled.tree_write_amp == pytest.approx(whole.tree_write_amp, rel=0.12)


def test_thinning_late_keeps_what_thinning_early_would():
    late = thinned(STREAM, kept_max=15_000)
    early = thinned(STREAM, sample=late.sample)

    assert np.array_equal(late.writes.keys, early.writes.keys)
    assert np.array_equal(late.counts, early.counts) and np.array_equal(late.ends, early.ends)


def test_a_few_keys_written_again_and_again_lose_writes_rather_than_keys():
    stream = [writes_of([number % 10 for number in range(5000)]) for _ in range(20)]

    trace = thinned(stream, kept_max=10_000)

    assert len(trace.writes) <= 10_000 and trace.sample == 1
    assert set(trace.writes.keys.tolist()) == set(range(10))
    assert (trace.count, trace.user_bytes) == (100_000, 10_000_000)
    settings = replace(SMALL, shape=replace(SMALL.shape, memtable_bytes=256 * KIB))
    figures, whole = run(trace, settings), run(stream, settings)
    assert figures.flushes == pytest.approx(whole.flushes, rel=0.15)
    assert figures.live_bytes == whole.live_bytes == 1000


@given(st.lists(st.lists(st.integers(0, 5), max_size=30), max_size=6), st.integers(300, 3000))
def test_memtables_hold_the_whole_stream(chunks, full_bytes):
    stream = [writes_of(chunk) for chunk in chunks]
    trace = thinned(stream)

    parts = list(trace.memtables(full_bytes, 48.0))

    keys = [key for chunk in chunks for key in chunk]
    assert [key for _, _, writes in parts for key in writes.keys.tolist()] == keys
    assert sum(count for count, _, _ in parts) == len(keys)
    assert sum(size for _, size, _ in parts) == 100 * len(keys)
    assert all(64 + 148 * (count - 1) < full_bytes for count, _, _ in parts)
    assert all(64 + 148 * count >= full_bytes for count, _, _ in parts[:-1])


@pytest.mark.parametrize("kept_max", [1, 7, 100])
def test_a_trace_that_may_keep_next_to_nothing_is_made_all_the_same(kept_max):
    trace = thinned(STREAM, kept_max=kept_max)

    assert len(trace.writes) <= max(64, kept_max) and trace.count == 24_000
    assert run(trace, SMALL).user_bytes in (0, trace.user_bytes)


def test_an_empty_stream_is_a_trace_of_nothing():
    trace = thinned([])

    assert (len(trace), trace.user_bytes, list(trace.memtables(1000, 48.0))) == (0, 0, [])
    assert run(trace, SMALL).user_bytes == 0


def test_a_loaded_store_is_there_before_the_first_write():
    keys = np.arange(KEYS_MIN)
    loaded = Writes(keys, np.full(len(keys), 100), np.zeros(len(keys), np.bool_))
    trace = replace(thinned([writes_of([3, 3, 5])]), loaded=loaded)

    figures = run(trace, SMALL)

    assert figures.live_bytes == 100 * KEYS_MIN
    assert figures.flushed_bytes < 2000 and figures.user_bytes == 300
    assert set(figures.level_bytes) == {0, 6}


def test_figures_are_of_what_comes_after_warming_up():
    trace = thinned(STREAM)
    warm = replace(trace, warm_bytes=trace.user_bytes // 2)

    marks = list(timeline(trace, SMALL, every_bytes=trace.user_bytes // 2))

    figures = run(warm, SMALL)
    assert figures == marks[-1].since(marks[0])
    assert figures.user_bytes == pytest.approx(trace.user_bytes / 2, rel=0.02)
    assert figures.live_bytes == marks[-1].live_bytes


def test_a_trace_knows_its_sample_whatever_the_settings_say():
    trace = thinned(STREAM, sample=8)

    assert run(trace, SMALL) == run(trace, replace(SMALL, costs=Costs(sample=3)))


def test_marks_keep_to_their_distance():
    marks = list(timeline(thinned(STREAM), SMALL, every_bytes=100_000))

    places = [mark.user_bytes for mark in marks[:-1]]
    assert [place // 100_000 for place in places] == list(range(1, len(places) + 1))


@given(st.lists(st.integers(0, 2**32), max_size=50), st.integers(0, 5))
def test_a_thinner_sample_is_part_of_a_thicker_one(hashes, power):
    numbers = np.array(hashes, np.int64)

    thick, thin = is_in_sample(numbers, 2**power), is_in_sample(numbers, 2 ** (power + 1))

    assert not (thin & ~thick).any()


def test_one_key_in_so_many_is_chosen():
    assert np.count_nonzero(is_in_sample(np.arange(100_000), 16)) == pytest.approx(6250, rel=0.05)
    assert isinstance(thinned([]), Trace)
