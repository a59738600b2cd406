"""Lists and ranges of the command line."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.ranges import parse_counts, parse_decimals, parse_names, parse_sizes, size_text

KIB = 1024


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        (" , ", []),
        ("4", [4]),
        ("4,8, 10", [4, 8, 10]),
        ("4..7", [4, 5, 6, 7]),
        ("4..6,5,9", [4, 5, 6, 9]),
        ("3..3", [3]),
    ],
)
def test_whole_numbers(text, values):
    assert parse_counts(text, "x") == values


def test_decimals_and_sizes():
    assert parse_decimals("5,7.5..9", "x") == [5.0, 7.5, 8.5]
    assert parse_sizes("4KiB..20KiB,1MiB", "x") == [4 * KIB, 8 * KIB, 16 * KIB, KIB * KIB]
    assert parse_sizes("0..2", "x") == [0, 1, 2]


def test_names_come_once_and_are_known():
    assert parse_names("b,a,b", "letter", ["a", "b"]) == ["b", "a"]
    with pytest.raises(ValueError, match="no letter 'c'"):
        parse_names("a,c", "letter", ["a", "b"])


@pytest.mark.parametrize("text", ["x", "4..", "..4", "1..2..3", "4;5", "1e3", "9..1", "1..999999999", "7.."])
def test_what_is_no_list_is_refused(text):
    with pytest.raises(ValueError, match="--x"):
        parse_counts(text, "--x")


@pytest.mark.parametrize("text", ["nan", "1..nan", "inf..1", "0..inf"])
def test_numbers_that_are_none_make_no_range(text):
    with pytest.raises(ValueError, match="--x"):
        parse_decimals(text, "--x")


@given(st.text(max_size=20))
@example("1e17..2e17")
@example("1e308..1e309")
def test_any_text_is_a_list_or_an_error(text):
    for parse in (parse_counts, parse_decimals, parse_sizes):
        with suppress(ValueError):
            assert len(parse(text, "--x")) < 5000


def test_sizes_for_people():
    assert [size_text(size) for size in (0, 1023, 1024, 1536 * KIB, 3 * KIB**3)] == [
        "0 B",
        "1023 B",
        "1 KiB",
        "1.5 MiB",
        "3 GiB",
    ]
