"""Bits shared out over runs: against the closed forms, the published table, and other ways to share them."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import theory
from compaction.monkey import BITS_MAX, bits_for_run, false_positive_rate, miss_reads, share_bits
from tests.compaction.memory import MemoryTree, put

# ratio, levels, bits on average: uniform misses, shared misses, bits by level from the small to the large.
PUBLISHED = [
    (10, 3, 10, 0.0246, 0.0117, [19.1, 14.3, 9.5]),
    (10, 4, 10, 0.0328, 0.0117, [23.8, 19.1, 14.3, 9.5]),
    (10, 5, 10, 0.0410, 0.0118, [28.6, 23.8, 19.1, 14.3, 9.5]),
    (10, 4, 5, 0.362, 0.130, [18.8, 14.1, 9.3, 4.5]),
    (4, 5, 10, 0.0410, 0.0172, [20.6, 17.7, 14.8, 11.9, 9.1]),
]


@pytest.mark.parametrize(("ratio", "levels", "average", "uniform", "shared", "bits"), PUBLISHED)
def test_the_published_table(ratio, levels, average, uniform, shared, bits):
    keys = [1000 * ratio**level for level in range(levels)]

    found = share_bits(keys, average)

    assert found == pytest.approx(bits, abs=0.06)
    assert miss_reads(found) == pytest.approx(shared, rel=0.01)
    assert miss_reads([average] * levels) == pytest.approx(uniform, rel=0.01)
    assert theory.miss_uniform(levels, average) == pytest.approx(uniform, rel=0.01)


@pytest.mark.parametrize("ratio", [2, 4, 8, 10])
@pytest.mark.parametrize("average", [5, 10])
def test_many_levels_come_to_the_closed_form(ratio, average):
    leveled = share_bits([ratio**level for level in range(12)], average, bits_max=1000)
    tiered = share_bits(
        [ratio**level for level in range(12) for _ in range(ratio - 1)], average, bits_max=1000
    )

    assert miss_reads(leveled) == pytest.approx(theory.miss_monkey_leveled(ratio, average), rel=0.01)
    assert miss_reads(tiered) == pytest.approx(theory.miss_monkey_tiered(ratio, average), rel=0.01)
    steps = [smaller - larger for smaller, larger in pairwise(leveled)]
    assert steps == pytest.approx([theory.monkey_step_bits(ratio)] * 11)


RUNS = st.lists(st.one_of(st.integers(0, 50), st.integers(0, 10**9)), min_size=1, max_size=12)


@given(RUNS, st.floats(0, 40))
def test_the_budget_is_used_and_never_exceeded(keys, average):
    bits = share_bits(keys, average)

    assert all(0 <= each <= BITS_MAX for each in bits)
    used = sum(count * each for count, each in zip(keys, bits, strict=True))
    assert used <= average * sum(keys) + 1e-6 * (1 + sum(keys))
    if all(each < BITS_MAX for each in bits) and sum(keys):
        assert used == pytest.approx(average * sum(keys), rel=1e-6, abs=1e-3)


@given(RUNS, st.floats(0.5, 20))
def test_small_runs_get_no_fewer_bits_than_large_ones(keys, average):
    by_size = sorted(zip(keys, share_bits(keys, average), strict=True))

    assert [bits for _, bits in by_size] == sorted((bits for _, bits in by_size), reverse=True)


def test_no_other_way_to_share_is_better(seed):
    rng = random.Random(seed)
    for _ in range(50):
        keys = [rng.randrange(1, 10**6) for _ in range(5)]
        average = rng.uniform(0.5, 12)
        best = miss_reads(share_bits(keys, average, bits_max=1000))
        weights = [rng.random() for _ in keys]
        scale = average * sum(keys) / sum(n * w for n, w in zip(keys, weights, strict=True))
        other = [scale * weight for weight in weights]

        assert best <= miss_reads(other) + 1e-9
        assert best <= miss_reads([average] * 5) + 1e-9


def test_with_very_few_bits_the_largest_run_has_no_filter():
    assert not theory.monkey_is_filtering_all(10, 0.3)
    assert theory.monkey_is_filtering_all(10, 10)

    assert share_bits([10, 100, 1000, 10_000], 0.3)[-1] == 0.0
    assert share_bits([10, 100], 0.0) == [0.0, 0.0]


def test_a_filter_lets_pass_what_theory_says():
    published = {5: 0.092, 8: 0.022, 10: 0.0082, 12: 0.0031, 16: 0.00046}

    assert {bits: false_positive_rate(bits) for bits in published} == pytest.approx(published, rel=0.03)
    assert false_positive_rate(0) == 1.0


def tree_of(*sizes: int) -> MemoryTree:
    """Runs of so many keys in the levels from L1 on."""
    tree = MemoryTree(levels_max=len(sizes) + 1)
    runs = [
        (tree.add_table([put(b"%06d" % key, 1) for key in range(size)]),) if size else () for size in sizes
    ]
    tree.levels = ((), *runs)
    return tree


def test_a_new_table_gets_the_bits_of_its_level():
    levels = tree_of(10, 100, 1000).levels
    expected = share_bits([1, 10, 100, 1000], 10)

    assert bits_for_run(levels, 0, 1, 10) == pytest.approx(expected[0])
    assert bits_for_run(((), *levels[2:]), 1, 100, 10, without=frozenset([2])) > expected[2]
    (rewritten,) = levels[3]
    assert bits_for_run(levels, 3, 1000, 10, without=frozenset([rewritten.number])) == pytest.approx(
        share_bits([10, 100, 1000], 10)[-1]
    )


def test_the_first_table_of_a_store_gets_the_average():
    assert bits_for_run((), 0, 100, 10) == pytest.approx(10)
    assert bits_for_run(((),), 5, 100, 7) == pytest.approx(7)
