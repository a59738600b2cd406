import numpy as np
import pytest

from bench.data import Data, cut
from tests.bench.stores import tiny_data


def test_keys_have_their_width_and_sort_like_their_numbers(seed):
    data = tiny_data(seed)

    keys = data.keys(np.arange(data.count))

    assert {len(key) for key in keys} == {16}
    assert keys == sorted(keys) and len(set(keys)) == data.count
    assert keys[7] == data.key(7)


def test_missing_keys_are_no_keys_but_lie_between_them(seed):
    data = tiny_data(seed)
    everything = np.arange(data.count)

    missing, keys = data.missing(everything), data.keys(everything)

    assert not set(missing) & set(keys)
    assert all(key < gap for key, gap in zip(keys, missing, strict=True))
    assert all(gap < key for gap, key in zip(missing, keys[1:], strict=False))


def test_the_same_seed_gives_the_same_data_in_new_objects(seed):
    first, second = tiny_data(seed), tiny_data(seed)

    keys, values = first.pairs(first.shuffled(1))
    keys_again, values_again = second.pairs(second.shuffled(1))

    assert (keys, values) == (keys_again, values_again)
    assert keys[0] is not keys_again[0]


def test_another_seed_gives_another_order_and_other_values(seed):
    first, second = tiny_data(seed), tiny_data(seed + 1)

    assert first.shuffled(1).tolist() != second.shuffled(1).tolist()
    assert first.value(5) != second.value(5)


def test_a_value_depends_on_entry_and_version(seed):
    data = tiny_data(seed)
    _, values = data.pairs(np.array([3, 4]), version=1)

    assert values == [data.value(3, 1), data.value(4, 1)]
    assert len({data.value(3), data.value(4), data.value(3, 1)}) == 3
    assert {len(value) for value in values} == {20}


def test_keys_that_do_not_fit_are_refused(seed):
    with pytest.raises(ValueError, match="do not fit into 8 bytes"):
        Data.make(10**9, key_bytes=8, value_bytes=1, seed=seed)


def test_pairs_are_cut_into_batches(seed):
    data = tiny_data(seed)
    keys, values = data.pairs(np.arange(25))

    batches = cut((keys, values), 10)

    assert [len(part) for part, _ in batches] == [10, 10, 5]
    assert [key for part, _ in batches for key in part] == keys
    assert [value for _, part in batches for value in part] == values
