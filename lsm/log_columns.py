"""A log segment as columns, one set a keyspace: what a flush sorts and writes.

Nothing is decoded entry by entry.  Records of the same shape (entry count and form) are read together:
their fields are gathered from the segment's bytes with numpy, whatever the alignment (bench: flush).
"""

from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np
import numpy.typing as npt

import wal
from lsm.errors import CorruptionError
from lsm.payload import HEAD, MIXED, UNIFORM, Value
from lsm.version import Version
from sstable import DELETED, Columns, Kind

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U8 = npt.NDArray[np.uint8]


_ENTRY_BYTES_MIN = 8  # its two lengths


class RecordBytes(Protocol):
    """Whole records in the bytes they were read as: a segment, or a piece of one."""

    @property
    def path(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def records(self) -> wal.Records: ...


@dataclass(frozen=True, slots=True)
class _Entries:
    """Where the entries of some records are in the segment; parallel columns."""

    seqs: I64
    keyspaces: I64
    kinds: I64
    key_starts: I64
    key_lengths: I64
    value_starts: I64
    value_lengths: I64

    def take(self, chosen: "I64 | npt.NDArray[np.bool_]") -> "_Entries":
        return _Entries(*(getattr(self, name)[chosen] for name in self.__slots__))


def columns_by_keyspace(segment: RecordBytes) -> dict[int, Columns]:
    """Return all entries of a segment in log order, every version of every key."""
    if len(segment.records) == 0:
        return {}
    entries = _locate(segment, np.frombuffer(segment.data, np.uint8))
    return {
        int(keyspace): _gather(segment.data, entries.take(entries.keyspaces == keyspace))
        for keyspace in np.unique(entries.keyspaces)
    }


def columns_in_order(
    segment: RecordBytes, *, keyspaces: I64, first_seq: int, last_seq: int
) -> tuple[Columns, I64, npt.NDArray[np.bool_]]:
    """Return entries from `first_seq` to `last_seq` of some keyspaces in log order.

    With them go their keyspaces, and which of all the entries they are.
    """
    entries = _locate(segment, np.frombuffer(segment.data, np.uint8))
    chosen = _is_one_of(entries.keyspaces, keyspaces)
    chosen &= (entries.seqs >= first_seq) & (entries.seqs <= last_seq)
    if not chosen.all():
        entries = entries.take(chosen)
    return _gather(segment.data, entries), entries.keyspaces, chosen


def read_writes(segment: RecordBytes, version: Version) -> dict[int, tuple[list[bytes], list[Value]]]:
    """Return all keys and values of a segment by keyspace, in log order."""
    found: dict[int, tuple[list[bytes], list[Value]]] = {}
    for keyspace, columns in columns_by_keyspace(segment).items():
        if keyspace >= version.next_keyspace:
            raise CorruptionError(
                segment.path, f"writes to keyspace {keyspace}, which the manifest does not know"
            )
        values: list[Value] = list(columns.values())
        for deleted in np.flatnonzero(columns.kinds == Kind.DELETE).tolist():
            values[deleted] = DELETED
        found[keyspace] = columns.keys(), values
    return found


def _locate(segment: RecordBytes, data: U8) -> _Entries:
    # One u32 at every byte position: gathers fields at any alignment.
    words: U32 = np.ndarray((max(0, len(data) - 3),), np.dtype("<u4"), segment.data, strides=(1,))
    records = segment.records
    starts, ends, seqs, counts = records.payload_starts, records.ends, records.first_seqs, records.counts
    _check(segment, counts * _ENTRY_BYTES_MIN + HEAD.size <= ends - starts)
    shapes = counts * 16 + (words[starts] & 15)
    if len(shapes) and (shapes == shapes[0]).all():
        whole = _locate_shape(segment, data, words, int(shapes[0]), starts, ends, seqs)
    else:
        columns = starts, ends, seqs
        parts = [
            _locate_shape(segment, data, words, int(shape), *(column[shapes == shape] for column in columns))
            for shape in np.unique(shapes)
        ]
        whole = _Entries(*(np.concatenate(column) for column in zip(*map(_as_columns, parts), strict=True)))
        whole = whole.take(np.argsort(whole.seqs, kind="stable"))
    if whole.kinds.max(initial=0) > Kind.PUT:
        raise CorruptionError(segment.path, "log holds kinds of entries that this version does not know")
    return whole


def _is_one_of(keyspaces: I64, wanted: I64) -> npt.NDArray[np.bool_]:
    # Most stores have one keyspace, for which there is a quicker way (bench: log).
    return keyspaces == wanted[0] if len(wanted) == 1 else np.isin(keyspaces, wanted)


def _as_columns(entries: _Entries) -> list[I64]:
    return [getattr(entries, name) for name in _Entries.__slots__]


def _locate_shape(
    segment: RecordBytes, data: U8, words: U32, shape: int, starts: I64, ends: I64, seqs: I64
) -> _Entries:
    """Locate the entries of records that all have the same count and form: one row a record."""
    count, form = divmod(shape, 16)
    each = np.arange(count)
    head = words[starts].astype(np.int64)
    at = starts + HEAD.size
    if form == MIXED:
        _check(segment, at + 5 * count <= ends)
        keyspaces = words[at[:, None] + 4 * each].astype(np.int64)
        kinds = data[at[:, None] + 4 * count + each].astype(np.int64)
        at = at + 5 * count
    elif form == UNIFORM:
        keyspaces = np.broadcast_to((head >> 8)[:, None], (len(at), count))
        kinds = np.broadcast_to((head >> 4 & 15)[:, None], (len(at), count))
    else:
        raise CorruptionError(segment.path, f"log record of unknown form {form}")
    _check(segment, at + 8 * count <= ends)
    key_lengths = words[at[:, None] + 4 * each].astype(np.int64)
    value_lengths = words[at[:, None] + 4 * count + 4 * each].astype(np.int64)
    key_ends = (at + 8 * count)[:, None] + np.cumsum(key_lengths, axis=1)
    keys_end = key_ends[:, -1] if count else at
    value_ends = keys_end[:, None] + np.cumsum(value_lengths, axis=1)
    _check(segment, (value_ends[:, -1] if count else keys_end) == ends)
    return _Entries(
        seqs=(seqs[:, None] + each).ravel(),
        keyspaces=keyspaces.ravel(),
        kinds=kinds.ravel(),
        key_starts=(key_ends - key_lengths).ravel(),
        key_lengths=key_lengths.ravel(),
        value_starts=(value_ends - value_lengths).ravel(),
        value_lengths=value_lengths.ravel(),
    )


def _check(segment: RecordBytes, fits: npt.NDArray[np.bool_]) -> None:
    if not fits.all():
        raise CorruptionError(segment.path, "log record is no batch of entries: its lengths do not add up")


def _gather(data: bytes, entries: _Entries) -> Columns:
    key_offsets, key_data = _strings(data, entries.key_starts, entries.key_lengths)
    value_offsets, value_data = _strings(data, entries.value_starts, entries.value_lengths)
    return Columns(
        key_offsets=key_offsets,
        key_data=key_data,
        seqs=entries.seqs.astype(np.uint64),
        kinds=entries.kinds.astype(np.uint8),
        value_offsets=value_offsets,
        value_data=value_data,
    )


def _strings(data: bytes, starts: I64, lengths: I64) -> tuple[I64, U8]:
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    width = int(lengths[0]) if len(lengths) else 0
    if width and (lengths == width).all():
        # One row a string: numpy copies rows much faster than it gathers bytes.
        rows = np.ndarray((len(data) - width + 1,), np.dtype((np.void, width)), data, strides=(1,))
        return offsets, rows[starts].view(np.uint8)
    view = memoryview(data)
    pieces = map(view.__getitem__, map(slice, starts.tolist(), (starts + lengths).tolist(), repeat(None)))
    return offsets, np.frombuffer(b"".join(pieces), np.uint8)
