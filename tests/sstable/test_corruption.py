"""Every byte of a table flipped, every length cut: right answers or a typed error, and `verify` finds it."""

from copy import copy

import pytest

from sstable import CorruptTable, Table
from tests.sstable.memory import MemoryFile, Written, put, write
from tests.sstable.trials import ask_all, is_found_by_verify, small_table

SHAPES = {
    "plain": {},
    "searched": {"hash_index": False},
    "zlib": {"compression": "zlib"},
    "lz4": {"compression": "lz4", "hash_index": False},
    "zstd": {"compression": "zstd"},
}
MASKS = (0x01, 0x80, 0xFF)

every_shape = pytest.mark.parametrize("shape", SHAPES)


@pytest.fixture(scope="module")
def tables() -> dict[str, Written]:
    return {name: small_table(**options) for name, options in SHAPES.items()}


def flipped(data: bytes, at: int, mask: int) -> bytes:
    damaged = bytearray(data)
    damaged[at] ^= mask
    return bytes(damaged)


@every_shape
def test_the_tables_are_sound_and_of_several_blocks(tables, shape):
    table = tables[shape]

    assert 1500 < len(table.data) < 3000
    assert table.open().block_count >= 5
    assert ask_all(table.data, table) == 0
    assert not is_found_by_verify(table.data, table)


@every_shape
def test_every_flipped_byte_is_harmless_or_refused(tables, shape):
    table = tables[shape]

    for mask in MASKS:
        for at in range(len(table.data)):
            ask_all(flipped(table.data, at, mask), table, use_map=mask != 0x80)


@every_shape
def test_verify_finds_every_flipped_byte(tables, shape):
    table = tables[shape]

    missed = [
        (at, mask, how)
        for how in (Table.verify, Table.verify_checksums)
        for mask in MASKS
        for at in range(len(table.data))
        if not is_found_by_verify(flipped(table.data, at, mask), table, how)
    ]

    assert missed == []


@every_shape
def test_every_other_length_is_refused(tables, shape):
    table = tables[shape]

    for size in range(len(table.data)):
        with pytest.raises(CorruptTable, match="bytes, not"):
            Table(MemoryFile(table.data[:size]), table.meta)
    for tail in (b"\0", bytes(4096), table.data):
        with pytest.raises(CorruptTable, match="bytes, not"):
            Table(MemoryFile(table.data + tail), table.meta)


@every_shape
def test_a_zeroed_sector_is_refused(tables, shape):
    table = tables[shape]

    for start in range(0, len(table.data), 512):
        sector = table.data[start : start + 512]
        damaged = table.data[:start] + bytes(len(sector)) + table.data[start + 512 :]

        assert ask_all(damaged, table) > 0
        assert is_found_by_verify(damaged, table)


@every_shape
def test_swapped_sectors_are_refused(tables, shape):
    data = tables[shape].data
    first, second = data[:512], data[512:1024]

    damaged = second + first + data[1024:]

    assert ask_all(damaged, tables[shape]) > 0
    assert is_found_by_verify(damaged, tables[shape])


def test_one_bad_block_leaves_the_others_readable(tables):
    table = tables["plain"]
    damaged = flipped(table.data, 20, 0xFF)

    refusals = ask_all(damaged, table)

    # The scan, the columns, and the keys of the first block at two snapshots.
    assert 2 < refusals < 20


def test_without_verification_damage_to_a_value_passes_but_damage_to_the_layout_does_not():
    table = write([put(b"key", 1, b"value")])
    at = table.data.index(b"value")

    unverified = Table(MemoryFile(flipped(table.data, at, 0x20)), table.meta, verify=False)
    assert dict(unverified.scan()) == {b"key": b"Value"}

    with pytest.raises(CorruptTable):
        list(Table(MemoryFile(flipped(table.data, 0, 0xFF)), table.meta, verify=False).scan())


def test_an_error_survives_the_way_to_another_process():
    error = copy(CorruptTable("block checksum does not match", offset=77))

    assert (type(error), error.what, error.offset) == (CorruptTable, "block checksum does not match", 77)
    assert str(error) == "block checksum does not match at byte 77"
