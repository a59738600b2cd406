"""A shipped log on its way: whatever arrives, the copy is a beginning of its source."""

import io
import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.edit_json import encode_edit
from lsm.follower import frames, messages
from lsm.follower.api import apply_on
from lsm.follower.frames import FrameEncoder, FrameReader
from lsm.payload import encode_one, encode_puts
from lsm.shipped import ShippedRecord
from lsm.version import Epoch, KeyspaceMeta, Version, VersionEdit
from tests.lsm.followers import Pair, assert_same
from tests.reliability.tiny import open_tiny
from tests.support.memfs import MemFS

KINDS = sorted(frames.PAYLOAD_BYTES_MAX)
REFUSALS = (lsm.StreamCorrupt, lsm.UnsupportedFormat)


def split(stream):
    """Return the frames of a stream as bytes."""
    found, at = [], 0
    while at < len(stream):
        _, length, _ = frames.HEADER.unpack_from(stream, at)
        end = at + frames.HEADER.size + length
        found.append(stream[at:end])
        at = end
    return found


def kind_of(frame):
    return frame[8:12]


def reframed(parts):
    """Return a stream of (kind, payload) with checksums that are right: what a hostile sender would send."""
    encoder = FrameEncoder()
    return b"".join(encoder.encode(kind, payload) for kind, payload in parts)


def parts_of(stream):
    return [(kind_of(frame), frame[frames.HEADER.size :]) for frame in split(stream)]


@pytest.fixture(params=["all", "limits"], ids=["log", "snapshot"])
def pair(request):
    """A store whose log reaches back to its beginning, and one that must be shipped as a snapshot."""
    pair = Pair(log_retention=request.param)
    pair.write(25)
    yield pair
    pair.db.close()


# All is well


def test_a_stream_makes_a_copy_and_the_next_one_takes_it_further(pair):
    seq = pair.apply(pair.ship())
    assert seq == pair.db.seq
    pair.db.keyspace("third").put(b"k", b"v")
    pair.db.drop_keyspace("second")

    assert pair.apply(pair.ship(seq)) == pair.db.seq

    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)
    with pair.open("copy") as copy, pytest.raises(lsm.ReadOnlyError, match="promote"):
        copy.put(b"k", b"v")


def test_what_kind_of_stream_it_is(pair):
    kinds = [kind_of(frame) for frame in split(pair.ship())]
    assert kinds[:2] == [frames.HELLO, frames.KEYSPACES]
    assert (frames.SNAPSHOT in kinds) == (pair.db.log.earliest > 1)
    assert kinds[-1] == frames.POSITION


def test_an_empty_store_makes_an_empty_copy():
    pair = Pair()
    assert pair.apply(pair.ship()) == 0
    with pair.open("copy", "r") as copy:
        assert copy.keyspaces() == ["default"]
    pair.db.close()


def test_the_same_stream_twice_changes_nothing(pair):
    stream = pair.ship()
    seq = pair.apply(stream)
    assert pair.apply(stream) == seq
    assert pair.apply(stream + stream) == seq
    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)


def test_streams_can_be_joined_and_may_overlap(pair):
    first, at = pair.ship(), pair.db.seq
    pair.write(2, 25)
    middle = pair.ship(at)
    at = pair.db.seq
    pair.write(1, 27)
    last = pair.ship(at)

    assert pair.apply(first + middle + middle + last) == pair.db.seq

    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)


def test_an_old_stream_does_not_bring_back_what_was_dropped(pair):
    old = pair.ship()
    pair.apply(old)
    pair.db.drop_keyspace("second")
    pair.apply(pair.ship(pair.db.seq))

    pair.apply(old)

    with pair.open("copy", "r") as copy:
        assert copy.keyspaces() == ["default"]


def test_a_stream_of_single_bytes_is_the_same_stream(pair):
    class Trickle(io.RawIOBase):
        def __init__(self, data):
            self._data = io.BytesIO(data)

        def read(self, size=-1):
            return self._data.read(min(size, 1))

    assert apply_on(Trickle(pair.ship()), pair.dir(), clock=pair.clock) == pair.db.seq


def test_progress_is_told(pair):
    told = []
    pair.apply(pair.ship(), progress=lambda seq, latest: told.append((seq, latest)))
    assert told[-1] == (pair.db.seq, pair.db.seq)
    assert told == sorted(told)


def test_a_copy_made_by_a_stream_can_follow_a_directory_and_the_other_way_round(pair):
    pair.apply(pair.ship())
    pair.write(1, 25)
    with pair.follow() as follower:
        follower.catch_up()
        assert_same(follower.db, pair.db)
    at = pair.db.seq
    pair.write(1, 26)
    pair.apply(pair.ship(at))
    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)


def test_a_copy_can_be_shipped(pair):
    pair.apply(pair.ship())
    pair.apply(pair.ship(source="copy"), "second")
    with pair.open("second", "r") as copy:
        assert_same(copy, pair.db)


def test_a_stream_goes_on_while_the_store_is_written(tmp_path):
    class Writing(io.BytesIO):
        """Writes to the store while the stream is written."""

        def flush(self):
            if db.seq < 40:
                db.put(b"%d" % db.seq, b"v")

    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"v")
        out = Writing()
        seq = lsm.ship(db, out, follow=True, timeout=0.3)
        assert seq == 40
        assert lsm.apply(io.BytesIO(out.getvalue()), tmp_path / "copy") == 40
    with lsm.open(tmp_path / "copy", "r") as copy:
        assert len(copy) == 40


def test_a_promotion_in_the_middle_of_a_stream_arrives():
    pair = Pair()
    pair.write(3)
    first = pair.ship()
    pair.db.close()
    with pair.promoted("source2") as db:
        db.put(b"k", b"new")
        second = pair.ship(source="source2")
        pair.apply(first + second)
        with pair.open("copy", "r") as copy:
            assert copy.log.epoch == 2
            assert_same(copy, db)
    with pytest.raises(lsm.ForeignLog, match="older epoch"):
        pair.apply(first)
    pair.db = pair.open()
    pair.db.close()


# Where a stream begins


def test_a_stream_that_begins_beyond_the_copy_is_refused(pair):
    at = pair.db.seq
    pair.apply(pair.ship())
    pair.write(1, 25)
    middle = pair.db.seq
    pair.write(1, 26)
    later = pair.ship(middle)
    parts = [part for part in parts_of(later) if part[0] != frames.RECORDS]
    records = [r for k, p in parts_of(later) if k == frames.RECORDS for r in messages.decode_records(p)]
    records = [record for record in records if record.first_seq > middle]
    stream = reframed([*parts, (frames.RECORDS, messages.encode_records(records))])

    with pytest.raises(lsm.OffsetOutOfRange) as caught:
        pair.apply(stream)

    assert (caught.value.requested, caught.value.earliest) == (at, middle + 1)
    with pytest.raises(lsm.OffsetOutOfRange):
        pair.apply(stream, "nothing there")


@pytest.mark.parametrize("since", [-1, 10**9, 2.5, "earliest", True])
def test_a_start_that_the_log_does_not_have_is_refused(pair, since):
    with pytest.raises((lsm.OffsetOutOfRange, lsm.InvalidArgument)):
        pair.ship(since)


def test_a_start_that_was_trimmed_is_refused_and_a_snapshot_is_not():
    pair = Pair(log_retention="limits")
    pair.write(25)
    with pytest.raises(lsm.OffsetOutOfRange) as caught:
        pair.ship(1)
    assert caught.value.earliest == pair.db.log.earliest
    assert pair.apply(pair.ship()) == pair.db.seq
    pair.db.close()


def test_a_snapshot_beyond_the_copy_makes_it_anew_only_where_that_is_wanted():
    pair = Pair(log_retention="limits")
    pair.write(10)
    before = pair.apply(pair.ship())
    pair.write(40, 10)
    stream = pair.ship()
    with pytest.raises(lsm.OffsetOutOfRange) as caught:
        pair.apply(stream)
    assert caught.value.requested == before

    assert pair.apply(stream, bootstrap_again=True) == pair.db.seq

    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)
    pair.db.close()


# Damage on the way


def is_beginning(pair, name="copy"):
    """Raise unless a copy, if there is one, holds what its source once held."""
    try:
        copy = pair.open(name, "r")
    except (lsm.StoreNotFound, lsm.FollowerError):
        return
    with copy:
        expected = {}
        for change in pair.db.changes(pair.db.log.earliest - 1, copy.seq):
            expected[change.keyspace, change.key] = change.value
        for (keyspace, key), value in expected.items():
            assert copy.keyspace(keyspace).get(key) == value


def test_a_stream_may_be_cut_anywhere_and_be_taken_up_again(pair):
    stream = pair.ship()
    edges = {0}
    for frame in split(stream):
        edges.add(max(edges) + len(frame))
    cuts = {*range(0, len(stream), 97), *edges, *(edge - 1 for edge in edges if edge)}
    for number, cut in enumerate(sorted(cuts)):
        name = f"copy{number}"
        try:
            pair.apply(stream[:cut], name)
            assert cut in edges
        except lsm.StreamCorrupt:
            pass
        is_beginning(pair, name)
        assert pair.apply(stream, name) == pair.db.seq
        with pair.open(name, "r") as copy:
            assert_same(copy, pair.db)


def test_a_flipped_bit_is_always_noticed(pair, seed):
    stream = pair.ship()
    step = 23  # the seed says which
    for at in range(seed % step, len(stream), step):
        damaged = bytearray(stream)
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises(REFUSALS):
            pair.apply(bytes(damaged), f"copy{at}")
        if at % 50 == 0:
            is_beginning(pair, f"copy{at}")


def test_frames_that_are_missing_doubled_or_swapped_are_noticed(pair):
    parts = split(pair.ship())
    for at in range(1, len(parts) - 1):
        for number, wrong in enumerate(
            (
                parts[:at] + parts[at + 1 :],
                [*parts[:at], parts[at], *parts[at:]],
                [*parts[:at], parts[at + 1], parts[at], *parts[at + 2 :]],
            )
        ):
            with pytest.raises(lsm.StreamCorrupt):
                pair.apply(b"".join(wrong), f"copy{at}-{number}")


def test_what_came_before_the_damage_is_kept(pair):
    stream = pair.ship()
    seq = pair.apply(stream)
    pair.write(3, 25)
    more = pair.ship(seq)
    with pytest.raises(lsm.StreamCorrupt) as caught:
        pair.apply(more + b"garbage of some length")
    assert caught.value.offset == len(more)
    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)


@pytest.mark.parametrize(
    "data", [b"x", b"PK\x03\x04" * 10, b"#!/bin/sh\necho hello, world\n", bytes(100), b"\xff" * 64]
)
def test_what_is_no_stream_is_refused(pair, data):
    with pytest.raises(lsm.StreamCorrupt, match=r"no shipped log|middle of a frame|no frame"):
        pair.apply(data)
    with pytest.raises(lsm.StreamCorrupt):
        pair.apply(b"")


def test_no_memory_is_taken_on_the_word_of_a_stream():
    class Liar:
        """Says that much follows, and sends little."""

        asked = 0

        def __init__(self, data):
            self._data = data

        def read(self, size):
            self.asked = max(self.asked, size)
            part, self._data = self._data[:size], self._data[size:]
            return part

    largest = frames.PAYLOAD_BYTES_MAX[frames.RECORDS]
    hello = FrameEncoder().encode(frames.HELLO, b"")
    for length, what in ((largest, "middle of a frame"), (largest + 1, "no frame"), (2**32 - 1, "no frame")):
        liar = Liar(hello + frames.HEADER.pack(0, length, frames.RECORDS) + b"little")
        reader = FrameReader(liar)
        reader.next()
        with pytest.raises(lsm.StreamCorrupt, match=what):
            reader.next()
        assert liar.asked <= 1024 * 1024


# Streams that are well framed and mean harm


HELLO = Version(store_id=b"h" * 16, options={}, next_keyspace=1)
KEYS = encode_edit(VersionEdit(next_keyspace=2, keyspaces_added=(KeyspaceMeta(id=0, name="default"),)))


def test_a_newer_format_is_refused_by_name(pair):
    payload = struct.pack("<I", 2) + b"whatever it may say"
    with pytest.raises(lsm.UnsupportedFormat, match="format 2"):
        pair.apply(reframed([(frames.HELLO, payload)]))


def block(*records):
    return messages.encode_records(records)


def hostile_tails():
    good = encode_puts(0, [b"k"], [b"v"])
    return {
        "a payload that is none": block(ShippedRecord(1, 1, 5, b"\xff" * 30)),
        "a payload that is too short": block(ShippedRecord(1, 1, 5, b"")),
        "another number of entries": block(ShippedRecord(1, 2, 5, good)),
        "a keyspace that is not there": block(ShippedRecord(1, 1, 5, encode_one(7, b"k", b"v"))),
        "a key beyond all limits": block(ShippedRecord(1, 1, 5, encode_one(0, bytes(70_000), b"v"))),
        "no records": struct.pack("<QI", 1, 0),
        "more records than bytes": struct.pack("<QI", 1, 2**31),
        "sequence number 0": block(ShippedRecord(0, 1, 5, good)),
        "a sequence number beyond all reason": block(ShippedRecord(2**63, 1, 5, good)),
        "a record without entries": block(ShippedRecord(1, 0, 5, good)),
        "bytes too many": block(ShippedRecord(1, 1, 5, good)) + b"x",
    }


@pytest.mark.parametrize("what", hostile_tails())
def test_hostile_records_are_refused_and_the_copy_stays_sound(what):
    pair = Pair()
    stream = reframed(
        [
            (frames.HELLO, messages.encode_hello(HELLO)),
            (frames.KEYSPACES, KEYS),
            (frames.POSITION, messages.encode_position(messages.Position(0, 0))),
            (frames.RECORDS, hostile_tails()[what]),
            (frames.POSITION, messages.encode_position(messages.Position(0, 0))),
        ]
    )
    with pytest.raises(lsm.CorruptionError):
        pair.apply(stream)
    with pair.open("copy") as copy:
        assert copy.seq == 0
    good = block(ShippedRecord(1, 1, 5, encode_puts(0, [b"k"], [b"v"])))
    assert pair.apply(reframed([*parts_of(stream)[:3], (frames.RECORDS, good)])) == 1
    pair.db.close()


def edit(**fields):
    return encode_edit(VersionEdit(**fields))


@pytest.mark.parametrize(
    "parts",
    [
        [(frames.KEYSPACES, KEYS)],
        [(frames.HELLO, b"")],
        [(frames.HELLO, struct.pack("<I", 1) + b"{}")],
        [(frames.HELLO, struct.pack("<I", 1) + b"[" * 100_000)],
        [(frames.HELLO, struct.pack("<I", 1) + b'{"store_id":"00"}')],
        [(frames.HELLO, messages.encode_hello(HELLO))],
        [(frames.HELLO, messages.encode_hello(Version(store_id=b"h" * 16, options={"sync": "never"})))],
        [(frames.HELLO, struct.pack("<I", 1) + edit(
            store_id=b"h" * 16, epoch=2, options={}, epochs=(Epoch(2, 5), Epoch(1, 9))))],
        [(frames.HELLO, struct.pack("<I", 1) + edit(
            store_id=b"h" * 16, epoch=2**62 + 1, options={}, epochs=(Epoch(2**62 + 1, 1),)))],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.POSITION, bytes(15))],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.POSITION, bytes(16))],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, b"{}")],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, edit(
            next_keyspace=1, keyspaces_added=(KeyspaceMeta(id=0, name=""),)))],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, edit(
            next_keyspace=1, keyspaces_added=(KeyspaceMeta(id=9, name="x"),)))],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, KEYS), (frames.DATA, b"x")],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, KEYS), (frames.SNAPSHOT_END, b"")],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, KEYS), (frames.SNAPSHOT, b"{}")],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, KEYS),
         (frames.SNAPSHOT, edit(flushed_seq=5, next_number=9)), (frames.DATA, b"x")],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, KEYS),
         (frames.SNAPSHOT, edit(flushed_seq=5, next_number=9)), (frames.POSITION, bytes(16))],
        [(frames.HELLO, messages.encode_hello(HELLO)), (frames.KEYSPACES, KEYS),
         (frames.SNAPSHOT, edit(flushed_seq=2**62 + 1, next_number=9)), (frames.SNAPSHOT_END, b"")],
    ],
    ids=str,
)  # fmt: skip - one stream a line or two
def test_streams_that_make_no_sense_are_refused(parts):
    pair = Pair()
    with pytest.raises(lsm.StreamCorrupt):
        pair.apply(reframed(parts))
    is_beginning(pair)
    assert pair.apply(pair.ship()) == 0  # and the directory can still be used
    pair.db.close()


def snapshot_parts():
    pair = Pair(log_retention="limits")
    pair.write(25)
    parts = parts_of(pair.ship())
    pair.db.close()
    return pair, parts


def flip(data, at):
    damaged = bytearray(data)
    damaged[at] ^= 1
    return bytes(damaged)


@pytest.mark.parametrize("where", [0, 0.3, 0.7, -1])
def test_a_damaged_table_is_refused_though_its_frames_are_right(where):
    pair, parts = snapshot_parts()
    at = next(number for number, (kind, _) in enumerate(parts) if kind == frames.DATA)
    payload = parts[at][1]
    position = where if isinstance(where, int) else int(where * len(payload))
    with pytest.raises(lsm.StreamCorrupt, match="table"):
        pair.apply(reframed([*parts[:at], (frames.DATA, flip(payload, position)), *parts[at + 1 :]]))
    with pytest.raises(lsm.FollowerError, match="half a copy"):
        pair.open("copy")


def test_a_snapshot_with_a_table_too_few_bytes_too_many_or_a_table_twice_is_refused():
    pair, parts = snapshot_parts()
    heads = [number for number, (kind, _) in enumerate(parts) if kind == frames.TABLE]
    data = [number for number, (kind, _) in enumerate(parts) if kind == frames.DATA]
    wrong = [
        parts[: data[0]] + parts[data[0] + 1 :],
        [*parts[: data[0]], (frames.DATA, b"x"), *parts[data[0] :]],
        [*parts[: heads[1]], *parts[heads[0] : heads[1]], *parts[heads[1] :]],
    ]
    for stream in wrong:
        with pytest.raises(lsm.StreamCorrupt):
            pair.apply(reframed(stream))


def test_a_table_of_another_store_is_refused():
    pair, parts = snapshot_parts()
    hello = messages.decode_hello(parts[0][1])
    forged = messages.encode_hello(Version(store_id=b"f" * 16, options=hello.options))
    with pytest.raises(lsm.StreamCorrupt, match="another store"):
        pair.apply(reframed([(frames.HELLO, forged), *parts[1:]]))


@given(st.sampled_from([messages.decode_hello, messages.decode_books, messages.decode_table,
                        messages.decode_snapshot, messages.decode_position, messages.decode_records]),
       st.binary(max_size=300))  # fmt: skip - what decodes, and what it gets
def test_decoding_takes_any_bytes(decode, data):
    with suppress(ValueError, lsm.UnsupportedFormat):
        decode(data)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(0, 2**50), st.binary(max_size=50)), min_size=1, max_size=20
    ),
    st.integers(1, 2**40),
)
def test_records_survive_the_way(parts, first_seq):
    records = []
    for count, time_us, payload in parts:
        records.append(ShippedRecord(first_seq, count, time_us, payload))
        first_seq += count
    assert messages.decode_records(messages.encode_records(records)) == records


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.binary(max_size=16)), max_size=10))
def test_frames_survive_the_way(parts):
    parts = [(frames.HELLO, b"hello"), *((k, b"" if k == frames.SNAPSHOT_END else p) for k, p in parts)]
    reader = FrameReader(io.BytesIO(reframed(parts)))
    found = []
    while (frame := reader.next()) is not None:
        found.append((frame.kind, frame.payload))
    assert found == parts


def test_the_frame_of_the_format_document():
    (frame,) = split(FrameEncoder().encode(frames.POSITION, bytes(16)))
    body = struct.pack("<I", 16) + b"POSN" + bytes(16)
    assert frame == struct.pack("<I", zlib.crc32(body)) + body


# Whose stream it is


def test_a_stream_of_another_store_is_refused(pair):
    pair.apply(pair.ship())
    with open_tiny(pair.dir("other"), identity=7) as other:
        other.put(b"k", b"v")
        stream = pair.ship(source="other")
    with pytest.raises(lsm.ForeignLog, match="is a copy of"):
        pair.apply(stream)
    with pair.open("copy", "r") as copy:
        assert_same(copy, pair.db)


def test_a_stream_of_an_old_epoch_is_refused(pair):
    stream, last = pair.ship(), pair.db.seq
    pair.apply(stream)
    with pair.follow() as follower:
        follower.promote().close()
    with pytest.raises(lsm.ForeignLog, match=f"epoch 1, but copy knows of epoch 2.*{last + 1}"):
        pair.apply(stream)


def test_a_diverged_log_is_refused_and_the_number_said():
    pair = Pair()
    pair.write(5)
    at = pair.apply(pair.ship())
    before = {name: data for name, data in pair.fs.image().items() if name != "LOCK"}
    pair.db.put(b"k", b"one")
    pair.apply(pair.ship(at))
    pair.db.close()
    with open_tiny(MemFS.from_image(before), clock=pair.clock) as twin:  # the source, set back by a backup
        twin.put(b"k", b"two")
        twin.put(b"k", b"three")
        out = io.BytesIO()
        lsm.ship(twin, out, since=at + 1)

    with pytest.raises(lsm.ForeignLog, match=f"diverged at sequence number {at + 1}"):
        pair.apply(out.getvalue())

    with pair.open("copy", "r") as copy:
        assert (copy[b"k"], copy.seq) == (b"one", at + 1)


def test_a_writer_is_not_overwritten_by_a_stream_of_its_own_copy(pair):
    pair.apply(pair.ship())
    stream = pair.ship(source="copy")
    pair.db.close()
    with pytest.raises(lsm.FollowerError, match="swapped"):
        pair.apply(stream, "source")
    pair.db = pair.open()
    pair.db.put(b"still", b"mine")


def test_a_checkpoint_is_taken_further_by_a_stream(tmp_path):
    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"1")
        at = db.checkpoint(tmp_path / "copy")
        db.put(b"k", b"2")
        out = io.BytesIO()
        lsm.ship(db, out, since=at)
        assert lsm.apply(io.BytesIO(out.getvalue()), tmp_path / "copy") == 2
        with lsm.open(tmp_path / "copy", "r") as copy:
            assert copy[b"k"] == b"2"
            assert copy._state.version.follows


def test_a_checkpoint_that_was_written_to_is_not(tmp_path):
    with lsm.open(tmp_path / "source", background="manual") as db:
        db.put(b"k", b"1")
        at = db.checkpoint(tmp_path / "copy")
        with lsm.open(tmp_path / "copy") as copy:
            copy.put(b"k", b"own")
        db.put(b"k", b"2")
        for since in (at, at + 1, None):
            out = io.BytesIO()
            lsm.ship(db, out, since=since)
            with pytest.raises((lsm.FollowerError, lsm.ForeignLog)):
                lsm.apply(io.BytesIO(out.getvalue()), tmp_path / "copy")
    with lsm.open(tmp_path / "copy") as copy:
        assert copy[b"k"] == b"own"
        copy.put(b"k", b"still")


def test_a_stream_that_nobody_reads_ends_in_a_broken_pipe(tmp_path):
    class Broken(io.BytesIO):
        def write(self, data):
            raise BrokenPipeError(32, "nobody there")

    with lsm.open(tmp_path / "source") as db:
        db.put(b"k", b"v")
        with pytest.raises(BrokenPipeError):
            lsm.ship(db, Broken())
    with pytest.raises(BrokenPipeError):
        lsm.ship(tmp_path / "source", Broken())
    with pytest.raises(lsm.ClosedError):
        lsm.ship(db, io.BytesIO())


def test_a_copy_in_use_is_not_shipped_into(pair):
    stream = pair.ship()
    with pair.follow(), pytest.raises(lsm.LockedError):
        pair.apply(stream)
