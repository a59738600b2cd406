"""Options of the store as text."""

import pytest

import lsm
from bench.workload.options import changed_options, parse_options


def test_text_becomes_what_the_store_takes():
    found = parse_options(
        [
            "memtable_bytes_max=4MiB",
            "level-ratio = 4",
            "bloom_bits_per_key=5.5",
            "mmap=no",
            "hash_index=TRUE",
            "log_retention_bytes=none",
            "policy=tiered",
        ]
    )

    options = lsm.Options().with_changes(found)
    assert options.memtable_bytes_max == 4 * 1024 * 1024
    assert (options.level_ratio, options.bloom_bits_per_key) == (4, 5.5)
    assert (options.mmap, options.hash_index) == (False, True)
    assert options.log_retention_bytes is None and options.policy == "tiered"


def test_every_option_can_be_given_as_its_own_text():
    for name, value in lsm.Options().to_json().items():
        assert lsm.Options().with_changes(parse_options([f"{name}={value}"])) == lsm.Options(), name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("levle_ratio=3", "did you mean level_ratio?"),
        ("level_ratio=x", "whole number"),
        ("level_ratio=1", "from 2 to 100"),
        ("level_ratio", "name=value"),
        ("=3", "unknown option"),
        ("mmap=perhaps", "True, False"),
        ("policy=foo", "leveled, tiered, lazy"),
        ("memtable_bytes_max=4 elephants", "64MiB"),
        ("bloom_bits_per_key=nan", "bloom_bits_per_key"),
        ("level_ratio=" + "9" * 5000, "level_ratio"),
    ],
)
def test_wrong_ones_are_refused_with_advice(text, said):
    with pytest.raises(ValueError, match=r"option|must be") as caught:
        parse_options([text])

    assert said in str(caught.value) and len(str(caught.value)) < 600


def test_an_option_is_given_once():
    with pytest.raises(ValueError, match="twice"):
        parse_options(["level_ratio=4", "level-ratio=5"])


def test_only_what_differs_is_shown():
    assert changed_options(lsm.Options()) == {}
    assert changed_options(lsm.Options(level_ratio=4, sync="os")) == {"sync": "os", "level_ratio": 4}
