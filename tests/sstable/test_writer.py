"""What the writer puts where: blocks cut by size and key, sections as the options say, facts as counted."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstable import Columns, Kind, TableMeta, TableOptions, TableWriter, UnsupportedTable, read_meta
from sstable.codec import Codec
from sstable.cutting import block_cuts, pieces, size_of, sizes_before
from sstable.footer import FOOTER_BYTES, decode_footer
from sstable.order import key_heads
from tests.sstable.memory import (
    NUMBER,
    STORE_ID,
    TIME_US,
    MemoryFile,
    Written,
    columns_of,
    entries_of,
    put,
    some_entries,
    write,
)


def footer_of(table: Written):
    at = len(table.data) - FOOTER_BYTES
    return decode_footer(table.data[at:], offset=at)


def blocks_of(table: Written) -> list[list]:
    return [entries_of(columns) for columns in table.open().columns()]


def writer_to(file: MemoryFile, **options) -> TableWriter:
    return TableWriter(file, TableOptions(**options), number=NUMBER, store_id=STORE_ID, time_us=TIME_US)


class TestOrder:
    @given(some_entries())
    def test_heads_are_the_newest_entries_of_keys(self, entries):
        columns = columns_of(entries)

        heads = key_heads(columns.keys(), columns.seqs).tolist()

        keys = [entry.key for entry in entries]
        assert heads == [position for position, key in enumerate(keys) if key not in keys[:position]]

    @pytest.mark.parametrize(
        "entries",
        [
            [put(b"b", 1), put(b"a", 2)],
            [put(b"a", 1), put(b"a", 2)],
            [put(b"a", 1), put(b"a", 1)],
            [put(b"a", 9), put(b"b", 8), put(b"a", 7)],
        ],
        ids=["keys fall", "seqs rise", "entry twice", "key comes again"],
    )
    def test_other_orders_are_refused(self, entries):
        writer = writer_to(MemoryFile())
        writer.add(columns_of(entries))

        with pytest.raises(ValueError):
            writer.finish()

    def test_order_is_kept_from_batch_to_batch(self):
        writer = writer_to(MemoryFile())
        writer.add(columns_of([put(b"b", 1)]))
        writer.add(columns_of([put(b"a", 2)]))

        with pytest.raises(ValueError, match="keys"):
            writer.finish()


class TestCutting:
    @given(some_entries(), st.integers(64, 200))
    def test_full_blocks_start_at_key_changes_and_are_as_long_as_allowed(self, entries, block_bytes):
        columns = columns_of(entries)
        before = sizes_before(columns)
        heads = key_heads(columns.keys(), columns.seqs)

        cuts = block_cuts(before, heads, block_bytes)

        assert cuts[0] == 0
        assert set(cuts) <= set(heads.tolist())
        for start, stop in pairwise(cuts):
            is_one_key = len({entry.key for entry in entries[start:stop]}) == 1
            assert before[stop] - before[start] <= block_bytes or is_one_key
            later = heads[heads > stop]
            after = int(later[0]) if len(later) else len(entries)
            assert before[after] - before[start] > block_bytes, "one more key would have fitted"

    @given(some_entries(min_size=0), st.integers(1, 100))
    def test_pieces_are_all_entries_in_order(self, entries, piece_bytes):
        parts = list(pieces(columns_of(entries), piece_bytes))

        assert [entry for part in parts for entry in entries_of(part)] == entries
        assert all(len(part) for part in parts)
        assert all(size_of(part.slice(0, len(part) - 1)) < piece_bytes for part in parts)

    @settings(max_examples=30)
    @given(some_entries(max_size=80), st.integers(1, 80))
    def test_blocks_do_not_depend_on_how_entries_were_handed_in(self, entries, batch):
        whole = write(entries, block_bytes=64)
        in_parts = write(entries, block_bytes=64, batch=batch)

        assert in_parts == whole

    def test_versions_of_one_key_stay_together(self):
        versions = [put(b"m", seq, b"x" * 50) for seq in range(100)]
        entries = [put(b"a", 1), *versions, put(b"z", 1)]

        for batch in (None, 1, 7):
            blocks = blocks_of(write(entries, block_bytes=64, batch=batch))

            assert [{entry.key for entry in block} for block in blocks] == [{b"a"}, {b"m"}, {b"z"}]

    def test_a_large_value_has_a_block_of_its_own(self):
        entries = [put(b"a", 1, b"x"), put(b"b", 2, bytes(300_000)), put(b"c", 3, b"y")]

        blocks = blocks_of(write(entries))

        assert [len(block) for block in blocks] == [1, 1, 1]

    def test_blocks_have_about_the_size_asked_for(self):
        entries = [put(b"key%06d" % n, n, b"v" * 91) for n in range(5000)]
        table = write(entries, block_bytes=8192).open()

        sizes = [table.block(number).count for number in range(table.block_count)]

        assert sum(sizes) == 5000
        # 8192 bytes are 78 entries of 9 + 91 bytes and 4 of overhead.
        assert set(sizes[:-1]) == {78}


class TestSections:
    @pytest.mark.parametrize(
        ("options", "filter_size", "has_index"),
        [
            ({}, 128, True),
            ({"bloom_bits_per_key": 0.0}, 0, True),
            ({"hash_index": False}, 128, False),
            ({"bloom_bits_per_key": 4.5, "hash_index": False}, 64, False),
        ],
        ids=str,
    )
    def test_are_written_as_the_options_say(self, options, filter_size, has_index):
        footer = footer_of(write([put(b"%03d" % n, n) for n in range(100)], **options))

        assert footer.bloom_filter.size == filter_size
        assert (footer.hash_index.size > 0) == has_index
        assert footer.store_id == STORE_ID
        assert footer.number == NUMBER

    def test_a_block_that_does_not_shrink_is_stored_plain(self, seed):
        noise = np.random.default_rng(seed).bytes(3000)
        compressible = [put(b"a%d" % n, n, b"x" * 100) for n in range(20)]
        table = write([*compressible, put(b"b", 1, noise)], compression="zlib", block_bytes=4096).open()

        codecs = [table._index.handle(number).codec for number in range(table.block_count)]

        assert codecs == [Codec.ZLIB, Codec.NONE]

    def test_a_codec_without_its_library_is_refused_before_anything_is_written(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
        file = MemoryFile()

        with pytest.raises(UnsupportedTable, match="compression"):
            writer_to(file, compression="zstd")

        assert file.size == 0


class TestFacts:
    @given(some_entries())
    def test_are_those_of_the_entries(self, entries):
        meta = write(entries, block_bytes=64).meta
        tombstones = sum(entry.kind == Kind.DELETE for entry in entries)

        assert meta == TableMeta(
            number=NUMBER,
            size_bytes=meta.size_bytes,
            entries=len(entries),
            tombstones=tombstones,
            distinct_keys=len({entry.key for entry in entries}),
            smallest=entries[0].key,
            largest=entries[-1].key,
            min_seq=min(entry.seq for entry in entries),
            max_seq=max(entry.seq for entry in entries),
            key_bytes=sum(len(entry.key) for entry in entries),
            value_bytes=sum(len(entry.value) for entry in entries),
            oldest_tombstone_time=TIME_US if tombstones else 0,
            crc=meta.crc,
        )

    @given(some_entries())
    def test_can_be_read_back_from_the_file(self, entries):
        table = write(entries)

        assert read_meta(MemoryFile(table.data)) == table.meta
        assert table.meta.size_bytes == len(table.data)

    def test_a_checksum_tells_tables_apart(self):
        crcs = {
            write([put(b"a", 1, b"x")]).meta.crc,
            write([put(b"a", 1, b"y")]).meta.crc,
            write([put(b"a", 1, b"x")], number=NUMBER + 1).meta.crc,
        }

        assert len(crcs) == 3


class TestWriter:
    def test_a_table_without_entries_is_refused(self):
        writer = writer_to(MemoryFile())
        writer.add(columns_of([]))

        with pytest.raises(ValueError, match="at least one entry"):
            writer.finish()

    def test_the_estimate_grows_to_about_the_size(self):
        file = MemoryFile()
        writer = writer_to(file)
        estimates = [writer.size_estimate]
        for start in range(0, 20_000, 1000):
            writer.add(columns_of([put(b"key%06d" % n, n, b"v" * 50) for n in range(start, start + 1000)]))
            estimates.append(writer.size_estimate)
        meta = writer.finish()

        assert estimates[0] == 0
        assert estimates == sorted(estimates)
        assert estimates[-1] == pytest.approx(meta.size_bytes, rel=0.05)

    def test_arrays_may_be_changed_once_they_were_added(self):
        entries = [put(b"key%d" % n, n, b"value") for n in range(10)]
        file = MemoryFile()
        writer = writer_to(file)
        for entry in entries:
            columns = Columns.concat([columns_of([entry]), columns_of([])])
            writer.add(columns)
            columns.key_data[:] = 0
            columns.value_data[:] = 0
            columns.seqs[:] = 0

        meta = writer.finish()

        assert blocks_of(Written(bytes(file.data), meta)) == [entries]

    def test_blocks_go_to_the_file_while_entries_come(self):
        file = MemoryFile()
        writer = writer_to(file, block_bytes=1024)
        for n in range(100):
            writer.add(columns_of([put(b"%05d" % n, n, b"x" * 100)]))

        assert file.size > 8000
