"""Records of one length, checked together."""

import struct
import zlib

import numpy as np
import pytest

from wal.checksums import run_is_whole
from wal.header import SegmentHeader
from wal.reader import read_tail
from wal.record import encode

SEED = 0x1234567


def run_of(records, stride, rng):
    bodies = [rng.bytes(stride - 4) for _ in range(records)]
    return b"".join(struct.pack("<I", zlib.crc32(body, SEED)) + body for body in bodies)


def is_whole(run, stride):
    crcs = np.ndarray((len(run) // stride,), "<u4", run, 0, (stride,))
    return run_is_whole(memoryview(run), crcs, stride, SEED)


@pytest.mark.parametrize("stride", [36, 37, 152, 1036, 5000])
@pytest.mark.parametrize("records", [1, 2, 3, 7, 64, 1000])
def test_a_run_is_whole_until_a_bit_changes(records, stride, seed):
    rng = np.random.default_rng(seed)
    run = run_of(records, stride, rng)

    assert is_whole(run, stride)
    for at in [0, stride - 1, len(run) - 1, *rng.integers(0, len(run), 20).tolist()]:
        damaged = bytearray(run)
        damaged[at] ^= 1 << int(rng.integers(8))
        assert not is_whole(bytes(damaged), stride), at


def test_records_that_changed_places_are_no_whole_run(seed):
    stride = 100
    rng = np.random.default_rng(seed)
    run = run_of(50, stride, rng)
    torn = run[: 10 * stride] + run[11 * stride : 12 * stride][:50] + run[10 * stride + 50 :]

    assert len(torn) == len(run)
    assert not is_whole(torn, stride)


def test_a_seed_of_another_segment_does_not_match(seed):
    stride = 64
    run = run_of(20, stride, np.random.default_rng(seed))
    crcs = np.ndarray((20,), "<u4", run, 0, (stride,))

    assert not run_is_whole(memoryview(run), crcs, stride, SEED + 1)


@pytest.mark.parametrize("bad", [0, 1, 127, 128, 5000, 9999])
def test_a_bad_record_in_a_long_run_is_found_where_it_is(bad, seed):
    rng = np.random.default_rng(seed)
    header = SegmentHeader(store_id=bytes(16), number=1, first_seq=1, epoch=1, time_us=0)
    records = [
        encode(rng.bytes(30), seed=header.seed, first_seq=seq, count=1, time_us=5, synced_upto=0)
        for seq in range(1, 10_001)
    ]
    whole = b"".join(records)
    stride = len(records[0])
    damaged = bytearray(whole)
    damaged[bad * stride + stride - 1] ^= 64

    assert len(read_tail(whole, header, 1)[0]) == 10_000
    found, taken = read_tail(bytes(damaged), header, 1)
    assert (len(found), taken) == (bad, bad * stride)
