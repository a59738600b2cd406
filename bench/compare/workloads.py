"""The workloads of `compare`: what each makes of the data, which loop it runs, on what kind of store."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from bench.compare.loops import (
    Loop,
    Trace,
    get_each,
    put_batches,
    put_by_threads,
    put_dicts,
    put_each,
    scan_all,
    scan_pieces,
    trace_gets,
    trace_puts,
)
from bench.compare.shared import NAMES, Shared, do_operations
from bench.data import Data, Pairs, cut
from bench.peers.engines import UnknownName
from bench.workload import Action, find_workload

BATCH_SIZE = 1000
THREADS = 8
_SEEKS_PER_KEY = 0.02
_SEEK_LIMITS = (10, 100)


class On(Enum):
    """The store that a workload runs on."""

    FRESH = "an empty store of its own"
    LOADED = "the store that fillrandom left, settled, not compacted by hand"
    COMPACTED = "the same store after everything before and a full compaction"
    OWN = "a store of its own, with the keys that it needs, settled"


@dataclass(frozen=True, slots=True)
class Round:
    """One round: the data, how many durable writes, and the number that makes this round's draws its own."""

    data: Data
    durable_operations: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One thing to do to a store."""

    name: str
    what: str
    on: On
    make: Callable[[Round], object]
    """Make the input, outside the measured time."""
    loop: Loop
    trace: Trace | None = None
    """The loop for latencies, where single operations are what matters."""
    target: float | None = None
    """The rate that the store is designed for, as a multiple of RocksDB's through rocksdict."""
    writes: bool = False
    durable: bool = False
    threads: int = 1
    is_whole: bool = False
    """Whether it meets every entry: then the number of operations must be theirs."""
    load: Callable[[Round], Iterable[Pairs]] | None = None
    """What must be there before it begins, of one with a store of its own."""


def _all_pairs(round_: Round) -> object:
    return round_.data.pairs(round_.data.shuffled(round_.number, 1))


def _durable_pairs(round_: Round) -> object:
    data = round_.data
    return data.pairs(data.drawn(round_.durable_operations, round_.number, 2))


def _shares(round_: Round) -> object:
    data = round_.data
    pairs = data.pairs(data.drawn(round_.durable_operations, round_.number, 3))
    return cut(pairs, -(-round_.durable_operations // THREADS))


def _batches(round_: Round) -> object:
    return cut(round_.data.pairs(round_.data.shuffled(round_.number, 4)), BATCH_SIZE)


def _dicts(round_: Round) -> object:
    batches = cut(round_.data.pairs(round_.data.shuffled(round_.number, 5)), BATCH_SIZE)
    return [dict(zip(*batch, strict=True)) for batch in batches]


def _hits(round_: Round) -> object:
    return round_.data.keys(round_.data.drawn(round_.data.count, round_.number, 6))


def _misses(round_: Round) -> object:
    return round_.data.missing(round_.data.drawn(round_.data.count, round_.number, 7))


def _pieces(round_: Round) -> object:
    data = round_.data
    count = max(10, int(data.count * _SEEKS_PER_KEY))
    low, high = _SEEK_LIMITS
    limits = data.random(round_.number, 8).integers(low, high + 1, count).tolist()
    return list(zip(data.keys(data.drawn(count, round_.number, 9)), limits, strict=True))


def _overwrites(round_: Round) -> object:
    data = round_.data
    return data.pairs(data.drawn(data.count, round_.number, 10), version=1)


def _nothing(_: Round) -> object:
    return None


# In the order in which they run.
WORKLOADS = (
    Workload(
        name="fillsync",
        what="durable put, one thread",
        on=On.FRESH,
        make=_durable_pairs,
        loop=put_each,
        writes=True,
        trace=trace_puts,
        target=1.5,
        durable=True,
    ),
    Workload(
        name=f"fillsync-{THREADS}",
        what=f"durable put, {THREADS} threads",
        on=On.FRESH,
        make=_shares,
        loop=put_by_threads,
        threads=THREADS,
        writes=True,
        target=5.0,
        durable=True,
    ),
    Workload(
        name="fillbatch",
        what=f"batches of {BATCH_SIZE}, pair by pair, not synced",
        on=On.FRESH,
        make=_batches,
        loop=put_batches,
        writes=True,
        target=3.0,
    ),
    Workload(
        name="fillbatch-dict",
        what=f"batches of {BATCH_SIZE} from a dict, fastest form, not synced",
        on=On.FRESH,
        make=_dicts,
        loop=put_dicts,
        writes=True,
        target=3.0,
    ),
    Workload(
        name="fillrandom",
        what="put in random order, not synced",
        on=On.FRESH,
        make=_all_pairs,
        loop=put_each,
        writes=True,
        trace=trace_puts,
        target=1.3,
    ),
    Workload(
        name="readrandom",
        what="get of keys that are there, as loaded",
        on=On.LOADED,
        make=_hits,
        loop=get_each,
        trace=trace_gets,
        target=1.0,
    ),
    Workload(
        name="readmissing",
        what="get of keys that are not there, as loaded",
        on=On.LOADED,
        make=_misses,
        loop=get_each,
        trace=trace_gets,
    ),
    Workload(
        name="seekscan",
        what=f"scan of {_SEEK_LIMITS[0]} to {_SEEK_LIMITS[1]} pairs from a random key, as loaded",
        on=On.LOADED,
        make=_pieces,
        loop=scan_pieces,
    ),
    Workload(
        name="scan",
        what="scan of all pairs, as loaded",
        on=On.LOADED,
        make=_nothing,
        loop=scan_all,
        is_whole=True,
        target=1.5,
    ),
    Workload(
        name="overwrite",
        what="put over random keys that are there, not synced",
        on=On.LOADED,
        make=_overwrites,
        loop=put_each,
        writes=True,
    ),
    Workload(
        name="readrandom-compacted",
        what="get of keys that are there, after compact()",
        on=On.COMPACTED,
        make=_hits,
        loop=get_each,
        trace=trace_gets,
        target=1.0,
    ),
    Workload(
        name="scan-compacted",
        what="scan of all pairs, after compact()",
        on=On.COMPACTED,
        make=_nothing,
        loop=scan_all,
        is_whole=True,
        target=1.5,
    ),
)


def _shared(name: str) -> Workload:
    """Return a workload of the catalogue, which `run` and `simulate` have, too."""
    found = find_workload(name)
    reads = {Action.GET, Action.SCAN}

    def of(round_: Round) -> Shared:
        return Shared(name, round_.data, seed=round_.data.seed + round_.number)

    return Workload(
        name=name,
        what=f"{found.what}; {found.distribution}" if found.draws else found.what,
        on=On.OWN,
        make=lambda round_: of(round_).operations(),
        loop=do_operations,
        writes=not {action for action, _ in found.mix} <= reads,
        load=lambda round_: of(round_).loaded(),
    )


MORE_WORKLOADS = tuple(map(_shared, NAMES))
"""Those that run only if they are asked for by name: each loads a store of its own."""
LOAD = next(workload for workload in WORKLOADS if workload.name == "fillrandom")


def find_workloads(names: Iterable[str]) -> list[Workload]:
    """Return the workloads of these names, in the order in which they run; the usual ones without names."""
    known = {workload.name: workload for workload in (*WORKLOADS, *MORE_WORKLOADS)}
    wanted = set(names)
    for name in wanted:
        if name not in known:
            raise UnknownName("workload", name, known)
    if not wanted:
        return list(WORKLOADS)
    return [workload for name, workload in known.items() if name in wanted]
