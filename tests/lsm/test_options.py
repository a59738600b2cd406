"""Settings: sizes as text, names that are nearly right, ranges, and what is kept with the store."""

import dataclasses
import json

import pytest

import lsm
from lsm.options import GIB, KIB, MIB, Options, options_from_json, parse_size
from tests.lsm.stores import MANUAL, open_memory
from tests.support.memfs import MemFS


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("4KiB", 4 * KIB),
        ("64MiB", 64 * MIB),
        (" 64 mib ", 64 * MIB),
        ("1.5GiB", 3 * GIB // 2),
        ("2kb", 2000),
        ("3MB", 3_000_000),
        ("1gb", 10**9),
    ],
)
def test_sizes_as_text(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "64Mi", "6 4MiB", "0x10", "１KiB", "1..5", "nan"])
def test_other_text_is_no_size(text):
    with pytest.raises(lsm.InvalidArgument, match='such as "64MiB"'):
        parse_size(text)


def test_sizes_as_text_work_where_sizes_are_meant_and_nowhere_else():
    assert Options().with_changes({"memory_limit": "64MiB"}).memory_limit == 64 * MIB
    with pytest.raises(lsm.InvalidArgument, match="level_ratio"):
        Options().with_changes({"level_ratio": "10"})


@pytest.mark.parametrize(
    ("name", "meant"),
    [("memtable_byte_max", "memtable_bytes_max"), ("Sync", "sync"), ("blockbytes", "block_bytes")],
)
def test_an_unknown_option_suggests_the_nearest(name, meant):
    with pytest.raises(lsm.InvalidArgument, match=f"unknown option {name}; did you mean {meant}"):
        Options().with_changes({name: 1})


def test_an_option_that_is_like_none_gets_the_whole_list():
    with pytest.raises(lsm.InvalidArgument, match="known are background, block_bytes"):
        Options().with_changes({"qqq": 1})


BAD = [
    ("sync", "never"),
    ("sync", None),
    ("sync", True),
    ("sync", []),
    ("sync_interval_ms", 0),
    ("memory_limit", 1),
    ("memory_limit", True),
    ("memory_limit", 1e7),
    ("memory_limit", None),
    ("block_bytes", 0),
    ("block_bytes", 100.5),
    ("block_bytes", None),
    ("block_bytes", "1 parsec"),
    ("compression", "gzip"),
    ("compression", 3),
    ("compression", None),
    ("bloom_bits_per_key", -1),
    ("bloom_bits_per_key", 65),
    ("bloom_bits_per_key", "x"),
    ("bloom_bits_per_key", None),
    ("bloom_bits_per_key", float("nan")),
    ("bloom_bits_per_key", float("inf")),
    ("bloom_bits_per_key", True),
    ("hash_index", 1),
    ("hash_index", "yes"),
    ("mmap", None),
    ("verify_checksums", 0),
    ("table_bytes_max", 255),
    ("level_ratio", 1),
    ("level_ratio", 101),
    ("levels_max", 1),
    ("l0_tables_max", 0),
    ("l0_tables_slow", 3),
    ("l0_tables_stop", 12),
    ("sealed_max", 0),
    ("tombstone_age_seconds", -1),
    ("background", "cron"),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{name}={value!r}" for name, value in BAD])
def test_a_value_that_cannot_be_is_refused_by_name(name, value):
    with pytest.raises(lsm.InvalidArgument, match=name):
        Options().with_changes({name: value})


def test_tables_are_cut_at_twice_a_memtable_unless_told_otherwise():
    assert Options().table_bytes == 32 * 1024 * 1024 == 2 * Options().seal_bytes
    assert Options(memtable_bytes_max=1 << 20).table_bytes == 2 << 20
    assert Options(memtable_bytes_max=1 << 30).table_bytes == 32 << 20
    assert Options(memory_limit=1 << 20).table_bytes == 1 << 20 > 2 * Options(memory_limit=1 << 20).seal_bytes
    assert Options(memtable_bytes_max=1).table_bytes == 256
    assert Options(memtable_bytes_max=1 << 20, table_bytes_max=5 << 20).table_bytes == 5 << 20


def test_a_wrong_option_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(lsm.InvalidArgument):
        lsm.open(tmp_path / "db", level_ratio=1)

    assert not (tmp_path / "db").exists()


def test_options_are_plain_values_and_come_back_from_json():
    options = Options(level_ratio=4, compression="zlib", bloom_bits_per_key=0.0)

    assert options_from_json(json.loads(json.dumps(options.to_json()))) == options


def test_an_option_that_a_later_version_gave_up_is_passed_over():
    assert options_from_json({"level_ratio": 4, "gone_in_version_9": 1}).level_ratio == 4


def test_options_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().level_ratio = 3


def test_options_are_kept_with_the_store_and_replaced_by_the_ones_given():
    fs = MemFS()
    open_memory(fs, options={**MANUAL, "level_ratio": 4, "block_bytes": 128}).close()
    db = open_memory(fs, options={"level_ratio": 5})

    assert (db.options.level_ratio, db.options.block_bytes, db.options.background) == (5, 128, "manual")
    db.close()
    assert open_memory(fs).options.level_ratio == 5


def test_what_a_reader_asks_for_is_not_kept():
    fs = MemFS()
    open_memory(fs, options={**MANUAL, "level_ratio": 4}).close()
    assert open_memory(fs, "r", options={"level_ratio": 9}).options.level_ratio == 9
    assert open_memory(fs).options.level_ratio == 4
