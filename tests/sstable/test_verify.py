"""`verify` compares every part with the entries, also where checksums hold."""

from dataclasses import replace

import numpy as np
import pytest

from sstable import CorruptTable, Table
from sstable.block_encoder import encode_block
from tests.sstable.forge import Forgery
from tests.sstable.memory import MemoryFile, Written, columns_of, delete, put, write

ENTRIES = [
    put(b"a", 9, b"one"),
    put(b"b", 4, b"two"),
    put(b"b", 2, b"2"),
    delete(b"c", 6),
    put(b"dd", 7, b"three"),
]


def verify(data: bytes, meta) -> None:
    Table(MemoryFile(data), meta).verify()


def with_block(entries) -> Written:
    """The table with its only block replaced by one of `entries`, all checksums made to fit."""
    table = write(ENTRIES)
    forgery = Forgery(table)
    forgery.replace_block(0, encode_block(columns_of(entries)))
    return forgery.sealed()


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ([ENTRIES[1], ENTRIES[0], *ENTRIES[2:]], "keys do not rise"),
        ([ENTRIES[0], ENTRIES[2], ENTRIES[1], *ENTRIES[3:]], "do not fall"),
        ([ENTRIES[0]._replace(key=b"A"), *ENTRIES[1:]], "properties"),
        ([ENTRIES[0], ENTRIES[1]._replace(key=b"a"), *ENTRIES[2:]], "hash index"),
        ([ENTRIES[0]._replace(value=b"ONE"), *ENTRIES[1:]], None),
    ],
    ids=["keys swapped", "versions swapped", "key changed", "version of another key", "value changed"],
)
def test_entries_that_contradict_the_rest_of_the_table_are_found(entries, what):
    forged = with_block(entries)

    if what is None:
        verify(forged.data, forged.meta)  # nothing but the checksums, which were made to fit, knew of it
        return
    with pytest.raises(CorruptTable, match=what):
        verify(forged.data, forged.meta)


@pytest.mark.parametrize("section", ["bloom_filter", "hash_index"])
def test_a_section_that_misses_a_key_is_found(section):
    table = write([put(b"key%d" % n, n) for n in range(30)])
    forgery = Forgery(table)
    handle = getattr(forgery.footer, section)
    content = np.frombuffer(bytes(forgery.data[handle.offset : handle.stop]), np.uint8)
    at = handle.offset + int(np.flatnonzero(content)[0])
    forgery.data[at] = 0
    forged = forgery.sealed()

    with pytest.raises(CorruptTable, match="does not fit the keys") as caught:
        verify(forged.data, forged.meta)
    assert caught.value.offset == handle.offset


@pytest.mark.parametrize(
    "change",
    [
        {"smallest": b""},
        {"min_seq": 0},
        {"max_seq": 1000},
        {"key_bytes": 1000},
        {"value_bytes": 1000},
        {"oldest_tombstone_time": 77},
        {"tombstones": 3},
    ],
    ids=str,
)
def test_a_manifest_that_knows_other_facts_is_found(change):
    table = write(ENTRIES)

    with pytest.raises(CorruptTable):
        verify(table.data, replace(table.meta, **change))


def test_what_was_read_before_is_read_again():
    table = write(ENTRIES)
    file = MemoryFile(table.data)
    opened = Table(file, table.meta, use_map=False)
    opened.verify()

    file.data[10] ^= 1

    with pytest.raises(CorruptTable, match="block checksum"):
        opened.verify()


def test_checksums_alone_tell_damage_but_not_forgery():
    table = write(ENTRIES)
    damaged = bytearray(table.data)
    damaged[10] ^= 1
    with pytest.raises(CorruptTable, match="block checksum"):
        Table(MemoryFile(damaged), table.meta).verify_checksums()

    forged = with_block([ENTRIES[1], ENTRIES[0], *ENTRIES[2:]])
    forged.open().verify_checksums()
    with pytest.raises(CorruptTable):
        forged.open().verify()


def test_sections_may_be_left_out():
    table = write(ENTRIES, bloom_bits_per_key=0.0, hash_index=False)

    verify(table.data, table.meta)


def test_padding_that_is_not_zero_is_found():
    table = write([put(b"a", 1, b"x" * 500)], compression="zlib")
    stored = table.open()._index.handle(0).stored_bytes
    assert stored % 8, "the block must leave room for padding"
    damaged = bytearray(table.data)
    damaged[stored] = 1

    with pytest.raises(CorruptTable, match="padding") as caught:
        verify(bytes(damaged), table.meta)
    assert caught.value.offset == stored
