"""The stream that is simulated: of a workload, or of a store's own log."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import perf_counter

import lsm
from bench.simulate.settings import SimulateSettings
from bench.workload import as_writes, find_workload, load, operations
from compaction.simulate import Columns, Trace, Writes, replayed, thinned, total_bytes

_SHARED = ("other keyspaces fill memtables, too, and are sealed with this one: that is not simulated",)

_LOADS = ("tables that were loaded whole are played as if their entries had been put",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A stream, and what is known of where it comes from."""

    trace: Trace
    options: lsm.Options
    """Of the store as it is."""
    batch: int
    title: str
    seconds: float
    """How long it took to make or to read it."""
    notes: tuple[str, ...] = ()


def workload_writes(settings: SimulateSettings) -> Iterator[Writes]:
    """Yield the writes of a workload, those that load its keys first."""
    return chain(load_writes(settings), _operation_writes(settings))


def load_writes(settings: SimulateSettings) -> Iterator[Writes]:
    """Yield the writes that bring the keys in."""
    return as_writes(
        load(settings.chosen, settings.size), key_bytes=settings.key_bytes, value_bytes=settings.value_bytes
    )


def _operation_writes(settings: SimulateSettings) -> Iterator[Writes]:
    writer = find_workload(settings.chosen.beside) if settings.chosen.beside else settings.chosen
    return as_writes(
        operations(writer, settings.size), key_bytes=settings.key_bytes, value_bytes=settings.value_bytes
    )


def of_workload(settings: SimulateSettings) -> Source:
    """Return the stream of a workload; what loads its keys comes first, and does not count."""
    start = perf_counter()
    size = settings.size
    trace = thinned(workload_writes(settings), kept_max=settings.kept)
    warm_bytes = total_bytes(load_writes(settings))
    if trace.user_bytes == warm_bytes:
        raise ValueError(f"{settings.workload} writes nothing, so there is nothing to simulate")
    return Source(
        trace=replace(trace, warm_bytes=warm_bytes),
        options=settings.options(),
        batch=settings.batch,
        title=(
            f"simulate {settings.workload}: {settings.keys:,} keys of {settings.key_bytes} + "
            f"{settings.value_bytes} bytes, {size.count:,} operations ({size.distribution}), "
            f"seed {settings.seed}"
        ),
        seconds=perf_counter() - start,
    )


def of_store(path: Path, settings: SimulateSettings) -> Source:
    """Return the log of a store, which is opened for reading only."""
    start = perf_counter()
    with lsm.open(path, "r") as db:
        earliest, work = db.log.earliest, db.stats().work
        counting = _Counting(db, settings.keyspace)
        held = _held(db, settings.keyspace) if earliest > 1 else ()
        trace = replayed(counting, held, kept_max=settings.kept)
        options, last, others = db.options, db.log.latest, len(db.keyspaces()) - 1
    if not trace.count:
        raise ValueError(f"{path}: its log has no writes to {settings.keyspace}")
    return Source(
        trace=trace,
        options=settings.options(options),
        batch=counting.batch,
        title=f"simulate: the log of a store, {trace.count:,} writes to {settings.keyspace}",
        seconds=perf_counter() - start,
        notes=(
            *_notes(trace, counting, earliest, last),
            *_SHARED[: bool(others)],
            *_LOADS[: bool(work.loads)],
            *_counted(work.tree_write_amp),
        ),
    )


def _held(db: lsm.DB, keyspace: str) -> Iterator[tuple[bytes, int]]:
    return ((key, len(value)) for key, value in db.keyspace(keyspace, create=False).scan())


class _Counting:
    """The columns of a log, and how many writes a batch had as they passed."""

    def __init__(self, db: lsm.DB, keyspace: str) -> None:
        self._changes = db.change_columns("earliest", keyspace=keyspace)
        self.writes = 0
        self.batches = 0.0

    def __iter__(self) -> Iterator[Columns]:
        for changes in self._changes:
            self.writes += len(changes)
            # Of a batch that goes over several keyspaces, or pieces of the log, only a part.
            self.batches += float((1 / changes.batch_counts).sum())
            yield changes.columns

    @property
    def batch(self) -> int:
        """Writes of a batch on average."""
        return max(1, round(self.writes / self.batches)) if self.batches else 1


def _notes(trace: Trace, counting: _Counting, earliest: int, last: int) -> Iterator[str]:
    yield f"log: numbers {earliest:,} to {last:,}, {counting.batch} writes a batch on average"
    if trace.loaded is not None:
        yield (
            f"the log does not begin with the store: the {len(trace.loaded) * trace.sample:,} keys that it "
            "holds now are taken to have been there before, in the last level"
        )


def _counted(tree_write_amp: float | None) -> Iterator[str]:
    if tree_write_amp is not None:
        yield f"the store itself has counted {tree_write_amp:.2f} (tree only) in its whole life"
