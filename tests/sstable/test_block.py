"""A block gives back the entries it was made of, and leaves out every column it can do without."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable import DELETED, MAX_SEQ, Block, CorruptTable, Kind, UnsupportedTable
from sstable.block_decoder import decode_block
from sstable.block_encoder import BlockTooLarge, encode_block
from sstable.block_header import HEADER, MIXED, PLAIN_BYTES_MAX, VARIABLE, BlockHeader, seq_width
from tests.sstable.memory import Entry, columns_of, delete, entries_of, put, some_entries, visible

OFFSET = 4096


def decoded(plain, *, entries=(), start=0, seq_base=0) -> Block:
    distinct_keys = len({entry.key for entry in entries})
    return decode_block(
        plain,
        start=start,
        plain_bytes=len(plain) - start,
        offset=OFFSET,
        distinct_keys=distinct_keys,
        seq_base=seq_base,
    )


def block_of(entries) -> Block:
    return decoded(encode_block(columns_of(entries)), entries=entries)


def header_of(plain) -> BlockHeader:
    return BlockHeader._make(HEADER.unpack_from(plain))


@given(some_entries())
def test_entries_come_back_from_a_block(entries):
    block = block_of(entries)

    assert entries_of(block.columns()) == entries
    assert block.keys() == [entry.key for entry in entries]
    assert block.values() == [entry.value for entry in entries]
    assert (block.first_key, block.last_key) == (entries[0].key, entries[-1].key)
    assert len(block) == block.count == len(entries)


@given(some_entries())
def test_entries_can_be_read_one_by_one(entries):
    block = block_of(entries)

    for position, entry in enumerate(entries):
        assert entry == Entry(
            block.key(position), block.seq(position), Kind(block.kind(position)), block.value(position)
        )


@given(some_entries(), st.integers(0, MAX_SEQ))
def test_a_block_shows_the_newest_visible_entry_of_each_key(entries, seq_max):
    for limit in (seq_max, entries[0].seq, 0, MAX_SEQ):
        shown = block_of(entries).visible(limit)

        assert dict(zip(*shown, strict=True)) == visible(entries, limit)
        assert shown[0] == sorted(shown[0])


@given(some_entries(), st.data())
def test_part_of_a_block_shows_its_own_keys(entries, data):
    block = block_of(entries)
    start = block.lower_bound(data.draw(st.sampled_from(entries)).key)
    stop = max(start, block.lower_bound(data.draw(st.sampled_from(entries)).key))

    shown = block.visible(MAX_SEQ, start, stop)

    assert dict(zip(*shown, strict=True)) == visible(entries[start:stop])


@given(some_entries(), st.binary(max_size=4))
def test_lower_bound_is_the_first_entry_not_below_the_key(entries, key):
    for wanted in (key, entries[-1].key, entries[0].key):
        expected = sum(entry.key < wanted for entry in entries)

        assert block_of(entries).lower_bound(wanted) == expected


@given(some_entries(), st.integers(0, MAX_SEQ))
def test_a_key_is_found_from_the_position_of_its_newest_entry(entries, seq_max):
    block = block_of(entries)

    for limit in (seq_max, entries[-1].seq, MAX_SEQ):
        expected = visible(entries, limit)
        for key in {entry.key for entry in entries}:
            assert block.get(block.lower_bound(key), key, limit) == expected.get(key)
            assert block.get(block.lower_bound(key), key + b"?", limit) is None


def test_nothing_is_found_outside_the_block():
    block = block_of([put(b"a", 1)])

    assert block.get(1, b"a", MAX_SEQ) is None
    assert block.get(-1, b"a", MAX_SEQ) is None


@given(some_entries(), st.integers(0, 1000))
def test_sequence_numbers_count_from_the_base_of_the_table(entries, seq_base):
    entries = [entry for entry in entries if entry.seq + seq_base <= MAX_SEQ] or [put(b"a", 1)]
    block = decoded(encode_block(columns_of(entries)), entries=entries, seq_base=seq_base)

    assert block.seqs().tolist() == [entry.seq + seq_base for entry in entries]
    assert block.seq(0) == entries[0].seq + seq_base
    assert block.max_seq == max(entry.seq for entry in entries) + seq_base


def test_a_block_is_read_in_place_wherever_it_starts():
    entries = [put(b"a", 2, b"x"), put(b"bc", 1, b"yz")]
    block = decoded(b"\xaa" * 24 + encode_block(columns_of(entries)), entries=entries, start=24)

    assert entries_of(block.columns()) == entries
    assert block.get(1, b"bc", MAX_SEQ) == b"yz"


def test_equal_widths_and_kinds_take_no_room():
    entries = [put(b"key%02d" % n, 500 + n, b"value%03d" % n) for n in range(100)]

    plain = encode_block(columns_of(entries))

    # 5 + 8 bytes of key and value and 1 of seq each, to multiples of 8, behind the header.
    assert len(plain) == HEADER.size + 504 + 800 + 104
    assert header_of(plain)._replace(seq_span=0) == BlockHeader(
        100, 0, Kind.PUT, 0, 5, 8, key_bytes=500, value_bytes=800, seq_min=500, seq_span=0
    )


def test_differing_widths_and_kinds_get_columns():
    header = header_of(encode_block(columns_of([put(b"a", 3, b"x"), delete(b"bb", 3)])))

    assert (header.key_width, header.value_width, header.kind) == (VARIABLE, VARIABLE, MIXED)
    assert header.seq_width == 0


@pytest.mark.parametrize(
    ("span", "width"),
    [(0, 0), (1, 1), (255, 1), (256, 2), (65535, 2), (65536, 4), (2**32 - 1, 4), (2**32, 8), (MAX_SEQ, 8)],
)
def test_seqs_take_the_fewest_bytes(span, width):
    assert seq_width(span) == width

    if span:
        entries = [put(b"k", span), put(b"k", 0)]
        assert block_of(entries).seqs().tolist() == [span, 0]


def test_columns_are_what_arrow_wants_and_not_copied():
    plain = encode_block(columns_of([put(b"%03d" % n, n, b"x" * 5) for n in range(20)]))
    columns = decoded(plain).columns()

    assert columns.key_offsets.tolist() == list(range(0, 63, 3))
    assert columns.key_offsets.dtype == columns.value_offsets.dtype == np.int32
    assert columns.value_offsets.flags.c_contiguous
    assert np.shares_memory(columns.key_data, np.frombuffer(plain, np.uint8))
    assert np.shares_memory(columns.value_data, np.frombuffer(plain, np.uint8))
    assert columns.key_data.ctypes.data % 8 == np.frombuffer(plain, np.uint8).ctypes.data % 8


def test_pyarrow_wraps_a_block_without_copying():
    pa = pytest.importorskip("pyarrow")
    columns = block_of([put(b"apple", 7, b"red"), delete(b"plum", 5)]).columns()

    keys = pa.Array.from_buffers(
        pa.binary(), len(columns), [None, pa.py_buffer(columns.key_offsets), pa.py_buffer(columns.key_data)]
    )

    assert keys.to_pylist() == [b"apple", b"plum"]
    assert keys.buffers()[2].address == columns.key_data.ctypes.data


def test_a_block_with_only_tombstones_shows_only_deletions():
    block = block_of([delete(b"a", 1), delete(b"b", 2)])

    assert block.visible() == ([b"a", b"b"], [DELETED, DELETED])
    assert block.tombstones == 2


def test_versions_of_one_key_beyond_the_largest_block_are_refused():
    columns = columns_of([put(b"a", 2, b"x")])
    columns.value_offsets = np.array([0, PLAIN_BYTES_MAX], np.int64)

    with pytest.raises(BlockTooLarge, match="versions of one key"):
        encode_block(columns)


@pytest.mark.parametrize("kind", [Kind.MERGE, Kind.RANGE_DELETE])
@pytest.mark.parametrize("others", [[], [put(b"z", 1)]], ids=["alone", "among others"])
def test_entries_of_a_newer_version_are_refused_as_such(kind, others):
    plain = encode_block(columns_of([Entry(b"a", 5, kind, b"x"), *others]))

    with pytest.raises(UnsupportedTable, match=f"kind {kind:d}"):
        decoded(plain)


# From here on: plain bytes that a checksum would vouch for, but that no encoder has made.

SOUND = encode_block(columns_of([put(b"a", 9, b"one"), put(b"bb", 4, b""), delete(b"ccc", 6)]))


def forged(**fields) -> bytes:
    return HEADER.pack(*header_of(SOUND)._replace(**fields)) + SOUND[HEADER.size :]


@pytest.mark.parametrize(
    "fields",
    [
        {"entries": 0},
        {"entries": 4},
        {"entries": 2**32 - 1},
        {"key_width": 2},
        {"value_width": 1},
        {"key_bytes": 2**32 - 1},
        {"value_bytes": 0},
        {"kind": Kind.PUT},
        {"seq_min": 2**64 - 1},
        {"seq_span": 2**63},
        {"seq_span": 200},
        {"seq_span": 0},
    ],
    ids=str,
)
def test_a_header_that_contradicts_the_block_is_corruption(fields):
    with pytest.raises(CorruptTable) as caught:
        decoded(forged(**fields), seq_base=MAX_SEQ)

    assert caught.value.offset == OFFSET


@pytest.mark.parametrize("fields", [{"flags": 1}, {"reserved": 1}], ids=str)
def test_columns_of_a_newer_version_are_refused_as_such(fields):
    with pytest.raises(UnsupportedTable):
        decoded(forged(**fields))


@pytest.mark.parametrize("size", range(HEADER.size + 1))
def test_a_block_cut_short_is_corruption(size):
    with pytest.raises(CorruptTable):
        decoded(SOUND[:size])


@pytest.mark.parametrize(
    "offsets", [(1, 1, 3, 6), (0, 4, 3, 6), (0, 1, 3, 5), (0, -1, 3, 6), (0, 1, 3, 7)], ids=str
)
def test_offsets_that_do_not_rise_to_the_end_are_corruption(offsets):
    plain = bytearray(SOUND)
    struct.pack_into("<4i", plain, HEADER.size, *offsets)

    with pytest.raises(CorruptTable, match="offsets"):
        decoded(bytes(plain))


def test_a_few_bytes_cannot_claim_billions_of_entries():
    header = BlockHeader(2**32 - 1, 0, Kind.PUT, 0, 0, 0, key_bytes=0, value_bytes=0, seq_min=5, seq_span=0)

    with pytest.raises(CorruptTable, match="repeats"):
        decoded(HEADER.pack(*header))
