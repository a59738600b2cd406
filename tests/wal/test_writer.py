"""Appending to a segment: sequence numbers, what is durable when, the close marker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wal
from tests.wal.memory import TIME_US, MemoryFile, header, payloads, write_group, written


def test_the_header_is_durable_before_anything_else():
    file = MemoryFile()
    wal.SegmentWriter(file, header())

    assert file.synced_bytes == file.size == wal.SEGMENT_HEADER_BYTES


def test_sequence_numbers_are_dense():
    segment = wal.SegmentWriter(MemoryFile(), header(first_seq=41))

    assert [segment.append_record(b"x", count, TIME_US) for count in (1, 5, 2)] == [41, 42, 47]
    assert segment.next_seq == 49


def test_a_single_record_and_a_group_of_one_are_the_same_bytes():
    single, group = MemoryFile(), MemoryFile()
    wal.SegmentWriter(single, header()).append_record(b"payload", 1, TIME_US)
    write_group(wal.SegmentWriter(group, header()), [b"payload"])

    assert single.data == group.data


def test_a_record_says_what_was_durable_when_it_was_written():
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header())
    segment.append_record(b"one", 1, TIME_US)
    segment.append_record(b"two", 1, TIME_US)
    synced = file.size
    segment.sync()
    segment.append_record(b"three", 1, TIME_US)

    records, _ = wal.read_records(bytes(file.data), header())

    assert [record.synced_upto for record in records] == [64, 64, synced]


def test_closing_makes_the_data_durable_before_the_marker_is_written():
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header())
    segment.append_record(b"one", 1, TIME_US)
    data_end, synced_at_append = file.size, []
    append = file.append
    file.append = lambda data: (synced_at_append.append(file.synced_bytes), append(data))
    segment.close(TIME_US)

    assert synced_at_append == [data_end]
    assert file.synced_bytes == file.size
    assert file.is_closed


def test_a_closed_segment_has_nothing_left_to_sync():
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header())
    segment.append_record(b"one", 1, TIME_US)
    segment.close(TIME_US)

    assert segment.synced_upto >= file.size


def test_the_trailer_leads_to_the_close_marker():
    file = written([[b"one"], [b"two"]], closed=True)
    data = bytes(file.data)

    position = wal.decode_trailer(data[-16:], header().seed)

    assert position == payloads(data)[1].position


@pytest.mark.parametrize("position", range(16))
def test_a_damaged_trailer_is_no_trailer(position):
    tail = bytearray(written([[b"one"]], closed=True).data[-16:])
    tail[position] ^= 1

    assert wal.decode_trailer(bytes(tail), header().seed) is None


def test_a_short_tail_is_no_trailer():
    assert wal.decode_trailer(bytes(15), 0) is None


@given(st.lists(st.lists(st.binary(max_size=60), min_size=1, max_size=4), max_size=6), st.booleans())
def test_what_was_appended_is_read_back(groups, closed):
    file = written(groups, closed=closed, first_seq=100)

    found, end = payloads(bytes(file.data), first_seq=100)

    assert found == [payload for group in groups for payload in group]
    assert end.ending is (wal.Ending.CLOSED if closed else wal.Ending.OPEN)
    assert end.next_seq == 100 + len(found)


def test_the_example_of_the_format_document_holds():
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header(first_seq=41))
    segment.append_record(b"12345", 2, TIME_US)
    segment.close(TIME_US)
    (record,), end = wal.read_records(bytes(file.data), header(first_seq=41))

    assert (record.position, record.end, end.position, end.next_seq, file.size) == (64, 105, 105, 43, 181)
