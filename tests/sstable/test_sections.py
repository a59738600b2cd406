"""Footer, properties and block index come back from their bytes, and refuse bytes that cannot be theirs."""

import struct
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable import CorruptTable, UnsupportedTable
from sstable.block_index import BlockHandle, decode_block_index, encode_block_index
from sstable.extent import Extent
from sstable.footer import FOOTER_BYTES, MAGIC, Footer, decode_footer, footer_crc
from sstable.properties import Properties, decode_properties
from tests.sstable.memory import STORE_ID

FOOTER = Footer(
    bloom_filter=Extent(104, 8, 11),
    hash_index=Extent(112, 24, 12),
    block_index=Extent(136, 40, 13),
    properties=Extent(176, 81, 14),
    store_id=STORE_ID,
    number=12,
)
FOOTER_AT = 264
PROPERTIES = Properties(
    entries=3,
    tombstones=1,
    distinct_keys=2,
    min_seq=3,
    max_seq=7,
    key_bytes=14,
    value_bytes=8,
    oldest_tombstone_time=9,
    smallest=b"",
    largest=b"plum",
)


def resealed(footer: bytes) -> bytes:
    """With a checksum that fits."""
    body = footer[:116]
    return body + struct.pack("<I", zlib.crc32(body)) + footer[120:]


class TestFooter:
    def test_comes_back_from_its_bytes(self):
        encoded = FOOTER.encode()

        assert len(encoded) == FOOTER_BYTES == 128
        assert decode_footer(encoded, offset=FOOTER_AT) == FOOTER
        assert FOOTER.data_bytes == 104

    def test_its_checksum_differs_from_table_to_table(self):
        others = [FOOTER, replace(FOOTER, number=13), replace(FOOTER, store_id=bytes(16))]

        assert len({footer_crc(footer.encode()) for footer in others}) == 3

    @pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
    @pytest.mark.parametrize("at", range(FOOTER_BYTES))
    def test_every_flipped_byte_is_noticed(self, at, mask):
        encoded = bytearray(FOOTER.encode())
        encoded[at] ^= mask

        with pytest.raises(CorruptTable) as caught:
            decode_footer(bytes(encoded), offset=FOOTER_AT)

        assert caught.value.offset in (FOOTER_AT, FOOTER_AT + 116)

    def test_a_file_of_another_kind_is_told_apart(self):
        with pytest.raises(CorruptTable, match="not the end of a table"):
            decode_footer(bytes(FOOTER_BYTES), offset=FOOTER_AT)
        assert FOOTER.encode().endswith(MAGIC)

    @pytest.mark.parametrize(("at", "what"), [(104, "flags"), (112, "version")])
    def test_newer_formats_are_refused_as_such(self, at, what):
        encoded = bytearray(FOOTER.encode())
        encoded[at] = 2

        with pytest.raises(UnsupportedTable, match=what):
            decode_footer(resealed(bytes(encoded)), offset=FOOTER_AT)

    @pytest.mark.parametrize("number", [0, 96, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1])
    @pytest.mark.parametrize("at", [0, 8, 20, 28, 40, 48, 60, 68])
    def test_sections_must_follow_each_other(self, at, number):
        encoded = bytearray(FOOTER.encode())
        struct.pack_into("<Q", encoded, at, number)

        with pytest.raises(CorruptTable, match="sections"):
            decode_footer(resealed(bytes(encoded)), offset=FOOTER_AT)

    def test_data_must_end_at_a_multiple_of_eight(self):
        footer = replace(FOOTER, bloom_filter=Extent(107, 0, 0))

        with pytest.raises(CorruptTable):
            decode_footer(footer.encode(), offset=FOOTER_AT)


class TestProperties:
    def test_come_back_from_their_bytes(self):
        assert decode_properties(PROPERTIES.encode(), offset=0) == PROPERTIES

    @given(st.binary(max_size=100), st.binary(max_size=100))
    def test_hold_any_bounds(self, smallest, largest):
        properties = replace(PROPERTIES, smallest=smallest, largest=largest)

        assert decode_properties(properties.encode(), offset=0) == properties

    @pytest.mark.parametrize("size", range(76))
    def test_are_never_shorter(self, size):
        with pytest.raises(CorruptTable) as caught:
            decode_properties(PROPERTIES.encode()[:size], offset=77)

        assert caught.value.offset == 77

    @pytest.mark.parametrize("length", [0, 5, 2**32 - 1])
    def test_their_bounds_fill_the_section(self, length):
        encoded = bytearray(PROPERTIES.encode())
        struct.pack_into("<I", encoded, 68, length)

        with pytest.raises(CorruptTable, match="bounds"):
            decode_properties(bytes(encoded), offset=0)

    def test_become_the_facts_of_the_table(self):
        meta = PROPERTIES.meta(number=5, size_bytes=1000, crc=77, seq_base=100)

        assert (meta.number, meta.size_bytes, meta.crc, meta.seq_base) == (5, 1000, 77, 100)
        assert (meta.entries, meta.largest, meta.oldest_tombstone_time) == (3, b"plum", 9)


def handle(stored_bytes=100, last_key_bytes=1, **fields) -> BlockHandle:
    others = {"plain_bytes": 200, "crc": 5, "entries": 10, "distinct_keys": 9, "codec": 1}
    return BlockHandle(stored_bytes=stored_bytes, last_key_bytes=last_key_bytes, **{**others, **fields})


def index_of(*blocks):
    handles, last_keys = zip(*blocks, strict=True)
    return decode_block_index(encode_block_index(handles, last_keys), offset=0)


class TestBlockIndex:
    def test_comes_back_from_its_bytes(self):
        first, second = handle(100, 0), handle(64, 5, crc=2**32 - 1)

        index = index_of((first, b""), (second, b"apple"))

        assert [index.handle(number) for number in range(len(index))] == [first, second]
        assert index.last_keys == [b"", b"apple"]

    def test_blocks_follow_each_other_at_multiples_of_eight(self):
        index = index_of((handle(100), b"a"), (handle(64), b"b"), (handle(1), b"c"))

        assert index.offsets.tolist() == [0, 104, 168, 176]

    def test_sums_over_all_blocks(self):
        index = index_of((handle(entries=3), b"a"), (handle(entries=2**32 - 1, plain_bytes=300), b"b"))

        assert index.total("entries") == 2**32 + 2
        assert index.longest_block == 2**32 - 1
        assert index.longest_plain == 300

    @pytest.mark.parametrize(("key", "number"), [(b"", 0), (b"b", 0), (b"b\0", 1), (b"d", 1), (b"e", 2)])
    def test_seeks_the_first_block_that_may_hold_a_key(self, key, number):
        assert index_of((handle(), b"b"), (handle(), b"d")).seek(key) == number

    def test_cuts_between_blocks_into_about_equal_bytes(self):
        index = index_of(*[(handle(size), b"%d" % n) for n, size in enumerate([8, 8, 80, 8, 8, 8])])

        assert index.split_keys(1) == []
        assert index.split_keys(2) == [b"2\0"]
        assert index.split_keys(3) == [b"2\0"]
        assert index.split_keys(6) == [b"2\0", b"3\0"]
        assert len(index.split_keys(1000)) <= 5

    def test_one_block_cannot_be_cut(self):
        assert index_of((handle(), b"b")).split_keys(8) == []

    @given(st.lists(st.integers(1, 10_000), min_size=1, max_size=50), st.integers(1, 10))
    def test_cuts_are_keys_in_order_none_at_the_end(self, sizes, parts):
        index = index_of(*[(handle(size, 2), b"%02d" % n) for n, size in enumerate(sizes)])

        cuts = index.split_keys(parts)

        assert len(cuts) < parts
        assert cuts == sorted(set(cuts))
        assert all(cut < index.last_keys[-1] for cut in cuts)

    @pytest.mark.parametrize("count", [0, 2, 1000, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1])
    def test_another_number_of_blocks_is_corruption(self, count):
        encoded = bytearray(encode_block_index([handle()], [b"k"]))
        struct.pack_into("<Q", encoded, 0, count)

        with pytest.raises(CorruptTable) as caught:
            decode_block_index(bytes(encoded), offset=9)

        assert caught.value.offset == 9

    @pytest.mark.parametrize("length", [0, 2, 2**31 - 1, 2**32 - 1])
    def test_last_keys_must_fill_the_section(self, length):
        encoded = encode_block_index([handle(last_key_bytes=length)], [b"k"])

        with pytest.raises(CorruptTable, match="last keys"):
            decode_block_index(encoded, offset=0)

    @pytest.mark.parametrize("size", range(36))
    def test_is_never_shorter(self, size):
        with pytest.raises(CorruptTable):
            decode_block_index(encode_block_index([handle()], [b"k"])[:size], offset=0)
