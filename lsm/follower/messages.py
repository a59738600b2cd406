"""What the frames of a shipped log say, as values; decoding takes nothing on trust.  See FORMAT.md.

What concerns files and keyspaces is said as in a manifest, by edits.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import wal
from lsm.arguments import as_keyspace_name
from lsm.edit_json import decode_edit, encode_edit
from lsm.errors import InvalidArgument, UnsupportedFormat
from lsm.options import options_from_json
from lsm.payload import KEYSPACE_MAX
from lsm.shipped import ShippedRecord
from lsm.version import BadEdit, KeyspaceMeta, TableChange, Version, VersionEdit

# In streams: changing a line below needs a new format version.
FORMAT = 1
_FORMAT = struct.Struct("<I")
_BLOCK = struct.Struct("<QI")  # first_seq, number of records
_POSITION = struct.Struct("<QQ")
_U32, _U64 = np.dtype("<u4"), np.dtype("<u8")
_RECORD_BYTES = 4 + 4 + 8  # count, length, time
_COUNTER_MAX = 2**62
"""Of sequence, epoch and file numbers: what is beyond it could not be counted on from."""


class Position(NamedTuple):
    """Everything up to `seq` was sent; the source stood at `latest` then."""

    seq: int
    latest: int


class Books(NamedTuple):
    """What a manifest says of keyspaces and of loads, beside files.

    The rows of all those loads have sequence numbers up to `seq`.
    """

    next_keyspace: int
    names: Mapping[int, str]
    transactions: Mapping[str, int]
    seq: int

    def says_the_same(self, other: "Books") -> bool:
        """Tell whether the other one has nothing new, or old."""
        return self[:-1] == other[:-1]


def encode_hello(version: Version) -> bytes:
    """Return the message that says whose log this is."""
    edit = VersionEdit(
        store_id=version.store_id,
        epoch=version.epoch,
        epochs=version.epochs,
        follows=version.follows,
        options=version.options,
    )
    return _FORMAT.pack(FORMAT) + encode_edit(edit)


def decode_hello(payload: bytes) -> Version:
    """Return the store that a stream is of, as far as it is known now; ValueError on anything else."""
    if len(payload) < _FORMAT.size:
        raise ValueError("a greeting without a format version")
    (format_,) = _FORMAT.unpack_from(payload)
    if format_ > FORMAT:
        raise UnsupportedFormat(f"stream has format {format_}; {FORMAT} is the newest known here: upgrade")
    edit = decode_edit(payload[_FORMAT.size :])
    if edit.store_id is None or edit.epochs is None or edit.epoch is None or edit.options is None:
        raise ValueError("a greeting without store id, epochs or options")
    if max(max(epoch) for epoch in edit.epochs) > _COUNTER_MAX:
        raise ValueError("an epoch is beyond all reason")
    try:
        options_from_json(edit.options)
        return Version().after(
            VersionEdit(
                store_id=edit.store_id,
                epoch=edit.epoch,
                epochs=edit.epochs,
                follows=edit.follows,
                options=edit.options,
            )
        )
    except (BadEdit, InvalidArgument) as error:
        raise ValueError(str(error)) from error


def books_of(version: Version) -> Books:
    """Return what a version says of keyspaces and loads."""
    segments = version.segments
    seq = max([version.flushed_seq, *(meta.last_seq or meta.first_seq - 1 for meta in segments[-1:])])
    names = {meta.id: meta.name for meta in version.keyspaces.values()}
    return Books(version.next_keyspace, names, dict(version.transactions), seq)


def encode_books(books: Books) -> bytes:
    """Return the message that says which keyspaces there are, and which loads there were."""
    keyspaces = (KeyspaceMeta(id=id_, name=name) for id_, name in sorted(books.names.items()))
    return encode_edit(
        VersionEdit(
            next_keyspace=books.next_keyspace,
            keyspaces_added=tuple(keyspaces),
            transactions=books.transactions,
            flushed_seq=books.seq,
        )
    )


def decode_books(payload: bytes) -> Books:
    """Return which keyspaces there are, and which loads there were."""
    edit = decode_edit(payload)
    next_keyspace = edit.next_keyspace or 0
    names = {meta.id: _keyspace_name(meta.name) for meta in edit.keyspaces_added}
    if 0 not in names or len(set(names.values())) < len(edit.keyspaces_added):
        raise ValueError("the default keyspace is missing, or a keyspace stands twice")
    if not max(names) < next_keyspace <= KEYSPACE_MAX + 1:
        raise ValueError(f"keyspace numbers up to {max(names)} cannot be")
    return Books(next_keyspace, names, edit.transactions, edit.flushed_seq or 0)


def _keyspace_name(name: str) -> str:
    try:
        return as_keyspace_name(name)
    except InvalidArgument as error:
        raise ValueError(str(error)) from error


def encode_table(change: TableChange) -> bytes:
    """Return the message that a table's bytes follow."""
    return encode_edit(VersionEdit(tables_added=(change,)))


def decode_table(payload: bytes) -> TableChange:
    """Return the facts of a table and where it belongs."""
    changes = decode_edit(payload).tables_added
    if len(changes) != 1:
        raise ValueError(f"one table was due, not {len(changes)}")
    return changes[0]


def encode_snapshot(version: Version) -> bytes:
    """Return the message that begins a snapshot: the tables that follow are the store at `flushed_seq`."""
    return encode_edit(
        VersionEdit(flushed_seq=version.flushed_seq, next_number=version.next_number, times=version.times)
    )


def decode_snapshot(payload: bytes) -> VersionEdit:
    """Return the edit that a snapshot is, but for its tables."""
    edit = decode_edit(payload)
    if edit.flushed_seq is None or edit.next_number is None:
        raise ValueError("a snapshot without its sequence number")
    if max(edit.flushed_seq, edit.next_number) > _COUNTER_MAX:
        raise ValueError("a counter is beyond all reason")
    return VersionEdit(flushed_seq=edit.flushed_seq, next_number=edit.next_number, times=edit.times)


def encode_position(position: Position) -> bytes:
    """Return the message that says how far the stream is."""
    return _POSITION.pack(*position)


def decode_position(payload: bytes) -> Position:
    """Return how far the stream is."""
    if len(payload) != _POSITION.size:
        raise ValueError(f"a position has {_POSITION.size} bytes, not {len(payload)}")
    return Position(*_POSITION.unpack(payload))


def encode_records(records: Sequence[ShippedRecord]) -> bytes:
    """Return the message with records, which follow one another without a gap."""
    return b"".join(
        [
            _BLOCK.pack(records[0].first_seq, len(records)),
            np.array([record.entries for record in records], _U32).tobytes(),
            np.array([len(record.payload) for record in records], _U32).tobytes(),
            np.array([record.time_us for record in records], _U64).tobytes(),
            *(record.payload for record in records),
        ]
    )


def decode_records(payload: bytes) -> list[ShippedRecord]:
    """Return the records of a message; ValueError on anything that no log could have."""
    if len(payload) < _BLOCK.size:
        raise ValueError("a block of records without a head")
    first_seq, n = _BLOCK.unpack_from(payload)
    at = _BLOCK.size
    if not n or at + n * _RECORD_BYTES > len(payload):
        raise ValueError(f"{n} records cannot be in {len(payload)} bytes")
    counts = np.frombuffer(payload, _U32, n, at).astype(np.int64)
    lengths = np.frombuffer(payload, _U32, n, at + 4 * n).astype(np.int64)
    times = np.frombuffer(payload, _U64, n, at + 8 * n)
    start = at + n * _RECORD_BYTES
    ends = np.cumsum(lengths) + start
    if int(ends[-1]) != len(payload):
        raise ValueError(f"records of {int(ends[-1])} bytes in a block of {len(payload)}")
    if int(counts.min()) < 1 or int(lengths.max()) > wal.PAYLOAD_BYTES_MAX:
        raise ValueError("a record without entries, or one that is too large")
    if not 1 <= first_seq <= _COUNTER_MAX or int(times.max()) > _COUNTER_MAX:
        raise ValueError(f"sequence numbers from {first_seq} on, or times, are beyond all reason")
    return list(_records(payload, first_seq, counts.tolist(), times.tolist(), [start, *ends.tolist()]))


def _records(
    payload: bytes, first_seq: int, counts: list[int], times: list[int], edges: list[int]
) -> Iterator[ShippedRecord]:
    for count, time_us, start, stop in zip(counts, times, edges, edges[1:], strict=False):
        yield ShippedRecord(first_seq, count, time_us, payload[start:stop])
        first_seq += count
