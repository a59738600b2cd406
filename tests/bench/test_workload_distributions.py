"""Which keys are taken, and how often."""

import numpy as np
import pytest

from bench.workload.distributions import Request, parse_distribution
from bench.workload.zipf import zipf_ranks

DRAWS = 50_000


def request(there, *, first=None, count=DRAWS, start=0):
    keys = there if first is None else first
    random = np.random.default_rng(5)
    return Request(random, count, there, keys, np.arange(start, start + count), seed=5)


def weights(theta, count):
    found = np.arange(1, count + 1) ** -float(theta)
    return found / found.sum()


@pytest.mark.parametrize("theta", [0.2, 0.5, 0.99, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("below", [1, 2, 3, 100])
def test_ranks_of_a_power_law_have_their_weights(theta, below):
    ranks = zipf_ranks(np.random.default_rng(3), theta, below, DRAWS)

    shares = np.bincount(ranks, minlength=below) / DRAWS
    assert len(shares) == below
    expected = weights(theta, below)
    # Five standard deviations of a share.
    assert np.all(np.abs(shares - expected) <= 5 * np.sqrt(expected / DRAWS) + 1e-4)


def test_each_rank_has_a_bound_of_its_own():
    bounds = np.arange(1, 5001)

    ranks = zipf_ranks(np.random.default_rng(3), 0.99, bounds, len(bounds))

    assert np.all(ranks < bounds) and np.all(ranks >= 0)


def test_ranks_among_very_many_need_no_table():
    ranks = zipf_ranks(np.random.default_rng(3), 0.99, 10**12, 1000)

    assert ranks.max() > 10**6


def test_uniform_takes_every_key_alike():
    shares = np.bincount(parse_distribution("uniform").draw(request(100)), minlength=100) / DRAWS

    assert len(shares) == 100
    assert shares.min() > 0.007 and shares.max() < 0.013


def test_zipf_scatters_its_favourites():
    counts = np.bincount(parse_distribution("zipf:0.99").draw(request(1000)), minlength=1000)

    favourites = np.argsort(counts)[::-1][:10]
    assert np.sort(counts)[-1] / DRAWS == pytest.approx(weights(0.99, 1000)[0], rel=0.1)
    assert favourites.min() < 500 < favourites.max()
    assert not np.array_equal(np.sort(favourites), np.arange(10))


def test_all_threads_find_the_same_keys_hot():
    zipf = parse_distribution("zipf:0.99")
    one = Request(np.random.default_rng(1), DRAWS, 1000, 1000, np.arange(DRAWS), seed=5)
    other = Request(np.random.default_rng(2), DRAWS, 1000, 1000, np.arange(DRAWS), seed=5)

    hottest = [np.bincount(zipf.draw(each)).argmax() for each in (one, other)]

    assert hottest[0] == hottest[1]


def test_zipf_over_a_growing_set_stays_within_it():
    there = np.arange(100, 100 + DRAWS)

    drawn = parse_distribution("zipf").draw(request(there, first=100))

    assert np.all(drawn < there)
    assert (drawn >= 100).any()  # what came later is taken, too


def test_latest_takes_the_newest_most():
    drawn = parse_distribution("latest").draw(request(1000))

    counts = np.bincount(drawn, minlength=1000)
    assert counts.argmax() == 999
    assert counts[999] / DRAWS == pytest.approx(weights(0.99, 1000)[0], rel=0.1)
    assert (drawn >= 0).all()


def test_latest_follows_the_newest():
    there = np.repeat([10, 1000], DRAWS // 2)

    drawn = parse_distribution("latest").draw(request(there, first=10))

    assert drawn[: DRAWS // 2].max() == 9
    assert np.bincount(drawn[DRAWS // 2 :]).argmax() == 999


@pytest.mark.parametrize(("keys", "hot"), [(1000, 10), (10, 1), (101, 2)])
def test_hot_takes_the_first_hundredth_only(keys, hot):
    drawn = parse_distribution("hot:0.01").draw(request(keys))

    assert set(drawn.tolist()) == set(range(hot))


def test_sequential_counts_and_begins_again():
    drawn = parse_distribution("sequential").draw(request(7, count=10, start=5))

    assert drawn.tolist() == [5, 6, 0, 1, 2, 3, 4, 5, 6, 0]


@pytest.mark.parametrize(
    "text", ["uniform", "sequential", "zipf:0.99", "zipf:1.2", "latest", "latest:0.5", "hot:0.1"]
)
def test_text_becomes_a_distribution_and_text_again(text):
    assert str(parse_distribution(text)) == text
    assert parse_distribution(f" {text} ") == parse_distribution(text)


def test_zipf_without_a_number_is_that_of_ycsb():
    assert str(parse_distribution("zipf")) == "zipf:0.99"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("unifrom", "did you mean uniform?"),
        ("zipf-0.99", "did you mean zipf?"),
        ("?", "known are uniform, zipf"),
        ("", "known are"),
        ("zipf:", "a number above 0"),
        ("zipf:0", "a number above 0"),
        ("zipf:-1", "a number above 0"),
        ("zipf:nan", "a number above 0"),
        ("zipf:6", "up to 5"),
        ("hot:1.5", "up to 1"),
        ("uniform:2", "takes no number"),
        ("x" * 10_000, "no distribution"),
    ],
)
def test_other_text_is_refused_with_advice(text, said):
    with pytest.raises(ValueError, match=r"distribution|number") as caught:
        parse_distribution(text)

    assert said in str(caught.value) and len(str(caught.value)) < 200
