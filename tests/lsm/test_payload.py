"""What a log record carries: batches in, the same batches out, entry by entry and as columns."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
import wal
from lsm.log_columns import columns_by_keyspace, read_writes
from lsm.payload import Value, Writes, decode, encode_mixed, encode_one, encode_puts
from lsm.segments import SegmentContents
from lsm.version import Version
from sstable import DELETED
from tests.wal.memory import MemoryFile, header

KEYS = st.one_of(st.binary(max_size=8), st.just(b"sixteen bytes key"), st.binary(min_size=300, max_size=300))
VALUES = st.one_of(st.binary(max_size=40), st.just(b"v" * 100))
WRITES = st.one_of(VALUES, st.just(DELETED))
SPACES = st.one_of(st.integers(0, 3), st.just(2**24 - 1))
Batch = list[tuple[int, bytes, Value]]
KNOWS_ALL = Version(next_keyspace=2**24)


@st.composite
def batches(draw) -> tuple[bytes, Batch]:
    """A batch in any of its forms: puts of one keyspace, one write, mixed."""
    form = draw(st.sampled_from(["puts", "one", "mixed"]))
    space = draw(SPACES)
    if form == "puts":
        pairs = draw(st.lists(st.tuples(KEYS, VALUES), max_size=12))
        keys, values = [key for key, _ in pairs], [value for _, value in pairs]
        return encode_puts(space, keys, values), [(space, key, value) for key, value in pairs]
    if form == "one":
        key, value = draw(KEYS), draw(WRITES)
        return encode_one(space, key, value), [(space, key, value)]
    entries = draw(st.lists(st.tuples(SPACES, KEYS, WRITES), max_size=12))
    spaces, keys, values = (list(column) for column in zip(*entries, strict=True)) if entries else ([],) * 3
    return encode_mixed(spaces, keys, values), entries


def flat(writes: list[Writes]) -> Batch:
    return [
        (space, key, value)
        for space, keys, values in writes
        for key, value in zip(keys, values, strict=True)
    ]


def segment_of(payloads: list[tuple[bytes, int]], first_seq: int = 1) -> SegmentContents:
    file = MemoryFile()
    segment = wal.SegmentWriter(file, header(first_seq))
    for payload, count in payloads:
        segment.append_record(payload, count, 0)
    data = bytes(file.data)
    records, end = wal.read_records(data, header(first_seq))
    return SegmentContents("db/000007.log", header(first_seq), data, records, end)


def one_record(payload: bytes, count: int = 1) -> SegmentContents:
    return segment_of([(payload, count)])


@given(batches())
def test_a_batch_reads_back_in_order(batch):
    payload, entries = batch

    assert flat(list(decode(payload, len(entries), path="log", offset=0))) == entries


@given(st.lists(batches(), max_size=8))
def test_a_segment_as_columns_says_the_same_as_its_records_one_by_one(found):
    segment = segment_of([(payload, len(entries)) for payload, entries in found])
    expected: dict[int, list[tuple[int, bytes, Value]]] = {}
    seq = 1
    for _, entries in found:
        for space, key, value in entries:
            expected.setdefault(space, []).append((seq, key, value))
            seq += 1

    columns = columns_by_keyspace(segment)
    writes = read_writes(segment, KNOWS_ALL)

    assert columns.keys() == writes.keys() == expected.keys()
    for space, wanted in expected.items():
        assert list(zip(columns[space].seqs.tolist(), *writes[space], strict=True)) == wanted
        assert columns[space].keys() == [key for _, key, _ in wanted]
        assert columns[space].kinds.tolist() == [int(value is not DELETED) for _, _, value in wanted]


def test_one_put_is_the_same_bytes_by_either_way():
    assert encode_one(5, b"key", b"value") == encode_puts(5, [b"key"], [b"value"])


def test_an_empty_value_is_not_a_deletion():
    (found,) = decode(encode_one(0, b"k", b""), 1, path="log", offset=0)

    assert found.values == [b""]


def test_runs_of_one_keyspace_stay_together():
    payload = encode_mixed([1, 1, 2, 1], [b"a", b"b", b"c", b"d"], [b"1", DELETED, b"3", b"4"])

    found = list(decode(payload, 4, path="log", offset=0))

    assert [(writes.keyspace, list(writes.keys)) for writes in found] == [
        (1, [b"a", b"b"]),
        (2, [b"c"]),
        (1, [b"d"]),
    ]


GOOD = encode_mixed([0, 1, 0], [b"a", b"bb", b"ccc"], [b"1", DELETED, b"333"])
HOSTILE = {
    "empty": (b"", 1),
    "too short": (GOOD[:7], 3),
    "truncated": (GOOD[:-1], 3),
    "a byte too many": (GOOD + b"x", 3),
    "more entries than fit": (GOOD, 4),
    "fewer entries than there are": (GOOD, 2),
    "no entries": (GOOD, 0),
    "4 G entries": (GOOD, 2**32 - 1),
    "4 G entries of one put": (encode_one(0, b"k", b"v"), 2**32 - 1),
    "unknown form": (struct.pack("<I", 7) + GOOD[4:], 3),
    "unknown kind": (GOOD[:16] + b"\x07" + GOOD[17:], 3),
    "unknown kind of one": (struct.pack("<III", 3 << 4, 1, 1) + b"kv", 1),
    "long key": (struct.pack("<III", 1 << 4, 2**32 - 1, 0), 1),
    "long value": (struct.pack("<III", 1 << 4, 0, 2**31), 1),
}


@pytest.mark.parametrize(("payload", "count"), HOSTILE.values(), ids=HOSTILE)
def test_a_payload_that_does_not_add_up_is_corruption(payload, count):
    with pytest.raises(lsm.CorruptionError, match="log"):
        list(decode(payload, count, path="log", offset=64))


@pytest.mark.parametrize(("payload", "count"), HOSTILE.values(), ids=HOSTILE)
def test_a_record_that_does_not_add_up_is_corruption_as_columns_too(payload, count):
    with pytest.raises(lsm.CorruptionError, match=r"db/000007\.log"):
        columns_by_keyspace(one_record(payload, count))


@given(st.binary(max_size=80), st.integers(0, 6))
def test_whatever_a_record_holds_both_ways_agree_or_both_refuse(payload, count):
    def outcome(read):
        try:
            return read()
        except lsm.CorruptionError:
            return "corrupt"

    entries = outcome(lambda: flat(list(decode(payload, count, path="log", offset=0))))
    columns = outcome(lambda: read_writes(one_record(payload, count), Version(next_keyspace=2**32)))

    if entries == "corrupt":
        assert columns == "corrupt"
    else:
        by_space: dict[int, tuple[list[bytes], list[Value]]] = {}
        for space, key, value in entries:
            keys, values = by_space.setdefault(space, ([], []))
            keys.append(key)
            values.append(value)
        assert columns == by_space


def test_a_write_to_a_keyspace_that_never_was_is_corruption():
    with pytest.raises(lsm.CorruptionError, match="keyspace 3, which the manifest does not know"):
        read_writes(one_record(encode_one(3, b"k", b"v")), Version(next_keyspace=3))


@pytest.mark.parametrize("first_seq", [2**63 - 2, 2**63, 2**64 - 3])
def test_sequence_numbers_past_the_end_are_corruption_or_kept(first_seq):
    try:
        found = columns_by_keyspace(segment_of([(encode_one(0, b"k", b"v"), 1)], first_seq))
    except lsm.CorruptionError:
        return
    assert found[0].seqs.tolist() == [first_seq]
