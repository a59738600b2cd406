"""Pins: one moment of a store held for readers in other processes, by links to its files.

A writer removes tables that a compaction has replaced.  A process that only reads cannot keep it from that,
but it can give the files a second name: a pin is a directory inside the store with links to the tables of
one version, beside them the end of the log as a table of its own.  It has a lease: whoever finds one whose
owner is gone, or that was not used for too long, may remove it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from secrets import token_hex

from compaction import Levels
from compaction.levels import overlaps
from lsm.clock import Clock, SystemClock
from lsm.errors import CorruptionError, KeyspaceNotFound, NotAStore, OffsetOutOfRange, typed_errors
from lsm.filenames import table_name
from lsm.fs import OsFileSystem, open_directory
from lsm.fs_pins import Lease, make_loose_pin, make_pin, owner, remove_pin, renew, sweep_pins
from lsm.fs_types import FileSystem
from lsm.pin_tail import write_tail, write_times
from lsm.reader import LiveReader
from lsm.recovery import holds_store, missing, sound_version, stored_options
from lsm.retries import Tries
from lsm.segments import SegmentContents, read_segment
from lsm.version import KeyspaceMeta, SegmentMeta, Version
from sstable import TableMeta

LEASE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What of a store is to be held."""

    keyspace: str
    start: bytes | None = None
    stop: bytes | None = None
    seq: int | None = None
    """An earlier sequence number, None for the present."""
    with_times: bool = False


@dataclass(frozen=True, slots=True)
class PinnedRun:
    """Tables of disjoint ranges, by key, and the directory they are in."""

    directory: str
    name: str
    """Where its files are from, for messages: users know those of the store, not our links."""
    tables: tuple[TableMeta, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """One moment of one keyspace, which any process on the same files can read."""

    store: str
    directory: str
    """Where the lease is."""
    store_id: bytes
    seq: int
    """The last sequence number there is in it; nothing beyond it is to be shown."""
    runs: tuple[PinnedRun, ...]
    """Newest first."""

    @property
    def size_bytes(self) -> int:
        """Length of all its tables."""
        return sum(table.size_bytes for run in self.runs for table in run.tables)

    def within(self, start: bytes | None, stop: bytes | None) -> "Pinned":
        """Return the same moment without the tables that have no key of start <= key < stop."""
        runs = [
            replace(run, tables=tuple(t for t in run.tables if _has_keys(t, start, stop)))
            for run in self.runs
        ]
        return replace(self, runs=tuple(run for run in runs if run.tables))

    def is_held(self) -> bool:
        """Tell whether it is still there, and say that it is in use."""
        return renew(self.directory)

    def release(self) -> None:
        """Let it go."""
        remove_pin(self.directory)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was linked: a version, and the log that its tables do not have."""

    version: Version
    keyspace: int
    levels: Levels
    log: list[SegmentContents]
    seq: int


def pin(path: str, moment: Moment, *, seconds: float = LEASE_SECONDS, owned_by: str | None = None) -> Pinned:
    """Hold a moment of the store at `path`, for this process or an ancestor called `owned_by`."""
    sweep_pins(path)
    clock = SystemClock()
    lease = Lease(owner(owned_by), seconds)
    with typed_errors(path, "pinning files"), _directory(path) as source:
        target = make_pin(path, token_hex(8), lease)
        links = target is not None
        if target is None:  # nothing can be linked, so its tables are read where they are
            target = make_loose_pin(lease)
        try:
            found = _take(source, target if links else None, moment, clock)
            tail = write_tail(
                found.log, found.keyspace, found.version, target, clock=clock, seq_max=found.seq
            )
            if moment.with_times:
                write_times(source, found.version, found.log, target)
        except BaseException:
            remove_pin(target.name)
            raise
        finally:
            target.close()
    tables_at = target.name if links else path
    runs = [
        PinnedRun(target.name, target.name, tail),
        *(PinnedRun(tables_at, path, run) for run in _runs(found.levels)),
    ]
    return Pinned(
        store=path,
        directory=target.name,
        store_id=found.version.store_id,
        seq=found.seq,
        runs=tuple(run for run in runs if run.tables),
    )


def sweep(path: str) -> int:
    """Remove the pins of the store at `path` that nobody uses any more; return how many."""
    return sweep_pins(path)


@contextmanager
def _directory(path: str) -> Iterator[OsFileSystem]:
    try:
        fs = open_directory(path, create=False, read_only=True)
    except FileNotFoundError as error:
        raise missing(path) from error
    except NotADirectoryError as error:
        raise NotAStore(f"{path} is not a directory; a store is one") from error
    try:
        if not holds_store(fs):
            raise missing(path)
        yield fs
    finally:
        fs.close()


def _take(source: FileSystem, target: FileSystem | None, moment: Moment, clock: Clock) -> _Found:
    """Link the tables of one version, and read its log, though a writer may be changing both."""
    reader = LiveReader(source, clock, {})
    tries = Tries(clock)
    while True:
        version = sound_version(source, reader.read_version)
        try:
            return _take_version(source, target, moment, version)
        except (CorruptionError, FileNotFoundError):
            if not tries.is_worth_another(version):
                raise


def _take_version(source: FileSystem, target: FileSystem | None, moment: Moment, version: Version) -> _Found:
    stored_options(source, version)
    space = _space(source, version, moment.keyspace)
    start = version.flushed_seq if moment.seq is None else _boundary(source, version, moment.seq)
    levels = tuple(
        tuple(table for table in level if _has_keys(table, moment.start, moment.stop))
        for level in space.levels
    )
    if target is not None:
        _link(levels, source, target)
    log = [
        read_segment(source, version, meta, durably=meta.last_seq is None)
        for meta in version.segments
        if not meta.tables and (meta.last_seq is None or meta.last_seq > start)
    ]
    latest = max([version.flushed_seq, *(contents.end.next_seq - 1 for contents in log)])
    if moment.seq is not None and moment.seq > latest:
        raise OffsetOutOfRange(moment.seq, _earliest(version), latest)
    return _Found(version, space.id, levels, log, latest if moment.seq is None else moment.seq)


def _link(levels: Levels, source: FileSystem, target: FileSystem) -> None:
    for level in levels:
        for table in level:
            if not target.exists(table_name(table.number)):  # from an earlier try
                source.link(table_name(table.number), target)


def _space(source: FileSystem, version: Version, name: str) -> KeyspaceMeta:
    for meta in version.keyspaces.values():
        if meta.name == name:
            return meta
    names = ", ".join(sorted(repr(meta.name) for meta in version.keyspaces.values()))
    raise KeyspaceNotFound(f"no keyspace {name!r} in {source.name}; there are {names}")


def _has_keys(table: TableMeta, start: bytes | None, stop: bytes | None) -> bool:
    return (start is None or table.largest >= start) and (stop is None or table.smallest < stop)


def _runs(levels: Levels) -> Iterator[tuple[TableMeta, ...]]:
    """Yield the runs of some levels, newest first."""
    for number, level in enumerate(levels):
        if number:
            yield level
            continue
        run: list[TableMeta] = []
        for table in level:  # neighbours of L0 that do not overlap, as one flush leaves them, are one run
            if any(overlaps(other, table.smallest, table.largest) for other in run):
                yield tuple(sorted(run, key=lambda table: table.smallest))
                run = []
            run.append(table)
        yield tuple(sorted(run, key=lambda table: table.smallest))


def _boundary(source: FileSystem, version: Version, seq: int) -> int:
    """Return the last moment up to `seq` that tables alone can show; the log has what comes after it."""
    boundaries = [version.flushed_seq, *_kept_boundaries(version)]
    reached = [boundary for boundary in boundaries if boundary <= seq]
    if not reached:
        latest = _latest(source, version)
        raise OffsetOutOfRange(seq, _earliest(version), latest)
    return max(reached)


def _kept_boundaries(version: Version) -> list[int]:
    if version.history_seq is None:
        return []
    starts = [meta.first_seq - 1 for meta in version.segments]
    return [start for start in starts if start >= version.history_seq]


def _earliest(version: Version) -> int:
    return min([version.flushed_seq, *_kept_boundaries(version)])


def _latest(source: FileSystem, version: Version) -> int:
    newest: SegmentMeta | None = version.segments[-1] if version.segments else None
    if newest is None or newest.tables:
        return version.flushed_seq
    return read_segment(source, version, newest, durably=newest.last_seq is None).end.next_seq - 1
