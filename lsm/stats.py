"""What there is to know about an open store, as plain typed values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from lsm.filenames import segment_name
from lsm.fs_types import Cause, IoSnapshot
from lsm.pressure import Pressure, measure
from lsm.work import Work

if TYPE_CHECKING:
    from lsm.background import Background
    from lsm.commit import Committer
    from lsm.state import State
    from lsm.version import KeyspaceMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStats:
    """One level of one keyspace."""

    level: int
    tables: int
    size_bytes: int
    entries: int
    tombstones: int
    user_bytes: int
    """Bytes of keys and values in it, overwritten ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyspaceStats:
    """One keyspace."""

    name: str
    levels: tuple[LevelStats, ...]
    memtable_entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStats:
    """What writing has cost since the store was opened."""

    user_bytes: int
    """Bytes of keys and values handed in."""
    written: dict[str, int]
    """Bytes written to disk by cause."""
    syncs: dict[str, int]
    write_amp: float | None
    """All bytes written over user bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundStats:
    """What the background has done since the store was opened, and what it holds writers back for."""

    flushes: int
    compactions: int
    moves: int
    loads: int
    """Jobs taken over from the inbox."""
    entries_in: int
    entries_out: int
    sealed: int
    pressure: Pressure
    slowdowns: int
    stops: int
    stall_seconds: float
    last_stall_reason: str
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Memory that the caches hold."""

    block_bytes: int
    block_hits: int
    block_misses: int
    table_bytes: int
    memory_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The whole store."""

    path: str
    seq: int
    flushed_seq: int
    keyspaces: tuple[KeyspaceStats, ...]
    log_bytes: int
    log_segments: int
    table_bytes: int
    snapshots: int
    write: WriteStats
    work: Work
    """What flush and compaction have cost since the store was made, by level."""
    read: dict[str, int]
    background: BackgroundStats | None
    cache: CacheStats

    def to_json(self) -> dict[str, object]:
        """Return the same as plain dicts and lists."""
        return asdict(self)


def collect_stats(state: State, committer: Committer | None, background: Background | None) -> Stats:
    """Return the figures of this moment."""
    version = state.version
    io = state.fs.counters.snapshot()
    return Stats(
        path=state.fs.name,
        seq=state.visible_seq,
        flushed_seq=version.flushed_seq,
        keyspaces=tuple(_keyspace_stats(state, meta) for meta in version.keyspaces.values()),
        log_bytes=sum(_segment_bytes(state, meta.number) for meta in version.segments),
        log_segments=len(version.segments),
        table_bytes=sum(table.size_bytes for table in version.tables().values()),
        snapshots=len(state.snapshots),
        write=_write_stats(committer, io),
        work=version.work,
        read={str(cause): count for cause, count in io.read.items()},
        background=None if background is None else _background_stats(state, background),
        cache=CacheStats(
            block_bytes=state.tables.blocks.used_bytes,
            block_hits=state.tables.blocks.hits,
            block_misses=state.tables.blocks.misses,
            table_bytes=state.tables.used_bytes,
            memory_limit=state.options.memory_limit,
        ),
    )


def _segment_bytes(state: State, number: int) -> int:
    try:
        return state.fs.disk_bytes(segment_name(number))
    except FileNotFoundError:
        return 0  # flushed and removed since the version was read


def _keyspace_stats(state: State, meta: KeyspaceMeta) -> KeyspaceStats:
    space = state.spaces.get(meta.id)
    return KeyspaceStats(
        name=meta.name,
        levels=tuple(
            LevelStats(
                level=level,
                tables=len(tables),
                size_bytes=sum(table.size_bytes for table in tables),
                entries=sum(table.entries for table in tables),
                tombstones=sum(table.tombstones for table in tables),
                user_bytes=sum(table.key_bytes + table.value_bytes for table in tables),
            )
            for level, tables in enumerate(meta.levels)
        ),
        memtable_entries=0 if space is None else sum(map(len, space.view.memory)),
    )


def _write_stats(committer: Committer | None, io: IoSnapshot) -> WriteStats:
    user_bytes = 0 if committer is None else committer.user_bytes
    written = {str(cause): count for cause, count in io.written.items() if cause is not Cause.CHECKPOINT}
    return WriteStats(
        user_bytes=user_bytes,
        written=written,
        syncs={str(cause): count for cause, count in io.syncs.items()},
        write_amp=sum(written.values()) / user_bytes if user_bytes else None,
    )


def _background_stats(state: State, background: Background) -> BackgroundStats:
    jobs, stalls = background.jobs.counters, background.throttle.counters
    failure = state.failure or background.throttle.trouble
    return BackgroundStats(
        flushes=jobs.flushes,
        compactions=jobs.compactions,
        moves=jobs.moves,
        loads=jobs.loads,
        entries_in=jobs.entries_in,
        entries_out=jobs.entries_out,
        sealed=len(state.sealed),
        pressure=measure(state),
        slowdowns=stalls.slowdowns,
        stops=stalls.stops,
        stall_seconds=stalls.seconds,
        last_stall_reason=stalls.last_reason,
        failure="" if failure is None else str(failure),
    )
