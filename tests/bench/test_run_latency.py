"""Latencies in buckets: little memory, and quantiles that are right to a hundredth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.run.latency import QUANTILES, Latencies


def counted(*parts):
    latencies = Latencies()
    for part in parts:
        latencies.add(np.array(part, np.int64))
    return latencies


@given(times=st.lists(st.integers(0, 10**12), min_size=1, max_size=200), quantile=st.sampled_from(QUANTILES))
def test_a_quantile_is_that_of_the_times_themselves(times, quantile):
    exact = np.quantile(times, quantile, method="inverted_cdf") / 1000

    assert counted(times).microseconds(quantile) == pytest.approx(exact, rel=0.008, abs=0.001)


def test_both_ends_are_exact():
    latencies = counted([123_457], [7], [99_999_999])

    assert latencies.microseconds(0) == 0.007 and latencies.microseconds(1) == 99_999.999


def test_parts_add_up(seed):
    times = np.random.default_rng(seed).integers(100, 10**7, 1000)

    whole, parts = counted(times), counted(times[:300]).plus(counted(times[300:]))

    assert parts.to_json() == whole.to_json() and parts.count == 1000


def test_nothing_adds_nothing():
    latencies = counted([])

    assert latencies.count == 0
    assert latencies.plus(counted([5])).microseconds(0.5) == 0.005
    with pytest.raises(ValueError, match="no operation"):
        latencies.microseconds(0.5)


def test_the_result_file_has_quantiles_that_never_fall(seed):
    written = counted(np.random.default_rng(seed).integers(100, 10**7, 5000)).to_json()

    assert written["q"] == [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1] and written["count"] == 5000
    assert written["us"] == sorted(written["us"]) and len(written["us"]) == len(written["q"])
