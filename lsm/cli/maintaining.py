"""`lsm compact` and `lsm checkpoint`."""

import time
from pathlib import Path
from typing import Annotated

import typer

import lsm
from lsm.cli.output import plural, show, show_json, size
from lsm.cli.parameters import AsJson, Range, StoreOptions, StorePath
from lsm.cli.progress import spinner
from lsm.cli.stores import store_to_write


def compact(path: StorePath, keys: Range, option: StoreOptions = None, json: AsJson = False) -> None:
    """Bring all keyspaces into one level each, without overwritten and deleted entries."""
    with store_to_write(path, "w", option) as db:
        started = time.monotonic()
        before = db.stats()
        with spinner("compacting", lambda: levels_in_brief(db.stats())):
            db.compact(keys.start, keys.stop)
        after = db.stats()
        seconds = time.monotonic() - started
    if json:
        show_json({"before": _figures(before), "after": _figures(after), "seconds": round(seconds, 3)})
        return
    show(f"{_in_brief(before)} became {_in_brief(after)} in {seconds:.1f} s")


def checkpoint(
    path: StorePath,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="New or empty directory.")],
    option: StoreOptions = None,
    json: AsJson = False,
) -> None:
    """Make a store of its own in TARGET, of links to the tables of this one where the disk allows."""
    with store_to_write(path, "w", option) as db:
        started = time.monotonic()
        with spinner("checkpoint", lambda: levels_in_brief(db.stats())):
            seq = db.checkpoint(target)
        seconds = time.monotonic() - started
    if json:
        show_json({"path": str(target), "seq": seq, "seconds": round(seconds, 3)})
        return
    show(f"checkpoint of sequence number {seq:,} made in {target} in {seconds:.1f} s")


def levels_in_brief(stats: lsm.Stats) -> str:
    """Return how many tables stand on which level, over all keyspaces."""
    counts: dict[int, int] = {}
    for keyspace in stats.keyspaces:
        for level in keyspace.levels:
            counts[level.level] = counts.get(level.level, 0) + level.tables
    tables = " ".join(f"L{level}:{count}" for level, count in sorted(counts.items()) if count)
    return f"{size(stats.table_bytes)} {tables}"


def _in_brief(stats: lsm.Stats) -> str:
    figures = _figures(stats)
    tables = f"{plural(figures['tables'], 'table')} of {size(figures['size_bytes'])}"
    return f"{tables} with {plural(figures['entries'], 'entry')}"


def _figures(stats: lsm.Stats) -> dict[str, int]:
    levels = [level for keyspace in stats.keyspaces for level in keyspace.levels]
    return {
        "tables": sum(level.tables for level in levels),
        "size_bytes": sum(level.size_bytes for level in levels),
        "entries": sum(level.entries for level in levels),
        "tombstones": sum(level.tombstones for level in levels),
    }
