"""What users hand in: bytes, ranges, prefixes."""

import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.arguments import after_prefix, as_bounds, as_key, as_value

SHORT = st.binary(max_size=3)
BOUNDS = st.one_of(st.none(), SHORT)


class Bytes(bytes):
    """A subclass that compares in its own way must not get into the store."""

    def __lt__(self, other: object) -> bool:
        raise AssertionError


@pytest.mark.parametrize("check", [as_key, as_value])
@pytest.mark.parametrize("data", [b"x", bytearray(b"x"), memoryview(b"x"), Bytes(b"x")])
def test_bytes_like_arguments_become_bytes(check, data):
    found = check(data)

    assert found == b"x"
    assert type(found) is bytes


def test_a_view_that_is_not_contiguous_is_taken_as_it_looks():
    assert as_key(memoryview(b"abcdef")[::2]) == b"ace"


@pytest.mark.parametrize("check", [as_key, as_value])
@pytest.mark.parametrize("data", [1, None, 1.5, ["x"], object(), array.array("b", [1])])
def test_other_types_are_refused_by_name(check, data):
    with pytest.raises(lsm.InvalidType, match=type(data).__name__) as caught:
        check(data)

    assert isinstance(caught.value, TypeError | ValueError)


def test_text_gets_a_hint():
    with pytest.raises(lsm.InvalidType, match="encode it"):
        as_key("text")


def test_limits_are_inclusive_and_named():
    assert len(as_key(bytes(64 * 1024))) == 64 * 1024
    with pytest.raises(lsm.InvalidArgument, match=r"a key of 65537 bytes; 65536 \(64 KiB\) is the most"):
        as_key(bytes(64 * 1024 + 1))


@given(SHORT, SHORT)
def test_a_prefix_ends_where_no_key_begins_with_it(prefix, key):
    stop = after_prefix(prefix)

    assert key.startswith(prefix) == (prefix <= key and (stop is None or key < stop))


@given(BOUNDS, BOUNDS, BOUNDS, SHORT)
def test_bounds_and_prefix_are_one_range(start, stop, prefix, key):
    low, high = as_bounds(start, stop, prefix)

    is_wanted = (
        (start is None or key >= start)
        and (stop is None or key < stop)
        and (prefix is None or key.startswith(prefix))
    )
    assert ((low is None or key >= low) and (high is None or key < high)) == is_wanted


@pytest.mark.parametrize("which", range(3))
def test_a_bound_of_another_type_is_refused(which):
    bounds: list[object] = [None, None, None]
    bounds[which] = "text"

    with pytest.raises(lsm.InvalidType):
        as_bounds(*bounds)
