"""The demo's second half: load, delete, compact, and what each of it costs."""

import time
from collections.abc import Iterable
from itertools import islice
from random import Random

from rich.table import Table

import lsm
from lsm.cli.demo.history import Lost, Write, differences
from lsm.cli.demo.plan import Plan
from lsm.cli.demo.stage import Stage
from lsm.cli.maintaining import levels_in_brief
from lsm.cli.output import size
from lsm.cli.progress import spinner
from lsm.cli.stats_tables import levels_table, new_table, write_table
from lsm.stats import KeyspaceStats

KEYSPACE = "load"
_ENTRIES = 100_000
_VALUE_BYTES = 100
_BATCH = 1000
_MIB = 1024 * 1024


def load_and_compact(plan: Plan, stage: Stage) -> None:
    """Fill a keyspace, overwrite and delete a part, compact, and show levels and amplification."""
    count = plan.scaled(_ENTRIES)
    stage.section(
        "Levels and amplification",
        f"Load {count:,} pairs of 11 + {_VALUE_BYTES} bytes in random order, overwrite half, delete a third; "
        "all durable, in batches, in a keyspace of their own. Then compact.",
    )
    expected: dict[bytes, bytes] = {}
    with _open(plan) as db:
        keyspace = db.keyspace(KEYSPACE)
        started = time.monotonic()
        with spinner("loading", lambda: levels_in_brief(db.stats())):
            written = _load(keyspace, Random(plan.seed), count, expected)
        seconds = time.monotonic() - started
        stage.found(f"{written:,} writes acknowledged in {seconds:.1f} s, {written / seconds:,.0f} a second")
        db.flush()
        before = db.stats()
        stage.show(levels_table(_of_load(before), "levels before compaction"))
        started = time.monotonic()
        with spinner("compacting", lambda: levels_in_brief(db.stats())):
            db.compact()
        seconds = time.monotonic() - started
        after = db.stats()
        stage.show(levels_table(_of_load(after), "levels after compaction"))
        stage.show(write_table(after.write, "bytes written to disk in this part, by cause"))
        _compare(keyspace, expected)
        stage.found(f"compacted in {seconds:.1f} s; {len(expected):,} pairs are right, nothing else is left")
    live_bytes = sum(len(key) + len(value) for key, value in expected.items())
    stage.show(amplification_table(before, after, live_bytes))


def copy(plan: Plan, stage: Stage) -> None:
    """Make a checkpoint, change the store, and show that the copy stays; check every byte of both."""
    stage.section(
        "Checkpoint and check",
        "A checkpoint is a store of its own, of links to the same tables. Every byte of both is checked.",
    )
    with lsm.open(plan.store, "w") as db:
        held = dict(db.items())
        started = time.monotonic()
        seq = db.checkpoint(plan.checkpoint)
        seconds = time.monotonic() - started
        db.clear()
        if db:
            raise Lost("keys are left after clear()")
    with lsm.open(plan.checkpoint, "r") as db:
        _compare(db, held)
    stage.found(
        f"checkpoint of sequence number {seq:,} in {seconds * 1000:.0f} ms; the original was emptied, "
        f"the copy still holds its {len(held):,} pairs"
    )
    for path in (plan.store, plan.checkpoint):
        report = lsm.verify(path)
        if not report.is_sound:
            raise Lost(f"{path} is damaged: {report.problems[0]}")
        stage.found(f"{path.name} verified: {report.tables} tables, {size(report.size_bytes)}, no problem")


def amplification_table(before: lsm.Stats, after: lsm.Stats, live_bytes: int) -> Table:
    """Return the three amplifications before and after compaction, each with its definition."""
    table = new_table("amplification")
    table.add_column("")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    table.add_column("definition", style="dim")
    rows = [(write_amp(stats), space_amp(stats, live_bytes), read_amp(stats)) for stats in (before, after)]
    definitions = (
        ("write", "{:.2f}", "bytes written (log, flush, compaction, manifest) / bytes of user writes"),
        ("space", "{:.2f}", "bytes of tables / bytes of keys and values still alive"),
        ("read", "{:.0f}", "sorted runs one lookup may have to ask: tables of L0 + other levels"),
    )
    for (name, form, definition), *figures in zip(definitions, *rows, strict=True):
        table.add_row(name, *(form.format(figure) for figure in figures), definition)
    return table


def write_amp(stats: lsm.Stats) -> float:
    """Return bytes written over bytes handed in, since the store was opened."""
    return stats.write.write_amp or 0.0


def space_amp(stats: lsm.Stats, live_bytes: int) -> float:
    """Return bytes of the loaded keyspace's tables over bytes that are alive in it."""
    return sum(level.size_bytes for level in _of_load(stats).levels) / live_bytes


def read_amp(stats: lsm.Stats) -> int:
    """Return how many sorted runs the loaded keyspace has."""
    top, *deeper = _of_load(stats).levels
    return top.tables + sum(1 for level in deeper if level.tables)


def _open(plan: Plan) -> lsm.DB:
    """Open with tables so small that there are several levels, and with the worker process that is usual."""
    return lsm.open(
        plan.store,
        memtable_bytes_max=_MIB,
        table_bytes_max=_MIB,
        l0_tables_max=4,
        level_ratio=4,
        background="process",
    )


def _load(keyspace: lsm.Keyspace, random: Random, count: int, expected: dict[bytes, bytes]) -> int:
    """Write in three rounds; return the number of writes."""
    keys = [b"user-%06d" % number for number in range(count)]
    random.shuffle(keys)
    overwritten, deleted = random.sample(keys, count // 2), random.sample(keys, count // 3)
    _write_in_batches(keyspace, [(key, _value(random)) for key in keys], expected)
    _write_in_batches(keyspace, [(key, _value(random)) for key in overwritten], expected)
    _write_in_batches(keyspace, [(key, None) for key in deleted], expected)
    return len(keys) + len(overwritten) + len(deleted)


def _value(random: Random) -> bytes:
    return random.randbytes(_VALUE_BYTES // 2).hex().encode()


def _write_in_batches(keyspace: lsm.Keyspace, writes: Iterable[Write], expected: dict[bytes, bytes]) -> None:
    remaining = iter(writes)
    while some := list(islice(remaining, _BATCH)):
        with keyspace.batch() as batch:
            for key, value in some:
                if value is None:
                    batch.delete(key)
                    expected.pop(key, None)
                else:
                    batch.put(key, value)
                    expected[key] = value


def _compare(mapping: lsm.Keyspace, expected: dict[bytes, bytes]) -> None:
    found = dict(mapping.items())
    if found != expected:
        raise Lost(differences(expected, found))


def _of_load(stats: lsm.Stats) -> KeyspaceStats:
    return next(keyspace for keyspace in stats.keyspaces if keyspace.name == KEYSPACE)
