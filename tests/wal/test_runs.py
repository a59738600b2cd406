"""Runs of records of one length are found at once: with the same result as one by one, whatever the bytes."""

import struct
import zlib
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import wal
import wal.reader
from tests.wal.memory import TIME_US, MemoryFile, header
from wal.record import encode

RUN = st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(1, 12))  # length, count, how many


def one_by_one(segment: bytes, position: int, expected: int) -> tuple[list[int], int, int]:
    """The meaning of a whole record, as FORMAT.md has it."""
    positions = []
    while position + 36 <= len(segment):
        crc, length, mark, seq, _, _, count = struct.unpack_from("<IIIQQII", segment, position)
        end = position + 36 + length
        if mark != wal.DATA or seq != expected or length > wal.PAYLOAD_BYTES_MAX or end > len(segment):
            break
        if zlib.crc32(segment[position + 4 : end], header().seed) != crc:
            break
        positions.append(position)
        position, expected = end, expected + count
    return positions, position, expected


def found(segment: bytes, position: int = 64, expected: int = 1) -> tuple[list[int], int, int]:
    records, end, due = wal.reader._whole_records(segment, header().seed, position, expected)
    assert [record.end for record in records] == [*records.positions[1:].tolist(), end][: len(records)]
    return records.positions.tolist(), end, due


def segment_of(runs: list[tuple[int, int, int]], first_seq: int = 1) -> bytes:
    file = MemoryFile()
    writer = wal.SegmentWriter(file, header())
    writer.next_seq = first_seq
    for length, count, times in runs:
        for number in range(times):
            writer.append_record(bytes([number % 255 + 1]) * length, count, TIME_US)
    return bytes(file.data)


def short_runs():
    """Look for runs from two records on, so that small segments are full of them."""
    return patch.multiple(
        wal.reader, _RUN_RECORDS_MIN=2, _RUN_RECORDS_MAX=5, _WALK_RECORDS_MIN=1, _WALK_RECORDS_MAX=2
    )


FLIP = st.tuples(st.integers(0), st.integers(1, 255))  # where, and which bits


@given(st.lists(RUN, max_size=6), st.lists(FLIP, max_size=2), st.data())
def test_runs_are_found_as_one_by_one_also_where_bytes_are_damaged(runs, flips, data):
    segment = bytearray(segment_of(runs))
    for at, mask in flips:
        segment[at % len(segment)] ^= mask
    cut = data.draw(st.integers(64, len(segment)) | st.just(len(segment)))
    segment = bytes(segment[:cut]) + data.draw(st.binary(max_size=50))

    with short_runs():
        assert found(segment) == one_by_one(segment, 64, 1)


def test_every_flipped_byte_of_a_run_ends_it_where_it_is():
    segment = segment_of([(5, 1, 9), (7, 2, 5)])
    with short_runs():
        for at in range(64, len(segment)):
            flipped = bytearray(segment)
            flipped[at] ^= 0x40
            assert found(bytes(flipped)) == one_by_one(bytes(flipped), 64, 1)


@pytest.mark.parametrize("field", ["length", "first_seq", "count", "mark"])
def test_a_valid_record_of_the_right_length_that_is_not_due_ends_a_run(field):
    segment = segment_of([(5, 1, 300)])
    fields = {"first_seq": 301, "count": 1, "mark": wal.DATA, "payload": b"12345"}
    other = {"length": {"payload": b"1234"}, "first_seq": {"first_seq": 302}, "count": {"count": 7}}
    fields |= other.get(field, {"mark": 0x02A75257})
    odd = encode(fields.pop("payload"), seed=header().seed, time_us=0, synced_upto=64, **fields)
    segment += odd + segment_of([(5, 1, 300)], first_seq=302)[64:]

    assert found(segment) == one_by_one(segment, 64, 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 700)), max_size=4), st.data())
@example([(0, 1, 129)], None)
def test_long_runs_are_found_as_one_by_one(runs, data):
    segment = segment_of(runs)
    if data is not None and len(segment) > 64 and data.draw(st.booleans()):
        at = data.draw(st.integers(64, len(segment) - 1))
        segment = segment[:at] + bytes([segment[at] ^ 1]) + segment[at + 1 :]

    assert found(segment) == one_by_one(segment, 64, 1)


@pytest.mark.parametrize("first_seq", [2**62, 2**63 - 3, 2**63, 2**64 - 200])
def test_numbers_that_no_log_reaches_are_counted_right(first_seq):
    segment = segment_of([(5, 1, 150)], first_seq=first_seq)

    assert found(segment, expected=first_seq) == one_by_one(segment, 64, first_seq)


def test_a_run_of_empty_counts_stands_still():
    segment = segment_of([(3, 0, 200), (3, 1, 200)])

    assert found(segment) == one_by_one(segment, 64, 1)


def test_a_hostile_length_is_no_run():
    segment = segment_of([]) + struct.pack("<IIIQQII", 0, 2**32 - 1, wal.DATA, 1, 0, 0, 1) + bytes(9000)

    assert found(segment) == ([], 64, 1)


def test_a_walk_looks_for_runs_now_and_then_only():
    looks = []
    segment = segment_of([(at % 2, 1, 1) for at in range(5000)])
    run = wal.reader._run
    with patch.object(wal.reader, "_run", lambda *where: (looks.append(where), run(*where))[1]):
        assert found(segment) == one_by_one(segment, 64, 1)

    assert len(looks) < 10
