"""The compacted log: the latest change of every key, in sequence order, going on into the live tail.

What is in tables is taken from there: their newest entry of every key.  What is only in the log is read from
the log: what was not flushed, and deletions, which tables drop as soon as there is nothing left to delete.
So a deletion is there for as long as the log, or a table, has it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compaction import merge, windows
from lsm.errors import OffsetOutOfRange
from lsm.log.entries import ChangeColumns
from lsm.log.offsets import earliest
from lsm.log.stream import ChangeStream, Span, shown_keyspaces
from lsm.retention import Pin
from sstable import Columns, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from lsm.caches import TableHandle, Tree
    from lsm.log.entries import Change
    from lsm.log.source import LogSource
    from lsm.state import State
    from lsm.version import Version

    U64 = npt.NDArray[np.uint64]

ROUND_ENTRIES = 500_000
"""Entries held in memory at a time: tables are in key order, and a round of them is sorted by number."""
_WINDOW_BYTES = 1024 * 1024
_TRIES = 20


def compacted_changes(
    state: State,
    source: LogSource,
    span: Span,
    refresh: Callable[[], int],
    oldest_us: int,
    *,
    goes_on: bool = True,
) -> Iterator[Change]:
    """Yield the latest change of every key after `span.since`, then every change that comes.

    Deletions from before `oldest_us` are left out: who starts from nothing has nothing to delete.  Without
    `goes_on` it ends with the moment at which it began.
    """
    with _moment(state, source, span, refresh) as moment:
        names = shown_keyspaces(source, span.keyspace)
        shown = {id_: moment.trees[id_] for id_ in names if id_ in moment.trees}
        past = _from_tables(moment.version, shown, names, (moment.recent, moment.dead), span)
        for change in chain(past, *(columns.rows() for columns in moment.recent.columns)):
            if change.kind == "put" or change.time >= oldest_us:
                yield change
    if goes_on and span.until > moment.last_seq:
        tail = replace(span, since=max(moment.last_seq, span.since))
        for columns in ChangeStream(source, state.tables, tail).columns():
            yield from columns.rows()


class _Moment(NamedTuple):
    """A store at one moment: what is in tables, and what is only in the log."""

    version: Version
    trees: dict[int, Tree]
    last_seq: int
    recent: _Recent
    dead: _Deleted


@contextmanager
def _moment(state: State, source: LogSource, span: Span, refresh: Callable[[], int]) -> Iterator[_Moment]:
    """Offer the present; until it is released, this process keeps the log that it needs and what follows."""
    pin: Pin | None = None
    tries = 0
    try:
        while True:
            refresh()
            with state.trim_lock, state.edit_lock, state.lock:  # no edit is half in force
                version = state.version
                trees = {space.id: space.view.tree for space in state.spaces.values()}
                last_seq = state.visible_seq
                pin = Pin(f"compacted {id(trees):x}", min(earliest(version) - 1, last_seq))
                state.own_pins.add(pin)
            try:
                source.settle()  # what is visible must be readable in the log, or it would be skipped
                recent = _latest_in_log(state, source, span, version.flushed_seq, last_seq)
                dead = _deleted_in_log(state, source, span, version)
                break
            except OffsetOutOfRange:  # beside a writer, which has flushed and trimmed meanwhile
                state.own_pins.discard(pin)
                tries += 1
                if tries == _TRIES:
                    raise
        yield _Moment(version, trees, last_seq, recent, dead)
    finally:
        if pin is not None:
            state.own_pins.discard(pin)


class _Recent:
    """The latest changes that are only in the log, and the keys that they are about."""

    def __init__(self) -> None:
        self.columns: list[ChangeColumns] = []
        self.keys: set[tuple[int, bytes]] = set()


def _latest_in_log(state: State, source: LogSource, span: Span, flushed_seq: int, last_seq: int) -> _Recent:
    recent = _Recent()
    read = Span(since=flushed_seq, until=last_seq, keyspace=span.keyspace)
    pieces = list(ChangeStream(source, state.tables, read).columns())
    for columns in reversed(pieces):  # the newest first, so that the first of a key is its latest
        wheres = list(zip(columns.keyspaces.tolist(), columns.columns.keys(), strict=True))
        latest: list[int] = []
        for at in range(len(wheres) - 1, -1, -1):
            if wheres[at] not in recent.keys:
                recent.keys.add(wheres[at])
                latest.append(at)
        chosen = np.array(latest[::-1], np.int64)
        seqs = columns.columns.seqs[chosen]
        recent.columns.insert(0, _take(columns, chosen[(seqs > span.since) & (seqs <= span.until)]))
    return recent


def _take(columns: ChangeColumns, chosen: npt.NDArray[np.int64]) -> ChangeColumns:
    return ChangeColumns(
        columns.columns.take(chosen),
        columns.times[chosen],
        columns.keyspaces[chosen],
        columns.batch_first_seqs[chosen],
        columns.batch_counts[chosen],
        columns.names,
    )


def _deleted_in_log(state: State, source: LogSource, span: Span, version: Version) -> _Deleted:
    """Return the deletions in the flushed part of the log that nothing in that part came after."""
    read = Span(since=earliest(version) - 1, until=version.flushed_seq, keyspace=span.keyspace)
    dead = _Deleted()
    for columns in ChangeStream(source, state.tables, read).columns():
        dead.add(columns)
    return dead


class _Deleted:
    """Keys that are gone, with when: sequence number and time of their deletion."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bytes], tuple[int, int]] = {}

    def add(self, changes: ChangeColumns) -> None:
        """Note what comes next in the log."""
        columns = changes.columns
        if not self._found and not (columns.kinds == Kind.DELETE).any():
            return
        rows = zip(
            changes.keyspaces.tolist(),
            columns.keys(),
            columns.kinds.tolist(),
            columns.seqs.tolist(),
            changes.times.tolist(),
            strict=True,
        )
        for keyspace, key, kind, seq, time_us in rows:
            if kind == Kind.DELETE:
                self._found[keyspace, key] = seq, time_us
            else:
                self._found.pop((keyspace, key), None)

    def entries(self, keyspace: int, left_out: U64) -> _Entries:
        """Return those of one keyspace, but for some sequence numbers."""
        skipped = set(left_out.tolist())
        keys, seqs, times = list[bytes](), list[int](), list[int]()
        for (of, key), (seq, time_us) in self._found.items():
            if of == keyspace and seq not in skipped:
                keys.append(key)
                seqs.append(seq)
                times.append(time_us)
        kinds, values = [int(Kind.DELETE)] * len(keys), [b""] * len(keys)
        return _Entries(keyspace, Columns.from_lists(keys, seqs, kinds, values), np.array(times, np.int64))


class _Entries(NamedTuple):
    """Entries of one keyspace, and when they were committed."""

    keyspace: int
    columns: Columns
    times: npt.NDArray[np.int64]


def _from_tables(
    version: Version,
    trees: dict[int, Tree],
    names: dict[int, str],
    in_log: tuple[_Recent, _Deleted],
    span: Span,
) -> Iterator[Change]:
    """Yield what is older than the recent changes in sequence order, a bounded number at a time."""
    recent, dead = in_log
    clock = _Clock(version)
    seqs, gone = {}, {}
    for id_, tree in trees.items():
        newer = {key for of, key in recent.keys if of == id_}
        seqs[id_] = _newest_seqs(tree, newer)
        gone[id_] = _without(dead.entries(id_, seqs[id_]), newer)
    all_seqs = [*seqs.values(), *(entries.columns.seqs for entries in gone.values())]
    everything = np.sort(np.concatenate([np.empty(0, np.uint64), *all_seqs]))
    everything = everything[(everything > span.since) & (everything <= span.until)]
    for start in range(0, len(everything), ROUND_ENTRIES):
        wanted = everything[start : start + ROUND_ENTRIES]
        found = [_chosen(entries, wanted) for entries in gone.values()]
        for id_, tree in trees.items():
            for columns in _entries(tree, wanted[np.isin(wanted, seqs[id_], assume_unique=True)]):
                found.append(_Entries(id_, columns, clock.times(columns.seqs.astype(np.int64))))
        yield from _in_order(found, names)


def _without(entries: _Entries, keys: set[bytes]) -> _Entries:
    kept = [at for at, key in enumerate(entries.columns.keys()) if key not in keys]
    chosen = np.array(kept, np.int64)
    return _Entries(entries.keyspace, entries.columns.take(chosen), entries.times[chosen])


def _chosen(entries: _Entries, seqs: U64) -> _Entries:
    chosen = np.flatnonzero(np.isin(entries.columns.seqs, seqs))
    return _Entries(entries.keyspace, entries.columns.take(chosen), entries.times[chosen])


def _newest_seqs(tree: Tree, left_out: set[bytes]) -> U64:
    """Return the sequence numbers of the newest entry of every key, but for some keys."""
    found = [np.empty(0, np.uint64)]
    for window in windows([[handle.table() for handle in run] for run in tree.runs()], _WINDOW_BYTES):
        ordered = merge(window)
        newest = ordered.positions[ordered.key_starts]
        if left_out:
            keys = ordered.columns.take(newest).keys()
            newest = newest[np.fromiter((key not in left_out for key in keys), bool, len(keys))]
        found.append(ordered.columns.seqs[newest])
    return np.sort(np.concatenate(found))


def _entries(tree: Tree, wanted: U64) -> Iterator[Columns]:
    """Yield the entries of some sequence numbers, which no two entries share."""
    if not len(wanted):
        return
    for handle in tree.handles():
        if _may_have(handle, wanted):
            for columns in handle.table().columns():
                chosen = np.flatnonzero(np.isin(columns.seqs, wanted))
                if len(chosen):
                    yield columns.take(chosen)


def _may_have(handle: TableHandle, wanted: U64) -> bool:
    meta = handle.meta
    low, high = meta.min_seq + meta.seq_base, meta.max_seq + meta.seq_base
    return bool(wanted[0] <= high and wanted[-1] >= low)


def _in_order(found: Sequence[_Entries], names: dict[int, str]) -> Iterator[Change]:
    found = [entries for entries in found if len(entries.columns)]
    if not found:
        return
    columns = Columns.concat([entries.columns for entries in found])
    counts = [len(entries.columns) for entries in found]
    keyspaces = np.repeat([entries.keyspace for entries in found], counts)
    order = np.argsort(columns.seqs)
    seqs = columns.seqs[order].astype(np.int64)
    times = np.concatenate([entries.times for entries in found])[order]
    # A table knows nothing of batches, so every entry stands for itself.
    ones = np.ones(len(seqs), np.int64)
    yield from ChangeColumns(columns.take(order), times, keyspaces[order], seqs, ones, names).rows()


class _Clock:
    """When sequence numbers were committed, to the end of their segment: tables keep no finer time."""

    def __init__(self, version: Version) -> None:
        known = [(sample.seq, sample.time_us) for sample in version.times]
        known += [
            (meta.last_seq, meta.last_time_us)
            for meta in version.segments
            if meta.last_seq is not None and meta.last_time_us is not None
        ]
        self._seqs = [seq for seq, _ in known]
        self._times = [time for _, time in known]

    def times(self, seqs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the time by which each was committed; 0 where nothing is known of it."""
        at = np.searchsorted(np.array(self._seqs, np.int64), seqs)
        return np.array([*self._times, 0], np.int64)[at]
