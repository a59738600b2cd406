"""The facts of a table survive JSON, and nonsense is refused."""

import json
from dataclasses import replace

import pytest

from sstable import MAX_SEQ, TableMeta, TableOptions

META = TableMeta(
    number=12,
    size_bytes=400,
    entries=3,
    tombstones=1,
    distinct_keys=2,
    smallest=b"",
    largest=b"\xff\x00",
    min_seq=3,
    max_seq=7,
    seq_base=100,
    key_bytes=9,
    value_bytes=8,
    oldest_tombstone_time=5,
    crc=2**32 - 1,
)


def test_facts_survive_json():
    assert TableMeta.from_json(json.loads(json.dumps(META.to_json()))) == META


def test_json_holds_plain_numbers_and_keys_in_hexadecimal():
    facts = META.to_json()

    assert facts["smallest"] == ""
    assert facts["largest"] == "ff00"
    assert all(type(fact) is int for name, fact in facts.items() if name not in ("smallest", "largest"))


@pytest.mark.parametrize("name", [name for name, fact in META.to_json().items() if isinstance(fact, int)])
@pytest.mark.parametrize("nonsense", [-1, 2**63, 1.0, True, "1", None, [1]], ids=repr)
def test_numbers_that_are_none_are_refused(name, nonsense):
    with pytest.raises(ValueError, match=name):
        TableMeta.from_json({**META.to_json(), name: nonsense})


@pytest.mark.parametrize("nonsense", [b"ff", "xy", "f", 7, None], ids=repr)
def test_keys_that_are_no_hexadecimal_text_are_refused(nonsense):
    with pytest.raises(ValueError):
        TableMeta.from_json({**META.to_json(), "largest": nonsense})


def test_missing_and_unknown_facts_are_refused_by_name():
    facts = META.to_json()
    del facts["crc"]

    with pytest.raises(ValueError, match="crc"):
        TableMeta.from_json(facts)
    with pytest.raises(ValueError, match="colour"):
        TableMeta.from_json({**META.to_json(), "colour": 1})


@pytest.mark.parametrize(
    "change",
    [
        {"smallest": b"z", "largest": b"a"},
        {"min_seq": 8},
        {"max_seq": MAX_SEQ},  # beyond 2^63 once seq_base is added
        {"distinct_keys": 0},
        {"distinct_keys": 4},
        {"tombstones": 4},
        {"crc": 2**32},
        {"smallest": "text"},
    ],
    ids=str,
)
def test_facts_that_contradict_each_other_are_refused(change):
    with pytest.raises(ValueError):
        replace(META, **change)


@pytest.mark.parametrize(
    "options",
    [
        {"block_bytes": 0},
        {"block_bytes": 1 << 40},
        {"compression": "snappy"},
        {"bloom_bits_per_key": -1},
        {"bloom_bits_per_key": 1000},
        {"bloom_bits_per_key": float("nan")},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused_by_name(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        TableOptions(**options)
