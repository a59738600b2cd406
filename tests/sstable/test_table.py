"""A table answers by key, by range and by block as its entries say, however it is stored and opened."""

import gc
import mmap
import os
import weakref
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstable import DELETED, MAX_SEQ, CorruptTable, Table, key_hash, key_hashes
from tests.sstable.memory import (
    STORE_ID,
    MemoryCache,
    MemoryFile,
    Written,
    delete,
    entries_of,
    keys,
    put,
    some_entries,
    visible,
    write,
)

SHAPES = [
    {},
    {"hash_index": False},
    {"hash_index": False, "bloom_bits_per_key": 0.0},
    {"compression": "zlib"},
    {"compression": "lz4", "hash_index": False},
    {"compression": "zstd"},
]
shapes = st.sampled_from(SHAPES)
ways = st.sampled_from([{}, {"use_map": False}, {"verify": False}])


def get(table: Table, key: bytes, seq_max: int = MAX_SEQ):
    return table.get(key, key_hash(key), seq_max)


def in_range(pairs, start, stop):
    return {
        key: value
        for key, value in pairs.items()
        if (start is None or start <= key) and (stop is None or key < stop)
    }


class TestModel:
    """Against the definition, on tables of many small blocks."""

    @given(some_entries(max_size=60), shapes, ways, st.lists(keys), st.integers(0, MAX_SEQ))
    def test_get_finds_the_newest_visible_entry(self, entries, shape, way, others, seq_max):
        table = write(entries, block_bytes=64, **shape).open(cache=MemoryCache(), **way)

        for limit in (MAX_SEQ, seq_max, entries[0].seq):
            expected = visible(entries, limit)
            for key in [*(entry.key for entry in entries), *others]:
                assert get(table, key, limit) == expected.get(key)

    @given(some_entries(max_size=60), keys, st.integers(0, MAX_SEQ))
    def test_get_entry_tells_seq_and_kind(self, entries, other, seq_max):
        table = write(entries, block_bytes=64).open()

        for limit in (MAX_SEQ, seq_max):
            for key in [*(entry.key for entry in entries), other]:
                versions = [entry for entry in entries if entry.key == key and entry.seq <= limit]
                expected = max(versions, key=lambda entry: entry.seq, default=None)
                assert table.get_entry(key, limit) == (expected and expected[1:])

    @given(
        some_entries(max_size=60),
        shapes,
        st.none() | keys,
        st.none() | keys,
        st.booleans(),
        st.sampled_from([MAX_SEQ, 10, 2**16]),
    )
    def test_scan_shows_each_key_of_the_range_once(self, entries, shape, start, stop, reverse, seq_max):
        table = write(entries, block_bytes=64, **shape).open()

        found = list(table.scan(start, stop, reverse=reverse, seq_max=seq_max))

        expected = list(in_range(visible(entries, seq_max), start, stop).items())
        assert found == (expected[::-1] if reverse else expected)

    @given(some_entries(max_size=60), shapes, st.none() | keys, st.none() | keys)
    def test_columns_hold_all_entries_of_the_range(self, entries, shape, start, stop):
        table = write(entries, block_bytes=64, **shape).open()

        found = [entry for columns in table.columns(start, stop) for entry in entries_of(columns)]

        assert found == [
            entry
            for entry in entries
            if (start is None or start <= entry.key) and (stop is None or entry.key < stop)
        ]

    @given(some_entries(), st.integers(0, 1000), st.integers(0, 1200))
    def test_an_adopted_table_counts_from_its_base(self, entries, seq_base, seq_max):
        entries = [entry for entry in entries if entry.seq <= MAX_SEQ - seq_base] or [put(b"a", 1)]
        adopted = write(entries, block_bytes=64).adopted(seq_base)
        table = adopted.open()
        expected = visible(adopted.entries, seq_max)

        assert dict(table.scan(seq_max=seq_max)) == expected
        assert [entry for columns in table.columns() for entry in entries_of(columns)] == adopted.entries
        for entry in entries:
            assert get(table, entry.key, seq_max) == expected.get(entry.key)
        table.verify()

    @settings(max_examples=30)
    @given(some_entries(max_size=60), shapes, ways)
    def test_a_table_as_written_verifies(self, entries, shape, way):
        write(entries, block_bytes=64, **shape).open(**way).verify()


FRUIT = [put(b"apple", 7, b"red"), put(b"apple", 3, b"green"), put(b"fig", 6, b"blue"), delete(b"plum", 5)]


def numbered(count: int, **options) -> Written:
    return write([put(b"key%05d" % n, n + 1, b"value%05d" % n) for n in range(count)], **options)


class TestPointReads:
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_put_deleted_and_absent_keys_are_told_apart(self, shape):
        table = write(FRUIT, **shape).open()

        assert get(table, b"apple") == b"red"
        assert get(table, b"apple", 6) == b"green"
        assert get(table, b"apple", 2) is None
        assert get(table, b"plum") is DELETED
        assert get(table, b"plum", 4) is None
        assert get(table, b"banana") is None
        assert get(table, b"zebra") is None

    @pytest.mark.parametrize("hash_index", [True, False])
    def test_keys_with_the_same_hash_are_told_apart(self, hash_index, monkeypatch):
        monkeypatch.setattr("sstable.tally.key_hashes", lambda keys: (np.full(len(keys), 7, np.uint32),) * 2)
        monkeypatch.setattr("sstable.lookup.second_hash", lambda key: 7)
        entries = [put(b"%02d" % n, n, b"v%d" % n) for n in range(50)]
        table = write(entries, block_bytes=128, hash_index=hash_index).open()

        assert [table.get(entry.key, 7) for entry in entries] == [entry.value for entry in entries]
        assert table.get(b"absent", 7) is None

    def test_a_get_by_hash_reads_one_block(self):
        table = numbered(1000, block_bytes=1024)
        file = MemoryFile(table.data)
        opened = Table(file, table.meta, use_map=False)
        get(opened, b"key00000")
        file.reads.clear()

        assert get(opened, b"key00500") == b"value00500"
        assert len(file.reads) == 1

    def test_an_absent_key_reads_no_block(self):
        for shape in ({}, {"hash_index": False, "bloom_bits_per_key": 20.0}):
            table = numbered(200, block_bytes=1024, **shape)
            file = MemoryFile(table.data)
            opened = Table(file, table.meta, use_map=False)
            get(opened, b"key00000")
            file.reads.clear()

            assert get(opened, b"no such key") is None
            assert file.reads == []

    def test_a_table_whose_places_fit_no_slot_is_searched(self, monkeypatch):
        monkeypatch.setattr("sstable.hash_index._SLOT_BITS", 2)
        table = write(FRUIT, block_bytes=64)
        monkeypatch.undo()

        assert not table.open().has_hash_index
        assert get(table.open(), b"fig") == b"blue"

    def test_the_filter_knows_many_keys_at_once(self):
        present = [b"key%05d" % n for n in range(500)]
        absent = [b"other%05d" % n for n in range(500)]

        table = numbered(500).open()
        assert table.may_contain_many(*key_hashes(present)).all()
        assert table.may_contain_many(*key_hashes(absent)).mean() < 0.05

        without = numbered(500, bloom_bits_per_key=0.0).open()
        assert without.may_contain_many(*key_hashes(absent)).all()

    def test_empty_keys_and_values_are_legal(self):
        table = write([put(b"", 9, b""), put(b"", 2, b"old"), put(b"\0", 1, b"")]).open()

        assert get(table, b"") == b""
        assert get(table, b"", 3) == b"old"
        assert get(table, b"\0") == b""
        assert list(table.scan()) == [(b"", b""), (b"\0", b"")]

    def test_a_value_of_many_megabytes_is_legal(self):
        large = bytes(range(256)) * (17 * 4096)
        for compression in ("none", "zstd"):
            table = write([put(b"a", 1, b"x"), put(b"b", 2, large)], compression=compression).open()

            assert get(table, b"b") == large
            assert get(table, b"a") == b"x"


class TestBlocks:
    def test_seek_leads_to_the_block_that_would_hold_the_key(self):
        table = numbered(100, block_bytes=256).open()

        assert table.seek(b"") == 0
        assert table.seek(b"zzz") == table.block_count
        for number, last_key in enumerate(table.last_keys):
            assert table.block(number).last_key == last_key
            assert table.seek(last_key) == number
            assert table.seek(last_key + b"\0") == number + 1

    def test_blocks_of_a_range_are_those_that_hold_its_keys(self):
        table = numbered(100, block_bytes=256).open()
        second = table.block(1)

        assert [block.first_key for block in table.blocks(second.first_key, second.last_key)] == [
            second.first_key
        ]
        assert len(list(table.blocks())) == table.block_count
        assert list(table.blocks(b"x", b"y")) == []
        assert list(table.blocks(b"key00050", b"key00010")) == []

    def test_split_keys_cut_the_table_into_ranges_of_about_equal_size(self):
        table = numbered(1000, block_bytes=256).open()

        bounds = [None, *table.split_keys(4), None]
        counts = [sum(1 for _ in table.scan(start, stop)) for start, stop in pairwise(bounds)]

        assert sum(counts) == 1000
        assert len(counts) == 4
        assert max(counts) - min(counts) < 30

    def test_blocks_of_a_map_are_verified_once_and_kept(self):
        table = numbered(100, block_bytes=256).open()

        assert table.block(1) is table.block(1)

    @pytest.mark.parametrize("way", [{"use_map": False}, {}], ids=["not mapped", "compressed"])
    def test_other_blocks_go_through_the_cache(self, way):
        cache = MemoryCache()
        compression = "none" if way else "zlib"
        table = numbered(100, block_bytes=256, compression=compression).open(cache=cache, **way)

        assert table.block(1) is table.block(1)
        assert list(cache.blocks) == [(12 << 32 | table.meta.crc, 1)]
        assert cache.cost_bytes >= 256

    def test_columns_of_a_map_are_not_copied(self):
        table = numbered(100).open()
        data = np.frombuffer(table._source.mapped, np.uint8)

        for columns in table.columns(b"key00010", b"key00020"):
            assert np.shares_memory(columns.key_data, data)
            assert np.shares_memory(columns.value_data, data)


class TestOpening:
    def test_reads_footer_and_block_index_only(self):
        table = numbered(1000, block_bytes=1024)
        file = MemoryFile(table.data)

        Table(file, table.meta, use_map=False)

        assert len(file.reads) == 2
        assert sum(size for _, size in file.reads) < 3000

    @pytest.mark.parametrize("difference", [-200, -1, 1, 4096])
    def test_a_file_of_another_size_is_not_even_mapped(self, difference):
        table = write(FRUIT)
        file = MemoryFile((table.data + bytes(4096))[: len(table.data) + difference])
        file.buffer = None

        with pytest.raises(CorruptTable, match=f"not {len(table.data)}"):
            Table(file, table.meta)

    def test_a_sound_table_in_the_memory_of_another_is_noticed(self):
        mine, other = write(FRUIT), write([entry._replace(seq=entry.seq + 1) for entry in FRUIT])
        assert len(mine.data) == len(other.data)

        with pytest.raises(CorruptTable, match="another table"):
            Table(MemoryFile(other.data), mine.meta)

    def test_a_table_under_another_number_is_noticed(self):
        table = write(FRUIT)

        with pytest.raises(CorruptTable, match="table 12"):
            Table(MemoryFile(table.data), replace(table.meta, number=13))

    def test_a_table_written_for_adoption_takes_any_number(self):
        table = write(FRUIT, number=0)

        assert get(Table(MemoryFile(table.data), replace(table.meta, number=13)), b"fig") == b"blue"

    def test_tells_whose_table_it_is(self):
        table = write(FRUIT).open(name="000012.sst")

        assert table.store_id == STORE_ID
        assert repr(table) == "<Table 12 000012.sst>"

    def test_a_closed_table_says_so(self):
        file = MemoryFile(write(FRUIT).data)
        table = Table(file, write(FRUIT).meta)

        table.close()

        assert file.is_closed
        with pytest.raises(ValueError, match="closed"):
            get(table, b"fig")


class MappedFile:
    """A real file, mapped as the product maps it."""

    def __init__(self, path):
        self.size = os.path.getsize(path)
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)

    def buffer(self):
        return memoryview(self._map)

    def close(self):
        self._map = None


class TestMappedFile:
    def test_answers_like_one_in_memory(self, tmp_path):
        written = numbered(3000, block_bytes=1024)
        path = tmp_path / "000012.sst"
        path.write_bytes(written.data)

        table = Table(MappedFile(path), written.meta)

        assert dict(table.scan()) == visible(written.entries)
        assert all(get(table, entry.key) == entry.value for entry in written.entries)
        assert [entry for columns in table.columns() for entry in entries_of(columns)] == written.entries
        table.verify()

    def test_the_map_goes_with_the_table(self, tmp_path):
        written = numbered(100)
        path = tmp_path / "000012.sst"
        path.write_bytes(written.data)
        table = Table(MappedFile(path), written.meta)
        mapped = weakref.ref(table._source.mapped)
        get(table, b"key00001")
        table.may_contain_many(*key_hashes([b"a"]))
        list(table.scan())

        gc.disable()
        try:
            table.close()
            del table
            assert mapped() is None, "something still refers to the map"
        finally:
            gc.enable()
