"""The first bytes of a segment."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wal
from tests.wal.memory import header

U64 = st.integers(0, 2**64 - 1)


@given(st.binary(min_size=16, max_size=16), U64, U64, U64, U64)
def test_a_header_reads_back_as_written(store_id, number, first_seq, epoch, time_us):
    written = wal.SegmentHeader(
        store_id=store_id, number=number, first_seq=first_seq, epoch=epoch, time_us=time_us
    )

    assert wal.decode_header(written.encode()) == written


def test_a_header_has_the_documented_length():
    assert len(header().encode()) == wal.SEGMENT_HEADER_BYTES == 64


def test_bytes_behind_the_header_do_not_matter():
    assert wal.decode_header(header().encode() + b"anything") == header()


@pytest.mark.parametrize("data", [b"", b"\0" * 63, b"\0" * 64, b"\0" * 4096, header().encode()[:63]])
def test_a_header_that_was_never_written_is_none(data):
    assert wal.decode_header(data) is None


@pytest.mark.parametrize("position", range(64))
def test_every_flipped_byte_of_a_header_is_damage(position):
    data = bytearray(header().encode())
    data[position] ^= 0x40

    with pytest.raises(wal.SegmentDamaged, match="at byte 0"):
        wal.decode_header(bytes(data))


def test_a_newer_version_is_unsupported_not_damaged():
    fields = bytearray(header().encode()[:60])
    struct.pack_into("<I", fields, 8, 2)

    with pytest.raises(wal.SegmentUnsupported, match="format 2; this software reads up to 1"):
        wal.decode_header(bytes(fields) + struct.pack("<I", zlib.crc32(fields)))


def test_another_kind_of_file_is_no_segment():
    fields = bytearray(header().encode()[:60])
    fields[:8] = b"LSM-SST\n"

    with pytest.raises(wal.SegmentDamaged, match="not a log segment"):
        wal.decode_header(bytes(fields) + struct.pack("<I", zlib.crc32(fields)))


def test_two_segments_of_one_store_have_different_seeds():
    assert header(number=7).seed != header(number=8).seed
