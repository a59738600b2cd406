"""Reading whole records from a log, in order, from any sequence number on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import wal
from lsm.errors import LogCorrupt, OffsetOutOfRange, typed_errors
from lsm.filenames import segment_name
from lsm.fs_types import Cause
from lsm.log.place import Place, locate_seq, read_header
from lsm.log.source import SEQ_MAX

if TYPE_CHECKING:
    from lsm.fs_types import FileSystem, ReadFile
    from lsm.log.source import LogSource, Shown
    from lsm.version import SegmentMeta

PIECE_BYTES = 2 * 1024 * 1024
_FIRST_BYTES = 128 * 1024
"""What is read first after a seek, then twice as much each time: an index tells a place not far before."""


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Whole records that were read together; positions in `records` count from the start of `data`.

    A piece of a segment that has `meta.tables` and no records stands for the rows of those tables.
    """

    path: str
    meta: SegmentMeta
    data: bytes
    records: wal.Records
    next_seq: int


@dataclass(slots=True)
class _OpenSegment:
    meta: SegmentMeta
    file: ReadFile
    header: wal.SegmentHeader
    path: str
    place: Place
    has_close_marker: bool = False
    """It is being finished: the marker is there before the manifest says so."""


class LogCursor:
    """A place in a log.  `next_seq` is what comes next; for one thread."""

    def __init__(self, source: LogSource, since: int, *, piece_bytes: int = PIECE_BYTES) -> None:
        """Stand behind sequence number `since`; read about so much at once."""
        self._source = source
        self._segment: _OpenSegment | None = None
        self._piece_bytes = piece_bytes
        self._wanted_bytes = _FIRST_BYTES
        self.next_seq = since + 1

    def next_piece(self) -> LogPiece | None:
        """Return the next records that may be shown, or None if there are none for now.

        Raises OffsetOutOfRange where the log does not hold what comes next any more: nothing is skipped.
        """
        while True:
            self._source.check_open()
            meta = self._find()
            if meta is None:
                return None
            if meta.tables:
                self.close()
                self.next_seq = (meta.last_seq or 0) + 1
                return LogPiece(self._source.fs.name, meta, b"", wal.Records(b"", [], 0), self.next_seq)
            segment = self._opened(meta)
            if segment is None:
                continue  # removed since the version was read: look again
            shown = None if meta.last_seq is not None else self._source.shown(meta)
            piece = self._read(segment, shown)
            if piece is not None:
                return piece
            if shown is not None and not self._has_moved_on(segment):
                return None

    def close(self) -> None:
        """Give the file back; the cursor can be used again."""
        segment, self._segment = self._segment, None
        if segment is not None:
            with suppress(OSError):  # nothing can be lost by closing what was only read
                segment.file.close()

    def _has_moved_on(self, segment: _OpenSegment) -> bool:
        """Tell whether the manifest knows by now that a segment with a close marker is finished."""
        if segment.has_close_marker:
            self._source.refresh()
        return segment.has_close_marker and self._known() != segment.meta

    def _find(self) -> SegmentMeta | None:
        """Return the segment that holds what comes next, None if nothing does yet."""
        meta = self._known()
        is_open = meta is not None and meta.last_seq is None and self._segment is not None
        if meta is None or (is_open and not self._source.is_newest(meta)):
            # At the known end: the log may have been rotated.
            self._source.refresh()
            meta = self._known()
        return meta

    def _known(self) -> SegmentMeta | None:
        segments = self._source.version.segments
        before = [meta for meta in segments if meta.first_seq <= self.next_seq]
        if not before:
            if not segments:
                return None
            raise self._out_of_range()
        newest = before[-1]
        if newest.last_seq is None or newest.last_seq >= self.next_seq:
            return newest
        return None

    def _out_of_range(self) -> OffsetOutOfRange:
        segments = self._source.version.segments
        latest = max(segments[-1].first_seq - 1, segments[-1].last_seq or 0)
        return OffsetOutOfRange(self.next_seq - 1, segments[0].first_seq, latest)

    def _opened(self, meta: SegmentMeta) -> _OpenSegment | None:
        """Return the segment, open and at the right place."""
        if self._segment is not None and self._segment.meta.number == meta.number:
            self._segment.meta = meta  # it may have been finished meanwhile
            return self._segment
        self.close()
        fs = self._source.fs
        path = f"{fs.name}/{segment_name(meta.number)}"
        file = _open(fs, meta, path)
        if file is None:
            self._source.refresh()
            if self._known() == meta:
                raise self._damaged(meta, path, "log segment is missing")
            return None
        try:
            header = read_header(file, meta, self._source.version.store_id, path)
            with typed_errors(path, "reading the log"):
                place = locate_seq(file, header, meta, self.next_seq, self._source)
        except LogCorrupt as error:
            file.close()
            raise self._damaged(meta, path, error.what, error.offset) from error
        except BaseException:
            file.close()
            raise
        self._segment = _OpenSegment(meta, file, header, path, place)
        return self._segment

    def _read(self, segment: _OpenSegment, shown: Shown | None) -> LogPiece | None:
        """Return the next records of one segment, or None at its end."""
        while True:
            place = segment.place
            wanted = self._wanted_bytes
            if shown is not None:
                wanted = min(wanted, shown.position - place.position)
            if wanted <= 0:
                return None
            with typed_errors(segment.path, "reading the log"):
                data = segment.file.read_upto(place.position, wanted)
            records, taken = wal.read_tail(data, segment.header, place.seq)
            if not taken:
                if wanted == self._wanted_bytes == len(data):
                    self._wanted_bytes *= 2  # one record larger than what was read
                    continue
                segment.has_close_marker = _begins_with_marker(data, segment.header)
                if segment.meta.last_seq is not None or not segment.has_close_marker:
                    self._check_end(segment, shown)
                return None
            records = _up_to(records, SEQ_MAX if shown is None else shown.seq)
            if not len(records):
                return None
            self._wanted_bytes = min(2 * self._wanted_bytes, self._piece_bytes)
            if segment.meta.last_seq is None:
                self._source.note(segment.meta, records, place.position)
            last = records[-1]
            segment.place = Place(last.first_seq + last.entries, place.position + last.end)
            if segment.place.seq > self.next_seq:
                self.next_seq = segment.place.seq
                return LogPiece(segment.path, segment.meta, data, records, self.next_seq)

    def _check_end(self, segment: _OpenSegment, shown: Shown | None) -> None:
        """Raise if there ought to be a record here: what was durable once must still be there."""
        meta, place = segment.meta, segment.place
        is_short = place.seq <= meta.last_seq if meta.last_seq is not None else False
        if is_short or (shown is not None and shown.is_known and place.position < shown.position):
            what = f"no whole record of {place.seq}, which was committed"
            raise self._damaged(meta, segment.path, what, place.position)

    def _damaged(self, damaged: SegmentMeta, path: str, what: str, offset: int | None = None) -> LogCorrupt:
        """Return the error for a segment that cannot be read on, with what can be."""
        segments = self._source.version.segments
        later = [meta.first_seq for meta in segments if meta.first_seq > damaged.first_seq]
        advice = (
            f"changes up to {self.next_seq - 1} were read"
            + (f", and those from {later[0]} on can be: since={later[0] - 1}" if later else "")
            + "; the store itself reads tables, and `lsm verify` tells if they are sound"
        )
        error = LogCorrupt(path, what, offset=offset, advice=advice)
        error.last_good_seq = self.next_seq - 1
        return error


def _open(fs: FileSystem, meta: SegmentMeta, path: str) -> ReadFile | None:
    """Return the segment's file, None if it is gone."""
    try:
        return fs.open(segment_name(meta.number), Cause.LOG)
    except FileNotFoundError:
        return None
    except OSError as error:
        with typed_errors(path, "reading the log"):
            raise error from None


def _begins_with_marker(data: bytes, header: wal.SegmentHeader) -> bool:
    record = wal.decode_record(data, 0, seed=header.seed)
    return record is not None and record.mark == wal.CLOSE


def _up_to(records: wal.Records, seq: int) -> wal.Records:
    """Return the records whose entries are all at most `seq`."""
    lasts = records.first_seqs + records.counts - 1
    count = int(lasts.searchsorted(seq, side="right"))
    return records if count == len(records) else records.first(count)
