"""The log of a store beside its writer, or without one: read without opening the store and its tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from lsm.caches import TableCache
from lsm.clock import Clock, SystemClock
from lsm.errors import ClosedError, Error, ForeignLog, NotAStore, OffsetOutOfRange, typed_errors
from lsm.filenames import segment_name
from lsm.fs import open_directory
from lsm.fs_types import Cause, FileSystem
from lsm.log.cursor import LogCursor
from lsm.log.offsets import before_time, earliest, latest, log_id_of
from lsm.log.place import read_header, read_index
from lsm.log.reader_log import ReaderLog
from lsm.reader import LiveReader
from lsm.recovery import holds_store, missing, open_tables, sound_version, stored_options
from lsm.spark.feed.offset import Offset
from lsm.spark.feed.options import Start
from lsm.spark.feed.planning import Span, Stretch, commit_of, thinned, within_bytes
from lsm.version import SegmentMeta, Version

_STRETCH_BYTES = 64 * 1024
_MICROSECONDS = 1_000_000


class DataLost(Error, LookupError):
    """Changes that a feed was to give have left the log."""


class Beside:
    """A store whose manifest was read, and nothing else."""

    def __init__(self, fs: FileSystem, clock: Clock, version: Version) -> None:
        self.fs = fs
        self.clock = clock
        self.version = version
        self.is_open = True

    def check_open(self) -> None:
        """Raise if it was closed."""
        if not self.is_open:
            raise ClosedError(f"{self.fs.name} was closed")


class Limits(NamedTuple):
    """How much a micro-batch may take; None is as much as there is."""

    rows_max: int | None
    bytes_max: int | None


class FeedLog:
    """What a change feed asks of a log.  A context manager; for one thread."""

    def __init__(self, path: str) -> None:
        """Open the log of the store at `path`."""
        self.path = path
        fs = _directory(path)
        try:
            with typed_errors(path, "reading the log"):
                if not holds_store(fs):
                    raise missing(path)
                clock = SystemClock()
                reader = LiveReader(fs, clock, {})
                version = sound_version(fs, reader.read_version)
                self._options = stored_options(fs, version)
        except BaseException:
            fs.close()
            raise
        self._beside = Beside(fs, clock, version)
        self.source = ReaderLog(self._beside, reader)
        self._tables: TableCache | None = None

    def close(self) -> None:
        """Give everything back."""
        self.source.close()
        if self._tables is not None:
            self._tables.close()
        self._beside.is_open = False
        self._beside.fs.close()

    def __enter__(self) -> "FeedLog":
        """Return the log."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    # What there is

    @property
    def id(self) -> str:
        """What tells this log from any other."""
        return log_id_of(self.source.version)

    @property
    def tables(self) -> TableCache:
        """Tables that were adopted whole: they stand for their rows in the log."""
        if self._tables is None:
            fs, version = self._beside.fs, self._beside.version
            self._tables = open_tables(fs, version, self._options, evicts=False)
        return self._tables

    def latest(self) -> int:
        """Return the last sequence number that is durable now; asked a hundred times a second, so cheap."""
        with typed_errors(self.path, "reading the log"):
            return latest(self.source)

    def earliest(self) -> int:
        """Return the first sequence number that there was when the log was last looked at."""
        return earliest(self.source.version)

    def epoch_of(self, seq: int) -> int:
        """Return the epoch of a sequence number."""
        return self.source.version.epoch_of(seq)

    def check(self, offset: Offset, last: int) -> None:
        """Raise if an offset was taken from another log than this one, which ends at `last`."""
        version = self.source.version
        store, _, number = offset.log.partition("-")
        epoch = int(number) if number.isdecimal() else -1
        later = [one.first_seq for one in version.epochs if one.number > epoch]
        is_ours = store == version.store_id.hex() and 0 <= epoch <= version.epoch
        if not is_ours or (later and offset.seq >= later[0]) or offset.seq > last:
            raise ForeignLog(
                f"{self.path}: the stream stands at {offset.seq} of log {offset.log}; the log there is now "
                f"is {self.id} and ends at {last}: the store was made anew, restored or went on differently; "
                "a new checkpointLocation starts over"
            )

    def lost(self, span: Span) -> int:
        """Return how many of the numbers of a span have left the log."""
        return max(0, min(span.until, self.earliest() - 1) - span.since)

    def refuse_loss(self, span: Span) -> None:
        """Raise if anything of a span has left the log."""
        if self.lost(span):
            first = self.earliest()
            raise DataLost(
                f"{self.path}: changes {span.since + 1} to {min(span.until, first - 1)} are no longer in the "
                f"log, which holds {first} to {self.latest()}; failOnDataLoss=false goes on with {first}, "
                "a new checkpointLocation starts over, and a consumerId keeps the log from then on"
            )

    # Where to begin and to end

    def since(self, start: Start, *, fails_on_loss: bool = True) -> int:
        """Return the number behind which a start lies, before the first row of a commit."""
        last = self.latest()
        first = self.earliest()
        if start == "earliest":
            return first - 1
        if start == "latest":
            return last
        if isinstance(start, datetime):
            with typed_errors(self.path, "looking for a time"):
                found = before_time(self.source, _as_us(start))
            if found == first - 1 > 0 and fails_on_loss:
                raise DataLost(
                    f"{self.path}: the log holds {first} to {last}, and changes before that may be of "
                    f"{start.isoformat()} or later, too; startingVersion=earliest begins with what there is"
                )
            return found
        assert isinstance(start, int)
        asked = max(start, 1)
        if asked < first and not fails_on_loss:
            return first - 1
        if not first <= asked <= last + 1:
            raise OffsetOutOfRange(start, first, last)
        return last if asked > last else self._commit(asked).since

    def until(self, end: int | datetime | None) -> int:
        """Return the last number of the last commit that ends where it was asked for, or before."""
        last = self.latest()
        if end is None:
            return last
        if isinstance(end, datetime):
            with typed_errors(self.path, "looking for a time"):
                return before_time(self.source, _as_us(end) + 1)
        if not self.earliest() - 1 <= end <= last:
            raise OffsetOutOfRange(end, self.earliest(), last)
        return end if end == last else self._commit(end + 1).since

    def limited(self, span: Span, limits: Limits) -> int:
        """Return where a micro-batch ends: whole commits within the limits, and one at least."""
        until = span.until
        if limits.rows_max is not None and span.since + limits.rows_max < until:
            commit = self._commit(span.since + limits.rows_max + 1)
            until = commit.since if commit.since > span.since else commit.until
        if limits.bytes_max is not None and until > span.since:
            until = self._within_bytes(Span(span.since, until), limits.bytes_max)
        return until

    def _commit(self, seq: int) -> Span:
        """Return the commit that `seq` is part of."""
        with self._cursor(seq - 1) as cursor:
            piece = cursor.next_piece()
            if piece is None:
                raise OffsetOutOfRange(seq, self.earliest(), self.latest())
            if piece.meta.tables:
                return Span(piece.meta.first_seq - 1, piece.meta.last_seq or 0)
            return commit_of(piece.records.first_seqs, piece.records.counts, seq)

    def _within_bytes(self, span: Span, bytes_max: int) -> int:
        reached = within_bytes(self.stretches(span), bytes_max)
        if reached is not None and reached > span.since:
            return reached
        with self._cursor(span.since) as cursor:  # less than what samples of the log are apart: look closely
            piece = cursor.next_piece()
            if piece is None or piece.meta.tables:
                return span.until if piece is None else min(span.until, piece.meta.last_seq or 0)
            records = piece.records
            lasts = records.first_seqs + records.counts - 1
            new = lasts > span.since
            sizes = (records.ends - records.positions)[new]
            fitting = int((sizes.cumsum() <= bytes_max).sum())
            return min(span.until, int(lasts[new][max(0, fitting - 1)]))

    # Where to cut

    def stretches(self, span: Span, *, by_segment: bool = False) -> list[Stretch]:
        """Return how the bytes of a span lie in the log: at commits, or only at its segments."""
        found: list[Stretch] = []
        for meta in self.source.version.segments:
            if meta.first_seq > span.until or (meta.last_seq is not None and meta.last_seq <= span.since):
                continue
            found += [self._whole(meta, span)] if by_segment else self._within(meta, span)
        return [
            Stretch(min(stretch.last_seq, span.until), stretch.size_bytes)
            for stretch, before in zip(found, [span.since, *(one.last_seq for one in found)], strict=False)
            if stretch.last_seq > span.since and before < span.until
        ]

    def _whole(self, meta: SegmentMeta, span: Span) -> Stretch:
        if meta.last_seq is None:
            return Stretch(span.until, self.source.shown(meta).position)
        return Stretch(meta.last_seq, meta.size_bytes or 0)

    def _within(self, meta: SegmentMeta, span: Span) -> list[Stretch]:
        if meta.tables:
            return [Stretch(table.seq_base + table.max_seq, table.size_bytes) for table in meta.tables]
        if meta.last_seq is None:
            return self._walked(meta, span)
        return self._indexed(meta) or [self._whole(meta, span)]

    def _indexed(self, meta: SegmentMeta) -> list[Stretch]:
        """Return the stretches between the samples of a finished segment; none if it has none."""
        name = segment_name(meta.number)
        try:
            file = self.source.fs.open(name, Cause.LOG)
        except FileNotFoundError:
            return []  # trimmed meanwhile: reading will tell
        with typed_errors(f"{self.path}/{name}", "reading the log"):
            try:
                header = read_header(file, meta, self.source.version.store_id, f"{self.path}/{name}")
                index = read_index(file, header)
            finally:
                file.close()
        if index is None or not index.seqs:
            return []
        seqs = [seq - 1 for seq in index.seqs[1:]] + [meta.last_seq or 0]
        ends = [*index.positions[1:], meta.size_bytes or index.positions[-1]]
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        return [Stretch(*one) for one in zip(seqs, sizes, strict=True)]

    def _walked(self, meta: SegmentMeta, span: Span) -> list[Stretch]:
        """Return the stretches of the segment that is being written, which has no samples yet."""
        found: list[Stretch] = []
        with self._cursor(max(span.since, meta.first_seq - 1)) as cursor:
            while cursor.next_seq <= span.until and (piece := cursor.next_piece()) is not None:
                records = piece.records
                lasts = records.first_seqs + records.counts - 1
                chosen = (lasts > span.since) & (lasts <= span.until)
                if chosen.any():
                    ends = records.ends[chosen] - records.positions[chosen][0]
                    found += thinned(lasts[chosen], ends, _STRETCH_BYTES)
        return found

    @contextmanager
    def _cursor(self, since: int) -> Iterator[LogCursor]:
        cursor = LogCursor(self.source, since)
        try:
            with typed_errors(self.path, "reading the log"):
                yield cursor
        finally:
            cursor.close()


def _directory(path: str) -> FileSystem:
    try:
        return open_directory(path, create=False, read_only=True)
    except FileNotFoundError as error:
        raise missing(path) from error
    except NotADirectoryError as error:
        raise NotAStore(f"{path} is not a directory; a store is one") from error


def _as_us(moment: datetime) -> int:
    return round(moment.timestamp() * _MICROSECONDS)
