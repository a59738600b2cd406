"""One record: bytes in, the same bytes out, and nothing else passes for one."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal import record

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
SEED = 0x1234


def encoded(payload: bytes = b"payload", *, seed: int = SEED, mark: int = record.DATA) -> bytes:
    return record.encode(payload, seed=seed, first_seq=5, count=2, time_us=9, synced_upto=64, mark=mark)


@given(st.binary(max_size=300), U32, U64, U32, U64, U32, st.binary(max_size=40), st.binary(max_size=40))
def test_a_record_reads_back_wherever_it_stands(
    payload, seed, first_seq, count, time_us, synced, before, after
):
    data = record.encode(
        payload, seed=seed, first_seq=first_seq, count=count, time_us=time_us, synced_upto=synced
    )

    found = record.decode(before + data + after, len(before), seed=seed)

    assert found == (len(before), len(before + data), record.DATA, first_seq, count, time_us, synced)
    assert (before + data)[found.payload_start : found.end] == payload


@given(st.binary(max_size=200), st.integers(0, 220))
def test_random_bytes_are_no_record(data, position):
    assert record.decode(data, position, seed=SEED) is None


def test_the_header_of_a_record_has_the_documented_length():
    assert len(encoded(b"")) == record.HEADER_BYTES == 36


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_of_a_record_is_noticed(mask):
    data = encoded()
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= mask
        assert record.decode(bytes(flipped), 0, seed=SEED) is None, f"byte {position}"


def test_every_shortened_record_is_noticed():
    data = encoded()

    assert [length for length in range(len(data)) if record.decode(data[:length], 0, seed=SEED)] == []


def test_a_record_of_another_segment_does_not_pass():
    assert record.decode(encoded(seed=1), 0, seed=2) is None


@pytest.mark.parametrize("length", [0, 1, 2**31 - 1, 2**31, 2**32 - 1, record.PAYLOAD_BYTES_MAX + 1])
def test_a_hostile_length_is_refused_before_anything_is_allocated(length):
    data = bytearray(encoded())
    struct.pack_into("<I", data, 4, length)

    assert record.decode(bytes(data), 0, seed=SEED) is None


def test_an_unknown_mark_is_no_record():
    assert record.decode(encoded(mark=0x03A75257), 0, seed=SEED) is None
