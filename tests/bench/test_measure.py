import json

import numpy as np

from bench.measure import Latency, Spread, Timing, between


def test_a_spread_is_the_median_between_the_extremes():
    assert Spread.of([3.0, 1.0, 8.0]) == Spread(median=3.0, low=1.0, high=8.0)
    assert Spread.of([2.0, 4.0]).median == 3.0
    assert Spread.of([5.0]) == Spread(5.0, 5.0, 5.0)


def test_a_rate_is_operations_by_seconds():
    assert Timing(operations=500, seconds=0.25).rate == 2000
    assert Timing(operations=1, seconds=0.0).rate > 0


def test_latencies_are_of_all_passes_together_in_microseconds():
    latency = Latency.of([np.full(500, 1_000), np.full(499, 2_000), np.array([9_000_000])])

    assert latency.operations == 1000
    assert latency.p50 == 1.5 and latency.p99 == 2.0
    assert latency.p99 <= latency.p999 <= latency.max == 9_000


def test_stamps_become_the_times_between_them():
    assert between([10, 15, 35]).tolist() == [5, 20]


def test_figures_are_plain_json():
    figures = {"spread": Spread.of([1.0]).to_json(), "latency": Latency.of([np.array([1_000])]).to_json()}

    assert json.loads(json.dumps(figures)) == figures
