"""Cutting a range of keys."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lsm.spark.partitions import Range, Weight, cut, parts_of

EVERYTHING = Range(None, None)


def test_equal_weights_are_cut_evenly():
    weights = [Weight(b"%d" % n, 10) for n in range(8)]

    assert cut(EVERYTHING, weights, 4) == [
        Range(None, b"1"),
        Range(b"1", b"3"),
        Range(b"3", b"5"),
        Range(b"5", None),
    ]


def test_levels_count_together():
    large, small = [Weight(b"m", 100), Weight(b"z", 100)], [Weight(b"c", 10), Weight(b"d", 10)]

    assert cut(EVERYTHING, [*large, *small], 2) == [Range(None, b"m"), Range(b"m", None)]


def test_nothing_to_cut_at_leaves_one_range():
    assert cut(EVERYTHING, [], 5) == [EVERYTHING]


def test_parts_follow_the_target_unless_they_are_named():
    assert parts_of(100, target_bytes=30, parts=None) == 4
    assert parts_of(0, target_bytes=30, parts=None) == 1
    assert parts_of(100, target_bytes=30, parts=2) == 2


@given(
    st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 100)), max_size=30),
    st.integers(1, 20),
    st.none() | st.binary(max_size=2),
    st.none() | st.binary(max_size=2),
)
def test_ranges_follow_each_other_and_are_the_whole(weights, parts, start, stop):
    ranges = cut(Range(start, stop), [Weight(*weight) for weight in weights], parts)

    assert 1 <= len(ranges) <= parts
    assert (ranges[0].start, ranges[-1].stop) == (start, stop)
    assert all(left.stop == right.start is not None for left, right in pairwise(ranges))
    inner = [cut_.start for cut_ in ranges[1:]]
    assert inner == sorted(set(inner))
    assert all((start is None or key > start) and (stop is None or key < stop) for key in inner)
