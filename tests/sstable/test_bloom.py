"""The filter forgets no key, and is wrong about others as often as the theory says."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable import key_hash, key_hashes
from sstable.bloom import BITS_MAX, PROBES_MAX, BloomFilter, build_filter, filter_bytes, probe_count
from sstable.hashing import second_hash


def filter_over(keys, bits_per_key) -> BloomFilter:
    size = filter_bytes(len(keys), bits_per_key)
    return BloomFilter(build_filter(*key_hashes(keys), size), 0, size, keys=len(keys))


@given(st.sets(st.binary(max_size=20), min_size=1), st.floats(1, 20))
def test_no_key_is_forgotten(keys, bits_per_key):
    bloom = filter_over(list(keys), bits_per_key)

    assert bloom.may_contain_many(*key_hashes(list(keys))).all()


@given(st.sets(st.binary(max_size=3), min_size=1), st.lists(st.binary(max_size=3)))
def test_one_key_and_many_get_the_same_answer(keys, others):
    bloom = filter_over(list(keys), 5)
    asked = [*keys, *others]

    many = bloom.may_contain_many(*key_hashes(asked)).tolist()

    assert many == [bloom.may_contain(key_hash(key), second_hash(key)) for key in asked]


@pytest.mark.parametrize("bits_per_key", [5, 10, 16])
@pytest.mark.parametrize("count", [10_000, 300_000])
def test_false_positives_are_within_a_tenth_of_theory(bits_per_key, count):
    bloom = filter_over([b"present%d" % n for n in range(count)], bits_per_key)
    absent = [b"absent%d" % n for n in range(1_000_000)]

    measured = bloom.may_contain_many(*key_hashes(absent)).mean()

    probes = probe_count(bits_per_key * count, count)
    theory = (1 - exp(-probes / bits_per_key)) ** probes
    assert measured == pytest.approx(theory, rel=0.1)


def test_the_filter_works_inside_a_larger_memory():
    keys = [b"a", b"b"]
    bits = build_filter(*key_hashes(keys), 8)
    bloom = BloomFilter(b"\xff" * 10 + bits + b"\xff" * 10, 10, 8, keys=2)

    assert bloom.may_contain_many(*key_hashes(keys)).all()
    assert not bloom.may_contain(key_hash(b"zebra"), second_hash(b"zebra"))


@pytest.mark.parametrize(
    ("bits", "keys", "probes"), [(10, 1, 7), (5, 1, 3), (16, 1, 11), (1, 10, 1), (10**6, 1, PROBES_MAX)]
)
def test_probes_follow_from_bits_and_keys(bits, keys, probes):
    assert probe_count(bits, keys) == probes


def test_a_filter_has_whole_words_and_never_more_bits_than_a_probe_can_reach():
    assert filter_bytes(0, 10) == 0
    assert filter_bytes(1, 10) == 8
    assert filter_bytes(100, 10) == 128
    assert filter_bytes(100, 0) == 0
    assert filter_bytes(2**40, 10) == BITS_MAX // 8


def test_hashes_are_what_the_format_says():
    h1, h2 = key_hashes([b"", b"apple"])

    # Murmur3, 32 bits: published test vectors for the empty string, and one more.
    assert h1.tolist() == [0, key_hash(b"apple")]
    assert h2.tolist() == [0xEBB6C228, second_hash(b"apple")]
    assert h1.dtype == h2.dtype == np.uint32
