"""What a report takes from a result file, and how it writes figures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.scale import linear, linear_to, logarithmic, with_unit
from bench.report.svg import Canvas, fitted
from bench.report.units import (
    byte_unit,
    short,
    show_bytes,
    show_count,
    show_figure,
    show_rate,
    show_seconds,
    show_us,
    time_unit,
)
from bench.report.values import Unusable, amount, amounts, maybe_amount, number, part, rows, text

NO_NUMBERS = [None, True, "12", [], {}, math.nan, math.inf, -math.inf, 1e308, 10**400]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=[str(value)[:8] for value in NO_NUMBERS])
def test_what_is_not_a_number_is_refused_with_its_name(value):
    with pytest.raises(Unusable, match="write_amp"):
        number(value, "write_amp")
    assert maybe_amount(value) is None


def test_a_negative_number_is_no_amount():
    assert number(-1, "x") == -1.0
    with pytest.raises(Unusable, match="negative"):
        amount(-1, "x")
    assert amount(1e-300, "x") == 0.0


@pytest.mark.parametrize(
    "value", [None, {}, "12", [1, "2"], [1, True], [1, None], [-1], [math.nan], [10**400], [1e308], [[1]]]
)
def test_a_list_with_one_bad_item_is_refused(value):
    with pytest.raises(Unusable, match="seconds"):
        amounts(value, "seconds")


def test_gaps_are_taken_where_they_are_meant():
    found = amounts([1, None, 3.5], "live", gaps=True)

    assert np.array_equal(found, [1, np.nan, 3.5], equal_nan=True)


def test_parts_are_there_absent_or_refused():
    assert part({"a": {"b": 1}}, "a") == {"b": 1}
    assert part({"a": None}, "a") is None and part({}, "a") is None
    assert rows({"a": [{}]}, "a") == [{}] and rows({}, "a") == []
    for wrong in ([], 3, "x"):
        with pytest.raises(Unusable, match="a is not an object"):
            part({"a": wrong}, "a")
    for wrong in ({}, [3], [{}] * 3):
        with pytest.raises(Unusable, match="a "):
            rows({"a": wrong}, "a", rows_max=2)


@given(st.text() | st.integers() | st.floats() | st.none() | st.lists(st.integers()))
def test_text_is_one_printable_line_of_bounded_length(value):
    found = text(value, 20)

    assert len(found) <= 20 or found == "a number that is too large"
    assert not any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in found)
    found.encode("utf-8")


def test_text_cannot_turn_its_surroundings_around():
    assert text("a\u202eb\u0000c\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert text("line\nline") == "line line"


def test_units_are_those_people_write():
    assert show_bytes(48.2 * 2**20) == "48.2 MiB"
    assert show_bytes(0) == "0 bytes"
    assert show_rate(18_200) == "18.2 k/s"
    assert show_rate(1_340_000) == "1.34 M/s"
    assert show_us(31) == "31.0 µs"
    assert show_us(4_100) == "4.10 ms"
    assert show_us(0.25) == "250 ns"
    assert show_seconds(95.5) == "95.5 s"
    assert show_seconds(7_200) == "120 min"
    assert show_count(12_345) == "12,345"
    assert [short(value) for value in (0, 0.016, 0.3, 1.94, 12.55, 123.4, 5_200_000)] == [
        "0",
        "0.016",
        "0.30",
        "1.94",
        "12.6",
        "123",
        "5.2e6",
    ]


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("write_amp", 9.04, "9.04×"),
        ("space_amp_peak", 1.3, "1.30×"),
        ("p99_9_us", 4100, "4.10 ms"),
        ("empty_loop_ns", 41, "41.0 ns"),
        ("rss_max_bytes", 2**30, "1.00 GiB"),
        ("false_positive_rate", 0.0082, "0.82 %"),
        ("ops_per_second", 152_000, "152 k/s"),
        ("worst_second_ops", 43_000, "43.0 k/s"),
        ("miss_blocks", 0.02, "0.02"),
    ],
)
def test_a_figure_is_shown_in_the_unit_of_its_name(name, value, shown):
    assert show_figure(name, value) == shown


def test_ticks_are_round_in_the_unit_of_the_axis():
    size = 53.2 * 2**20

    scale = linear(size, byte_unit(size))

    assert [tick for _, tick in scale.ticks] == ["0", "20", "40", "60"]
    assert scale.ticks[1][0] == 20 * 2**20
    assert [tick for _, tick in linear(2.2).ticks] == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5"]
    assert [tick for _, tick in with_unit(linear_to(118.0), time_unit(118.0)).ticks][-1] == "100 s"


def test_ticks_of_a_logarithm_are_decades_or_finer():
    assert [tick for _, tick in logarithmic(1.2, 90_000, show_us).ticks] == [
        "1 µs",
        "10 µs",
        "100 µs",
        "1 ms",
        "10 ms",
        "100 ms",
    ]
    fine = logarithmic(0.4, 6, lambda value: f"{value:.2f}×", tight=True)
    assert [tick for _, tick in fine.ticks] == ["0.5×", "1×", "2×", "5×"]


@given(st.floats(0, 1e18), st.floats(0, 1e18), st.integers(1, 12))
def test_a_scale_covers_its_values_with_few_ticks(one, other, count):
    low, high = sorted((one, other))

    scale = linear(high, low=low, count=count).over(0, 100)

    assert len(scale.ticks) <= 2 * count + 4
    assert 0 <= scale.at(low) <= scale.at(high) <= 100


@given(st.floats(1e-15, 1e18), st.floats(1e-15, 1e18), st.booleans())
def test_a_logarithm_covers_its_values_with_few_ticks(one, other, tight):
    low, high = sorted((one, other))

    scale = logarithmic(low, high, short, tight=tight).over(0, 100)

    assert len(scale.ticks) <= 24
    assert -1e-9 <= scale.at(low) <= scale.at(high) <= 100 + 1e-9


def test_everything_on_a_canvas_is_escaped():
    canvas = Canvas(100, "p")
    nasty = "</text><script>alert(1)</script>\"'&"

    canvas.text(1, 2, nasty)
    canvas.rect((0, 1), (0, 1), 'box "', nasty)

    assert "<script" not in canvas.body and 'box "' not in canvas.body.replace('class="box &quot;"', "")


def test_a_text_is_cut_to_its_room():
    assert fitted("merge", 100) == "merge"
    assert fitted("a very long name of a thing", 60) == "a very …"
    assert fitted("abc", 0) == "…"
