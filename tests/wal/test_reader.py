"""Reading a segment: whole records, and a torn tail told from damage."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wal
from tests.wal.memory import TIME_US, MemoryFile, header, payloads, write_group, written
from wal.record import CLOSE, encode

GROUPS = [[b"one"], [b"two", b"three"], [b"four"]]
WORDS = [b"one", b"two", b"three", b"four"]


def after(data: bytes | bytearray, more: bytes) -> bytes:
    return bytes(data) + more


def record(payload: bytes, first_seq: int, *, synced_upto: int = 64, count: int = 1) -> bytes:
    seed = header().seed
    return encode(
        payload, seed=seed, first_seq=first_seq, count=count, time_us=TIME_US, synced_upto=synced_upto
    )


def test_an_empty_segment_is_open():
    found, end = payloads(header().encode())

    assert (found, end) == ([], wal.SegmentEnd(wal.Ending.OPEN, 64, 1))


def test_reserved_space_ends_an_open_segment():
    found, end = payloads(after(written(GROUPS).data, bytes(5000)))

    assert (found, end.ending) == (WORDS, wal.Ending.OPEN)


def test_a_closed_segment_is_closed():
    found, end = payloads(bytes(written(GROUPS, closed=True).data))

    assert (found, end.ending, end.next_seq) == (WORDS, wal.Ending.CLOSED, 5)


@pytest.mark.parametrize("tail", [b"\xa5" * 40, b"\0" * 10 + b"x", record(b"torn", 5)[:-1], b"x"])
def test_an_unfinished_last_write_is_a_torn_tail(tail):
    file = written(GROUPS)

    found, end = payloads(after(file.data, tail))

    assert (found, end.ending, end.position) == (WORDS, wal.Ending.TORN, file.size)


def test_a_group_whose_first_record_is_missing_is_a_torn_tail():
    # Of one unsynced group the second record arrived and the first did not: nothing was acknowledged.
    file = written(GROUPS)
    segment_data, more = bytes(file.data), MemoryFile()
    segment = wal.SegmentWriter(more, header())
    write_group(segment, WORDS)
    segment.sync()
    lost = bytearray(segment_data + more.data[64:])
    lost[len(segment_data) : len(segment_data) + 39] = bytes(39)

    found, end = payloads(bytes(lost))

    assert (found, end.ending) == (WORDS, wal.Ending.TORN)


def test_bad_bytes_before_a_record_that_was_written_after_they_were_synced_are_damage():
    data = bytearray(written(GROUPS).data)
    data[70] ^= 1

    with pytest.raises(wal.SegmentDamaged) as caught:
        payloads(bytes(data))

    assert (caught.value.offset, caught.value.last_good_seq) == (64, 0)


def test_damage_says_which_write_was_the_last_good_one():
    file = written(GROUPS)
    records = list(wal.read_records(bytes(file.data), header())[0])
    data = bytearray(file.data)
    data[records[1].payload_start] ^= 1

    with pytest.raises(wal.SegmentDamaged) as caught:
        payloads(bytes(data))

    assert (caught.value.offset, caught.value.last_good_seq) == (records[1].position, 1)


@pytest.mark.parametrize("seq", [4, 6, 0, 2**64 - 1])
def test_a_valid_record_with_a_wrong_sequence_number_is_damage(seq):
    with pytest.raises(wal.SegmentDamaged, match=f"sequence number {seq} where 5 was due"):
        payloads(after(written(GROUPS).data, record(b"x", seq)))


def test_a_close_marker_with_a_wrong_sequence_number_is_damage():
    marker = encode(
        b"", seed=header().seed, first_seq=9, count=0, time_us=0, synced_upto=64, mark=CLOSE
    )

    with pytest.raises(wal.SegmentDamaged):
        payloads(after(written(GROUPS).data, marker))


@pytest.mark.parametrize("length", [2**31 - 1, 2**32 - 1, wal.PAYLOAD_BYTES_MAX + 1, 10_000])
def test_a_hostile_length_in_the_last_record_is_a_torn_tail(length):
    tail = bytearray(record(b"x", 5))
    struct.pack_into("<I", tail, 4, length)

    found, end = payloads(after(written(GROUPS).data, bytes(tail)))

    assert (found, end.ending) == (WORDS, wal.Ending.TORN)


def test_records_of_another_segment_are_a_torn_tail():
    # What an old file left in a recycled block of the disk must not be replayed.
    other = MemoryFile()
    segment = wal.SegmentWriter(other, header(number=8))
    segment.append_record(b"old", 1, TIME_US)

    found, end = payloads(after(written([[b"one"]]).data, bytes(other.data[64:])))

    assert (found, end.ending) == ([b"one"], wal.Ending.TORN)


def test_reading_can_start_in_the_middle():
    data = bytes(written(GROUPS).data)
    records, _ = wal.read_records(data, header())

    tail, end = wal.read_records(data, header(), start=records[2].position, first_seq=3)

    assert (list(tail), end.next_seq) == (list(records)[2:], 5)


def test_a_payload_that_looks_like_records_is_only_a_payload():
    inner = record(b"fake", 99, synced_upto=2**32 - 1)
    file = written([[inner], [b"x" + inner + b"y"]])

    assert payloads(bytes(file.data))[0] == [inner, b"x" + inner + b"y"]


def test_a_tail_made_to_look_like_records_is_not_checksummed_for_ever(monkeypatch):
    # A stranger's value may be all record headers, each claiming half of the file: 5,000 of them here.
    claim = struct.pack("<IIIQQII", 0, 100_000, 0x01A75257, 9, 0, 150, 1)
    data = after(written([[b"one"]]).data, b"\xa5" + claim * 5000)
    checked = []
    decode = wal.reader.decode
    monkeypatch.setattr(
        "wal.reader.decode", lambda *where, **seed: (checked.append(where), decode(*where, **seed))[1]
    )
    with pytest.raises(wal.SegmentDamaged):
        payloads(data)

    assert len(checked) < 100


@given(
    st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=3), min_size=1, max_size=5),
    st.data(),
)
def test_a_cut_file_gives_a_prefix(groups, data):
    file = bytes(written(groups).data)
    cut = data.draw(st.integers(64, len(file)))

    found, end = payloads(file[:cut])

    everything = [payload for group in groups for payload in group]
    assert found == everything[: len(found)]
    assert end.next_seq == 1 + len(found)
    assert end.position <= cut


@given(
    st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=3), max_size=4),
    st.lists(st.binary(max_size=40), min_size=1, max_size=4),
    st.data(),
)
def test_whatever_becomes_of_the_last_group_the_synced_ones_are_read(groups, last, data):
    file = written(groups)
    synced = file.size
    segment_end = MemoryFile(bytearray(file.data))
    segment = wal.SegmentWriter(MemoryFile(), header())
    segment.file, segment.next_seq = segment_end, 1 + sum(map(len, groups))
    segment.synced_upto = synced
    write_group(segment, last)
    torn = bytearray(segment_end.data)
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(synced, len(torn)))
        stop = data.draw(st.integers(start, len(torn)))
        torn[start:stop] = data.draw(st.sampled_from([b"\0", b"\xa5"])) * (stop - start)
    length = data.draw(st.integers(synced, len(torn) + 100))

    found, end = payloads(bytes(torn[:length].ljust(length, b"\0")))

    everything = [payload for group in [*groups, last] for payload in group]
    assert found == everything[: len(found)]
    assert len(found) >= sum(map(len, groups))
    assert end.ending is not wal.Ending.CLOSED
