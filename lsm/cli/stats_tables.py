"""Statistics of a store as tables for people."""

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

import lsm
from lsm.cli.output import plural, printable, share, size
from lsm.stats import BackgroundStats, KeyspaceStats, LevelStats, WriteStats


def stats_tables(stats: lsm.Stats, keyspace: str | None = None) -> Iterator[RenderableType]:
    """Yield the tables of a whole store, or of one keyspace only."""
    if keyspace is None:
        yield summary(stats)
    for one in stats.keyspaces:
        if keyspace in (None, one.name):
            yield levels_table(one)
    if keyspace is None and stats.write.user_bytes:
        yield write_table(stats.write)
    if keyspace is None and stats.background is not None:
        yield background_table(stats.background)


def summary(stats: lsm.Stats) -> Table:
    """Return the store at a glance."""
    table = facts("store")
    table.add_row("directory", printable(stats.path))
    table.add_row("sequence number", f"{stats.seq:,}, in tables up to {stats.flushed_seq:,}")
    table.add_row("tables", f"{plural(_table_count(stats), 'table')}, {size(stats.table_bytes)}")
    table.add_row("log", f"{plural(stats.log_segments, 'segment')}, {size(stats.log_bytes)} on disk")
    in_memory = sum(keyspace.memtable_entries for keyspace in stats.keyspaces)
    table.add_row("memtables", f"{plural(in_memory, 'key')} not yet in tables")
    cache = stats.cache
    cached_bytes = cache.block_bytes + cache.table_bytes
    table.add_row("caches", f"{size(cached_bytes)} of a memory limit of {size(cache.memory_limit)}")
    table.add_row("snapshots held", f"{stats.snapshots:,}")
    if stats.background is None:
        table.add_row("write amplification", "counted by the process that writes: DB.stats() there")
    return table


def levels_table(keyspace: KeyspaceStats, title: str | None = None) -> Table:
    """Return the levels of a keyspace, with what share of it each holds."""
    table = new_table(title or f"keyspace {printable(keyspace.name)}")
    for name in ("level", "tables", "size", "share", "entries", "share", "tombstones", "of entries"):
        table.add_column(name, justify="left" if name == "level" else "right")
    whole = _total(keyspace.levels)
    for level in keyspace.levels:
        if level.tables:
            table.add_row(f"L{level.level}", *_level_cells(level, whole))
    table.add_section()
    table.add_row("all", *_level_cells(whole, whole), style="bold")
    return table


def keyspaces_table(keyspaces: tuple[KeyspaceStats, ...]) -> Table:
    """Return one line for each keyspace."""
    table = new_table("keyspaces")
    for name in ("name", "tables", "size", "entries", "in memory"):
        table.add_column(name, justify="left" if name == "name" else "right")
    for keyspace in keyspaces:
        whole = _total(keyspace.levels)
        cells = (f"{whole.tables:,}", size(whole.size_bytes), f"{whole.entries:,}")
        table.add_row(printable(keyspace.name), *cells, f"{keyspace.memtable_entries:,}")
    return table


def write_table(write: WriteStats, title: str = "written since the store was opened") -> Table:
    """Return what writing has cost, by cause."""
    table = new_table(title)
    for name in ("cause", "bytes", "share", "per user byte", "syncs"):
        table.add_column(name, justify="left" if name == "cause" else "right")
    total = sum(write.written.values())
    for cause, count in write.written.items():
        if count:
            cells = (size(count), share(count, total), _ratio(count, write.user_bytes))
            table.add_row(cause, *cells, f"{write.syncs.get(cause, 0):,}")
    table.add_section()
    amp = "–" if write.write_amp is None else f"{write.write_amp:.2f}"
    syncs = f"{sum(write.syncs.values()):,}"
    table.add_row("all", size(total), share(total, total), amp, syncs, style="bold")
    table.add_row("user", size(write.user_bytes), "", "1.00", "", style="dim")
    return table


def background_table(background: BackgroundStats) -> Table:
    """Return what the background has done and how long it made writers wait."""
    table = facts("background since the store was opened")
    table.add_row("flushes", f"{background.flushes:,}")
    table.add_row("compactions", f"{background.compactions:,}, and {plural(background.moves, 'move')}")
    table.add_row("entries merged", f"{background.entries_in:,} in, {background.entries_out:,} out")
    table.add_row("pressure", f"{background.pressure.level:.0%} {background.pressure.reason}".rstrip())
    table.add_row(
        "stalls",
        f"{plural(background.slowdowns, 'slowdown')}, {plural(background.stops, 'stop')}, "
        f"{background.stall_seconds:.2f} s {background.last_stall_reason}".rstrip(),
    )
    if background.failure:
        table.add_row(Text("failure", style="red"), Text(printable(background.failure), style="red"))
    return table


def facts(title: str) -> Table:
    """Return an empty table of names and what is known of them."""
    table = new_table(title)
    table.show_header = False
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    return table


def new_table(title: str) -> Table:
    """Return an empty table in the look that all have."""
    return Table(
        title=title, title_justify="left", title_style="bold cyan", box=box.SIMPLE_HEAD, pad_edge=False
    )


def _level_cells(level: LevelStats, whole: LevelStats) -> Iterator[str]:
    yield f"{level.tables:,}"
    yield size(level.size_bytes)
    yield share(level.size_bytes, whole.size_bytes)
    yield f"{level.entries:,}"
    yield share(level.entries, whole.entries)
    yield f"{level.tombstones:,}"
    yield share(level.tombstones, level.entries)


def _total(levels: tuple[LevelStats, ...]) -> LevelStats:
    return LevelStats(
        level=-1,
        tables=sum(level.tables for level in levels),
        size_bytes=sum(level.size_bytes for level in levels),
        entries=sum(level.entries for level in levels),
        tombstones=sum(level.tombstones for level in levels),
        user_bytes=sum(level.user_bytes for level in levels),
    )


def _table_count(stats: lsm.Stats) -> int:
    return sum(level.tables for keyspace in stats.keyspaces for level in keyspace.levels)


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "–"
