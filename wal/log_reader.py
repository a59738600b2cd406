"""Reading a log: entries in order from any offset on, and offsets by time."""

from collections.abc import Iterator
from contextlib import suppress

from wal.entry import Entry, decode_entries
from wal.errors import OffsetGone, OffsetOutOfRange
from wal.header import SEGMENT_HEADER_BYTES
from wal.index import SparseIndex
from wal.log_segment import LogSegment, damaged, first_offsets, naming, open_segment, segment_of
from wal.log_view import Extent, LogView, earliest_offset
from wal.reader import Records, read_tail
from wal.record import CLOSE, decode

_FIRST_BYTES = 128 * 1024
"""What is read first after a seek: a sample of the sparse index is not far from what was asked for."""
_PIECE_BYTES = 1024 * 1024


class _Piece:
    """Whole records that were read together."""

    __slots__ = ("data", "records", "segment", "start")

    def __init__(self, segment: LogSegment, start: int, data: bytes, records: Records) -> None:
        self.segment = segment
        self.start = start  # in the segment
        self.data = data
        self.records = records

    def entries(self) -> list[Entry]:
        """Return their entries."""
        with naming(self.segment.directory, self.segment.first):
            return decode_entries(self.data, self.records, base=self.start)


class _Place:
    """A place in the log, always between two records."""

    def __init__(self, view: LogView, segment: LogSegment, next_seq: int, position: int) -> None:
        self._view = view
        self.segment = segment
        self.next_seq = next_seq
        self._position = position
        self._wanted_bytes = _FIRST_BYTES

    def read(self, latest: int) -> Iterator[_Piece]:
        """Yield records until all up to `latest`, which are known to be durable, have come."""
        while self.next_seq <= latest:
            self._view.check_open()
            try:
                data = self.segment.read(self._position, self._wanted_bytes)
            except FileNotFoundError:
                raise _gone(self._view, self.next_seq) from None
            records = _up_to(latest, read_tail(data, self.segment.header, self.next_seq)[0])
            if len(records):
                yield self._step_over(data, records)
            elif len(data) == self._wanted_bytes:
                self._wanted_bytes *= 2  # a record larger than what was read
            else:
                self._go_on_behind(data)

    def _step_over(self, data: bytes, records: Records) -> _Piece:
        piece = _Piece(self.segment, self._position, data, records)
        last = records[-1]
        self.next_seq = last.first_seq + last.entries
        self._position += last.end
        self._wanted_bytes = min(2 * self._wanted_bytes, _PIECE_BYTES)
        return piece

    def _go_on_behind(self, rest: bytes) -> None:
        """Step from the end of a segment, of which `rest` is left, to the next one."""
        directory, segment, next_seq = self._view.directory, self.segment, self.next_seq
        marker = decode(rest, 0, seed=segment.header.seed)
        if marker is None or (marker.mark, marker.first_seq) != (CLOSE, next_seq):
            what = f"no whole record of offset {next_seq}, which was durable"
            raise damaged(directory, segment.first, what, byte=self._position, last_good=next_seq - 1)
        try:
            self.segment = open_segment(directory, next_seq, self._view.log_id)
        except FileNotFoundError:
            if next_seq < earliest_offset(self._view):
                raise _gone(self._view, next_seq) from None
            raise damaged(directory, next_seq, "segment is missing", byte=0, last_good=next_seq - 1) from None
        self._position = SEGMENT_HEADER_BYTES


def _up_to(latest: int, records: Records) -> Records:
    """Leave out what is not durable yet: it may be gone, or other bytes, the next time."""
    kept = int(records.first_seqs.searchsorted(latest, side="right"))
    return records if kept == len(records) else records.first(kept)


def read_entries(
    view: LogView, extent: Extent, offset: int, until: int | None, *, follow: bool, timeout: float | None
) -> Iterator[Entry]:
    """Yield the entries of `extent` from `offset` to `until`; with `follow`, wait for more when they end."""
    place: _Place | None = None
    while until is None or offset <= until:
        latest = extent.latest if until is None else min(extent.latest, until)
        if offset <= latest:
            place = place or _place_of(view, offset)
            for piece in place.read(latest):
                entries = piece.entries()
                if entries and (entries[0].offset < offset or entries[-1].offset > latest):
                    entries = [entry for entry in entries if offset <= entry.offset <= latest]
                yield from entries
            offset = latest + 1
        elif extent.damage is not None:
            raise extent.damage
        elif not follow:
            return
        else:
            extent = view.wait_past(offset - 1, timeout)
            if extent.latest < offset and extent.damage is None:
                return


def check_offset(view: LogView, offset: int, end: int) -> None:
    """Raise unless the log holds `offset`, or has it as the next one, `end`."""
    earliest = earliest_offset(view)
    if offset < earliest:
        raise _gone(view, offset)
    if offset > end:
        raise OffsetOutOfRange(offset, earliest, view.extent().latest)


def seek_time(view: LogView, time_us: int) -> int:
    """Return the first offset appended at that time or later; the next one, if there is none yet."""
    latest = view.extent().latest
    while True:
        with suppress(FileNotFoundError):  # trimmed meanwhile: look again
            return min(_seek_time(view, time_us, latest), latest + 1)


def _seek_time(view: LogView, time_us: int, latest: int) -> int:
    segment = _last_begun_before(view, time_us)
    if segment is None:
        return earliest_offset(view)
    index = _index_of(view, segment)
    sample = index.sample_of_time(time_us) if index is not None else None
    place = _Place(view, segment, *(sample or (segment.first, SEGMENT_HEADER_BYTES)))
    for piece in place.read(latest):
        times = piece.records.times
        # Times never go back, so the first that is late enough is found by bisection.
        at = int(times.searchsorted(time_us))
        if at < len(times):
            return int(piece.records.first_seqs[at])
    return latest + 1


def _last_begun_before(view: LogView, time_us: int) -> LogSegment | None:
    """Bisect the segments by the times in their headers; every entry before the found one is earlier."""
    firsts = first_offsets(view.directory)
    low, high, found = 0, len(firsts), None
    while low < high:
        middle = (low + high) // 2
        segment = open_segment(view.directory, firsts[middle], view.log_id)
        if segment.header.time_us < time_us:
            low, found = middle + 1, segment
        else:
            high = middle
    return found


def _place_of(view: LogView, offset: int) -> _Place:
    """Return a place at or shortly before an offset."""
    while True:
        first = segment_of(first_offsets(view.directory), offset)
        if first is None:
            raise _gone(view, offset)
        with suppress(FileNotFoundError):  # trimmed meanwhile: look again
            segment = open_segment(view.directory, first, view.log_id)
            index = _index_of(view, segment)
            sample = index.sample_of_seq(offset) if index is not None else None
            return _Place(view, segment, *(sample or (first, SEGMENT_HEADER_BYTES)))


def _index_of(view: LogView, segment: LogSegment) -> SparseIndex | None:
    index = view.live_index(segment.first)
    if index is not None:
        return index
    closing = segment.closing()
    return closing.index if closing is not None else None


def _gone(view: LogView, offset: int) -> OffsetGone:
    return OffsetGone(offset, earliest_offset(view), view.extent().latest)
