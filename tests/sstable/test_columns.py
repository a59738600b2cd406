"""Columns hold the same entries as lists of tuples do, whatever is done to them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable import Columns
from sstable.byte_strings import fixed_width, take
from tests.sstable.memory import columns_of, delete, entries_of, put, some_entries

FRUIT = [put(b"apple", 7, b"red"), put(b"apple", 3, b"green"), delete(b"plum", 5)]


def offsets(*numbers):
    return np.array(numbers, np.int32)


@given(some_entries(min_size=0))
def test_entries_come_back_from_columns(entries):
    columns = columns_of(entries)

    assert len(columns) == len(entries)
    assert entries_of(columns) == entries


@given(some_entries(), st.data())
def test_a_slice_holds_the_entries_between_its_bounds(entries, data):
    start = data.draw(st.integers(0, len(entries)))
    stop = data.draw(st.integers(start, len(entries)))

    part = columns_of(entries).slice(start, stop)

    assert entries_of(part) == entries[start:stop]
    assert part.key_bytes == sum(len(entry.key) for entry in entries[start:stop])
    assert part.value_bytes == sum(len(entry.value) for entry in entries[start:stop])
    assert [part.key(n) for n in range(len(part))] == [entry.key for entry in entries[start:stop]]
    assert [part.value(n) for n in range(len(part))] == [entry.value for entry in entries[start:stop]]


def test_a_slice_shares_its_data_and_a_copy_does_not():
    whole = columns_of(FRUIT)
    part = whole.slice(1, 3)

    assert np.shares_memory(part.key_data, whole.key_data)
    assert np.shares_memory(part.seqs, whole.seqs)

    own = part.copy()

    assert entries_of(own) == FRUIT[1:]
    assert own.key_offsets[0] == 0
    for name in ("key_offsets", "key_data", "seqs", "kinds", "value_offsets", "value_data"):
        assert not np.shares_memory(getattr(own, name), getattr(whole, name))


@given(some_entries(min_size=0), st.data())
def test_slices_put_together_are_the_whole(entries, data):
    columns = columns_of(entries)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(entries)), max_size=4)))

    parts = [
        columns.slice(start, stop) for start, stop in zip([0, *cuts], [*cuts, len(entries)], strict=True)
    ]

    assert entries_of(Columns.concat(parts)) == entries


def test_no_columns_put_together_are_empty():
    assert entries_of(Columns.concat([])) == []


@given(some_entries(), st.data())
def test_taken_entries_come_in_the_order_asked_for(entries, data):
    start = data.draw(st.integers(0, len(entries) - 1))
    part = columns_of(entries).slice(start, len(entries))
    wanted = data.draw(st.lists(st.integers(0, len(part) - 1), max_size=50))

    taken = part.take(np.array(wanted, np.int64))

    assert entries_of(taken) == [entries[start + index] for index in wanted]


@pytest.mark.parametrize("width", [1, 8, 60, 300], ids="values of {} bytes".format)
@pytest.mark.parametrize("kept", [0.02, 0.5, 1.0], ids="{:.0%} kept".format)
def test_every_way_to_gather_strings_gives_the_same(width, kept):
    random = np.random.default_rng(7)
    widths = random.integers(0, 2 * width + 1, 30_000)
    bounds = np.concatenate([[0], np.cumsum(widths)])
    data = random.integers(0, 256, bounds[-1], dtype=np.uint8)
    indices = np.flatnonzero(random.random(len(widths)) < kept)
    random.shuffle(indices[: len(indices) * 3 // 4])

    taken_offsets, taken = take(bounds, data, indices)

    assert np.array_equal(np.diff(taken_offsets), widths[indices])
    assert taken.tobytes() == b"".join(
        data[bounds[index] : bounds[index + 1]].tobytes() for index in indices.tolist()
    )


def test_taken_indices_may_be_of_any_integer_type():
    columns = columns_of(FRUIT)

    for dtype in (np.int32, np.uint32, np.int64):
        assert entries_of(columns.take(np.array([2, 0], dtype))) == [FRUIT[2], FRUIT[0]]


@pytest.mark.parametrize(
    ("bounds", "width"),
    [
        (offsets(0), None),
        (offsets(0, 4), 4),
        (offsets(3, 7, 11), 4),
        (offsets(0, 0, 0), 0),
        (offsets(0, 4, 7), None),
        (offsets(0, 1, 4, 6), None),  # the sum is that of three times 2
    ],
)
def test_a_width_is_fixed_only_if_all_strings_have_it(bounds, width):
    assert fixed_width(bounds) == width


def test_columns_tell_the_fixed_width_of_keys_and_of_values():
    columns = columns_of([put(b"k1", 1, b""), put(b"k2", 2, b"long")])

    assert columns.fixed_key_width == 2
    assert columns.fixed_value_width is None
    assert columns.slice(1, 2).fixed_value_width == 4
    assert columns.slice(0, 0).fixed_key_width is None


def test_offsets_are_as_narrow_as_arrow_wants_them():
    columns = columns_of(FRUIT)

    for batch in (columns, Columns.concat([columns, columns]), columns.take(np.array([1])), columns.copy()):
        assert batch.key_offsets.dtype == np.int32
        assert batch.value_offsets.dtype == np.int32


def test_offsets_of_64_bits_are_understood():
    columns = columns_of(FRUIT)
    columns.key_offsets = columns.key_offsets.astype(np.int64)

    assert entries_of(columns.slice(0, 2)) == FRUIT[:2]
    assert entries_of(columns.take(np.array([2]))) == FRUIT[2:]
    assert entries_of(Columns.concat([columns, columns])) == FRUIT * 2
