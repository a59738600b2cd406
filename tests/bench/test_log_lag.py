"""How far behind: two histories by one clock."""

import pytest

from bench.log.lag import lag_of

WRITTEN = [(10.0, 0), (11.0, 100), (12.0, 200), (13.0, 300)]


def test_a_copy_that_is_always_there_has_no_lag():
    lag = lag_of(WRITTEN, [(10.5, 0), (11.0, 100), (12.0, 200), (13.0, 300)])

    assert (lag.entries_max, lag.seconds_max, lag.share, lag.catch_up_seconds) == (0, 0.0, 1.0, 0.0)


def test_what_a_copy_lacks_is_counted_in_entries_and_in_time():
    lag = lag_of(WRITTEN, [(9.0, 0), (11.5, 0), (12.5, 100), (13.0, 150), (15.0, 300), (16.0, 300)])

    assert lag.entries_max == 150
    assert lag.seconds_max == pytest.approx(1.0)  # at 13.0, what came by 12.0 was not whole
    assert lag.share == pytest.approx(0.5)
    assert lag.catch_up_seconds == pytest.approx(2.0)


def test_a_copy_that_begins_late_had_nothing():
    lag = lag_of(WRITTEN, [(14.0, 120), (14.5, 301)])

    assert lag.share == 0.0
    assert lag.entries_max == 180
    assert lag.catch_up_seconds == pytest.approx(1.5)
