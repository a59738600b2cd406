"""The order of entries, against Python's own sort."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compaction import Ordered, merge, sort_columns
from compaction.keys import KeyWords
from sstable import Columns, Kind
from tests.compaction.memory import Entry, columns_of, entries_of, in_order, put

# Few different bytes, so that keys tie often; zeros, because words are padded with them.
RAGGED = st.lists(
    st.sampled_from([b"", b"\0", b"\1", b"\xff", b"a", b"abcdefgh", b"\0" * 8]), max_size=6
).map(b"".join)
LONG = st.builds(
    lambda count, tail: b"p" * count + tail, st.sampled_from([7, 8, 9, 250, 264, 300, 520, 700]), RAGGED
)
KEYS = st.one_of(RAGGED, LONG, st.binary(max_size=20))
KINDS = st.sampled_from([Kind.PUT, Kind.DELETE])


@st.composite
def histories(draw: st.DrawFn, keys: st.SearchStrategy[bytes] = KEYS) -> list[Entry]:
    """Entries in log order, every seq used once."""
    pool = draw(st.lists(keys, min_size=1, max_size=12))
    writes = draw(st.lists(st.tuples(st.sampled_from(pool), KINDS), max_size=60))
    return [(key, seq, kind, b"%d" % seq) for seq, (key, kind) in enumerate(writes, start=1)]


def check(ordered: Ordered, entries: list[Entry]) -> None:
    expected = in_order(entries)
    keys = [key for key, *_ in expected]
    assert entries_of(ordered.columns.take(ordered.positions)) == expected
    assert ordered.key_starts.tolist() == [
        not rank or keys[rank] != keys[rank - 1] for rank in range(len(keys))
    ]
    assert ordered.seqs.tolist() == [seq for _, seq, *_ in expected]
    assert ordered.kinds.tolist() == [kind for _, _, kind, _ in expected]
    assert [ordered.key(rank) for rank in range(len(keys))] == keys


@given(histories())
@example([put(b"a\0", 1), put(b"a", 2), put(b"a\0\0", 3), put(b"", 4)])
@example([put(b"\0", 1), put(b"", 2), put(b"p" * 300, 3), put(b"p" * 300, 4)])
@example(
    [put(b"p" * 600 + b"b", 1), put(b"p" * 600, 2), put(b"p" * 600 + b"b", 3), put(b"p" * 600 + b"a", 4)]
)
def test_unsorted_entries_are_ordered_by_key_and_newest_first(entries):
    check(sort_columns(columns_of(entries)), entries)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_how_entries_arrive(entries, rng):
    rng.shuffle(entries)

    check(sort_columns(columns_of(entries)), entries)


@given(histories(), st.lists(st.integers(0, 3), max_size=60))
def test_runs_are_merged_as_if_sorted_together(entries, run_numbers):
    runs: list[list[Entry]] = [[], [], [], []]
    for entry, number in zip(entries, run_numbers, strict=False):
        runs[number].append(entry)

    ordered = merge([columns_of(in_order(run)) for run in runs])

    check(ordered, [entry for run in runs for entry in run])


@given(histories(), st.data())
def test_a_slice_of_columns_is_ordered_like_the_same_entries_alone(entries, data):
    start, stop = sorted(data.draw(st.tuples(st.integers(0, len(entries)), st.integers(0, len(entries)))))

    check(sort_columns(columns_of(entries).slice(start, stop)), entries[start:stop])


@pytest.mark.parametrize("key", [b"", b"hot", b"k" * 16, b"x" * 300], ids=len)
def test_thousands_of_versions_of_one_key(key, seed):
    entries = [put(key, seq) for seq in range(1, 5000)]
    random.Random(seed).shuffle(entries)

    check(sort_columns(columns_of(entries)), entries)


def test_many_random_keys_of_every_length(seed):
    rng = random.Random(seed)
    keys = [rng.randbytes(rng.randrange(40)) for _ in range(3000)] * 2
    entries = [put(key, seq) for seq, key in enumerate(rng.sample(keys, len(keys)))]

    check(sort_columns(columns_of(entries)), entries)


def test_large_offsets_and_sixty_four_bit_ones_are_understood():
    columns = columns_of([put(b"b", 1), put(b"a", 2)])
    columns.key_offsets = columns.key_offsets.astype(np.int64)

    check(sort_columns(columns), [put(b"b", 1), put(b"a", 2)])


def test_sorted_entries_are_taken_without_a_copy():
    columns = columns_of([put(b"a", 2), put(b"a", 1), put(b"b", 3)])
    ordered = merge([columns])

    assert ordered.take(np.array([True, True, True])) is columns
    assert entries_of(ordered.take(np.array([True, False, True]))) == [put(b"a", 2), put(b"b", 3)]


def test_entries_that_move_are_copied_even_if_all_are_kept():
    ordered = sort_columns(columns_of([put(b"b", 1), put(b"a", 2)]))

    assert entries_of(ordered.take(np.array([True, True]))) == [put(b"a", 2), put(b"b", 1)]


@pytest.mark.parametrize(
    ("keys", "length"),
    [
        ([b"same"], 4),
        ([b"user1", b"user2"], 4),
        ([b"user", b"user2"], 4),
        ([b"12345678", b"12345678x"], 8),
        ([b"12345678a", b"12345678b"], 8),
        ([b"a", b"b"], 0),
        ([b"", b"b"], 0),
        ([b"\0\0\0a", b"\0\0\0"], 3),
        ([b"\0\0\0a", b"\0"], 1),
    ],
)
def test_the_common_prefix_is_what_all_keys_begin_with(keys, length):
    words = KeyWords(columns_of(put(key, seq) for seq, key in enumerate(keys)))

    assert words.common_prefix() == length


def test_no_entries_have_an_order_too():
    check(sort_columns(columns_of([])), [])
    check(merge([]), [])
    assert len(merge([Columns.concat([])])) == 0
