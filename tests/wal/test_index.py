"""The sparse index: where a sequence number or a time is to be looked for."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wal
from tests.wal.memory import MemoryFile, header
from wal.index import SAMPLE_EVERY_BYTES

STEPS = st.lists(st.tuples(st.integers(1, 50), st.integers(-5, 50)), max_size=30)


def built(samples: list[tuple[int, int, int]]) -> wal.SparseIndex:
    builder = wal.IndexBuilder()
    for sample in samples:
        builder.sample(*sample)
    return builder.finish()


INDEX = built([(1, 100, 64), (11, 100, 164), (21, 130, 264), (31, 160, 364)])


@given(STEPS)
def test_an_index_reads_back_as_written(steps):
    samples, seq, time = [], 1, 1000
    for at, (more, later) in enumerate(steps):
        samples.append((seq, time, 64 + at * SAMPLE_EVERY_BYTES))
        seq, time = seq + more, time + later

    index = built(samples)

    assert wal.decode_index(index.encode()) == index
    assert list(index.times) == sorted(index.times), "the wall clock went back, the index may not"


@pytest.mark.parametrize(
    ("seq", "sample"),
    [(0, None), (1, (1, 64)), (10, (1, 64)), (11, (11, 164)), (30, (21, 264)), (99, (31, 364))],
)
def test_a_sequence_number_is_found_at_or_after_the_returned_sample(seq, sample):
    assert INDEX.sample_of_seq(seq) == sample


@pytest.mark.parametrize(
    ("time", "sample"), [(0, None), (100, None), (101, (11, 164)), (130, (11, 164)), (999, (31, 364))]
)
def test_the_first_record_of_a_time_is_at_or_after_the_returned_sample(time, sample):
    assert INDEX.sample_of_time(time) == sample


def test_an_empty_index_sends_everybody_to_the_front():
    empty = built([])

    assert (empty.sample_of_seq(5), empty.sample_of_time(5)) == (None, None)
    assert wal.decode_index(empty.encode()) == empty


@given(st.binary(max_size=120))
def test_whatever_the_bytes_are_an_index_is_decoded_or_refused(data):
    index = wal.decode_index(data)

    assert index is None or index.encode() == data


@pytest.mark.parametrize("count", [0, 3, 5, 2**31 - 1, 2**32 - 1])
def test_a_count_that_does_not_fit_the_bytes_is_refused(count):
    data = bytearray(INDEX.encode())
    struct.pack_into("<I", data, 0, count)

    assert wal.decode_index(bytes(data)) is None


def test_a_sample_of_the_index_leads_to_the_record():
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header())
    for number in range(1, 200):
        segment.append_record(bytes(2000), 1, number * 10)
    segment.close(0)
    data = bytes(file.data)
    close = wal.decode_trailer(data, segment.seed)
    index = wal.decode_index(data[close + wal.HEADER_BYTES : -16])

    assert len(index.seqs) > 3
    for seq in (1, 77, 150, 199):
        first, at = index.sample_of_seq(seq)
        records, _ = wal.read_records(data, header(), start=at, first_seq=first)
        assert seq in [record.first_seq for record in records]
        assert seq - first < 40, "the index is there so that little is read in vain"
