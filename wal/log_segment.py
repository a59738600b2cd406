"""One segment of a log's directory, named after its first offset and read piece by piece.  See FORMAT.md."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wal.directory import Directory
from wal.errors import LogDamaged, SegmentDamaged, SegmentUnsupported
from wal.header import SEGMENT_HEADER_BYTES, SegmentHeader, decode_header
from wal.index import SparseIndex, decode_index
from wal.record import CLOSE, decode
from wal.writer import TRAILER_BYTES, SegmentWriter, decode_trailer

_NAME = re.compile(r"([0-9]{20})\.wal")
TEMPORARY = ".tmp"


def segment_name(first: int) -> str:
    """Return the name of the segment that begins with this offset."""
    return f"{first:020d}.wal"


def first_offsets(directory: Directory) -> list[int]:
    """Return where the segments begin, in order, as their names say."""
    return sorted(int(match[1]) for name in directory.names() if (match := _NAME.fullmatch(name)))


def segment_of(firsts: list[int], offset: int) -> int | None:
    """Return which segment holds an offset if any does; None: it is before all of them."""
    at = bisect_right(firsts, offset) - 1
    return firsts[at] if at >= 0 else None


def create_segment(directory: Directory, header: SegmentHeader) -> SegmentWriter:
    """Make an empty segment."""
    name = segment_name(header.first_seq)
    file = directory.create(name + TEMPORARY)
    try:
        writer = SegmentWriter(file, header)
        put_in_place(directory, header.first_seq)
    except BaseException:
        file.close()
        raise
    return writer


def put_in_place(directory: Directory, first: int) -> None:
    """Give a segment, whose bytes are durable, its name."""
    directory.rename(segment_name(first) + TEMPORARY, segment_name(first))
    directory.sync()


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of a finished segment."""

    next_seq: int
    index: SparseIndex | None


@dataclass(frozen=True, slots=True)
class LogSegment:
    """A segment whose header was read.  The file is opened anew for every piece: it may be replaced."""

    directory: Directory
    header: SegmentHeader

    @property
    def first(self) -> int:
        """Its first offset."""
        return self.header.first_seq

    @property
    def name(self) -> str:
        """Name of its file."""
        return segment_name(self.first)

    def read(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes."""
        return self.directory.read(self.name, position, size)

    def read_all(self) -> bytes:
        """Return all of it."""
        return self.read(0, self.directory.size(self.name))

    def closing(self) -> Closing | None:
        """Return the close marker, found from the end; None where the file does not end in one."""
        size = self.directory.size(self.name)
        tail = self.read(max(0, size - TRAILER_BYTES), TRAILER_BYTES)
        position = decode_trailer(tail, self.header.seed)
        if position is None or not SEGMENT_HEADER_BYTES <= position < size:
            return None
        marker = self.read(position, size - position)
        record = decode(marker, 0, seed=self.header.seed)
        if record is None or record.mark != CLOSE:
            return None
        return Closing(record.first_seq, decode_index(marker[record.payload_start : record.end]))


def open_segment(directory: Directory, first: int, log_id: bytes | None = None) -> LogSegment:
    """Read and check a segment's header; raises FileNotFoundError where there is no such segment."""
    with naming(directory, first, last_good=first - 1):
        header = decode_header(directory.read(segment_name(first), 0, SEGMENT_HEADER_BYTES))
        if header is None:
            raise SegmentDamaged("segment has no header", offset=0)
        if header.first_seq != first or header.number != first:
            raise SegmentDamaged(f"segment of offset {header.first_seq} has another's name", offset=0)
        if log_id is not None and header.store_id != log_id:
            raise SegmentDamaged("segment belongs to another log", offset=0)
    return LogSegment(directory, header)


@contextmanager
def naming(directory: Directory, first: int, *, last_good: int | None = None) -> Iterator[None]:
    """Add to what is wrong inside a segment which file it is, and what can still be read.

    Entries up to `last_good` can be; the error itself knows how many, if it is not given.
    """
    try:
        yield
    except SegmentDamaged as error:
        good = error.last_good_seq if last_good is None else last_good
        raise damaged(directory, first, error.what, byte=error.offset, last_good=good) from error
    except SegmentUnsupported as error:
        raise SegmentUnsupported(f"{directory.path}/{segment_name(first)}: {error}") from error


def damaged(directory: Directory, first: int, what: str, *, byte: int, last_good: int) -> LogDamaged:
    """Return the error for a damaged or missing segment."""
    later = [other for other in first_offsets(directory) if other > first]
    return LogDamaged(
        f"{directory.path}/{segment_name(first)}",
        what,
        byte=byte,
        last_good=last_good,
        next_good=later[0] if later else None,
    )
