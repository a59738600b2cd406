"""Orders without memory: each number once, and no pattern."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.workload.scatter import Scatter


@given(count=st.integers(1, 3000), seed=st.integers(0, 2**32))
def test_every_number_comes_exactly_once(count, seed):
    numbers = Scatter(count, seed)(np.arange(count))

    assert np.array_equal(np.sort(numbers), np.arange(count))


def test_the_order_follows_from_the_seed(seed):
    places = np.arange(1000)

    assert np.array_equal(Scatter(1000, seed, 1)(places), Scatter(1000, seed, 1)(places))
    assert not np.array_equal(Scatter(1000, seed, 1)(places), Scatter(1000, seed, 2)(places))


def test_a_part_of_the_order_is_the_same_as_in_the_whole():
    scatter = Scatter(10_000, 7)

    assert np.array_equal(scatter(np.arange(10_000))[4000:4100], scatter(np.arange(4000, 4100)))


@pytest.mark.parametrize("count", [20_000, 65_536, 100_003])
def test_neighbours_are_scattered_evenly(count):
    numbers = Scatter(count, 1)(np.arange(count))

    # Every tenth of the order holds a tenth of every tenth of the numbers, about.
    tenths = np.histogram2d(np.arange(count), numbers, bins=10)[0] / (count / 100)
    assert tenths.min() > 0.6 and tenths.max() < 1.4
    # A shuffle goes up as often as down.
    assert 0.45 < (np.diff(numbers) > 0).mean() < 0.55


def test_numbers_may_be_very_large():
    numbers = Scatter(10**15, 1)(np.arange(1000))

    assert len(set(numbers.tolist())) == 1000
    assert numbers.min() >= 0 and 10**14 < numbers.max() < 10**15


def test_no_numbers_are_no_trouble():
    assert Scatter(10, 1)(np.array([], np.int64)).size == 0
