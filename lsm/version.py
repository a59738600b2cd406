"""A version: all that the manifest says at one moment, as a value; and the edits between versions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from compaction import Levels
from lsm.errors import Error
from lsm.options import OptionValue
from lsm.work import Work
from sstable import TableMeta


class BadEdit(Error):
    """An edit that does not follow from the version before it."""


class TimeSample(NamedTuple):
    """Everything up to `seq` was committed by `time_us`: what is left of the times of a segment that went."""

    seq: int
    time_us: int


TIME_SAMPLES_MAX = 1024


class Epoch(NamedTuple):
    """An epoch of a store's log: from `first_seq` on it was written by the store promoted at `time_us`.

    Two stores promoted from copies of one may take the same number; the time tells them apart.
    """

    number: int
    first_seq: int
    time_us: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMeta:
    """One log segment; `last_seq`, `size_bytes` and `last_time_us` are known once it is closed.

    A segment with `tables` has no file: its entries are the rows of those tables, which were adopted whole.
    """

    number: int
    first_seq: int
    last_seq: int | None = None
    size_bytes: int | None = None
    last_time_us: int | None = None
    keyspace: int = 0
    tables: tuple[TableMeta, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyspaceMeta:
    """A keyspace and its tables."""

    id: int
    name: str
    levels: Levels = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """A table that comes into or leaves a level of a keyspace."""

    keyspace: int
    level: int
    table: TableMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionEdit:
    """What changes from one version to the next, all at once."""

    store_id: bytes | None = None
    epoch: int | None = None
    options: Mapping[str, OptionValue] | None = None
    next_number: int | None = None
    flushed_seq: int | None = None
    is_closed: bool = False
    keyspaces_added: tuple[KeyspaceMeta, ...] = ()
    keyspaces_dropped: tuple[int, ...] = ()
    tables_added: tuple[TableChange, ...] = ()
    tables_removed: tuple[TableChange, ...] = ()
    segments_added: tuple[SegmentMeta, ...] = ()
    segments_closed: tuple[SegmentMeta, ...] = ()
    segments_removed: tuple[int, ...] = ()
    next_keyspace: int | None = None
    history_seq: int | None = None
    times: tuple[TimeSample, ...] = ()
    epochs: tuple[Epoch, ...] | None = None
    follows: bool | None = None
    work: Work = field(default_factory=Work)
    """What the edit's tables have cost."""
    transactions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The truth on disk at one moment."""

    store_id: bytes = b""
    epoch: int = 1
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    next_number: int = 1
    next_keyspace: int = 0
    flushed_seq: int = 0
    """Every entry up to this sequence number is in tables."""
    is_closed: bool = False
    """The store was closed in order and nothing happened since."""
    keyspaces: Mapping[int, KeyspaceMeta] = field(default_factory=dict)
    segments: tuple[SegmentMeta, ...] = ()
    history_seq: int | None = None
    """From here on, tables keep the state at the start of every retained segment; None: they do not."""
    times: tuple[TimeSample, ...] = ()
    epochs: tuple[Epoch, ...] = (Epoch(1, 1),)
    """All epochs of the log, the last of them the present one."""
    follows: bool = False
    """The store is a copy that takes nothing but what its source has written."""
    transactions: Mapping[str, int] = field(default_factory=dict)
    """Of loads that have a name: the number of the last one, so that a repeated load adds nothing."""
    work: Work = field(default_factory=Work)
    """What writing has cost since the store was made."""

    def after(self, edit: VersionEdit) -> "Version":
        """Return the version that `edit` leads to; BadEdit if it cannot follow on this one."""
        keyspaces = {**self.keyspaces, **{added.id: added for added in edit.keyspaces_added}}
        for dropped in edit.keyspaces_dropped:
            if keyspaces.pop(dropped, None) is None:
                raise BadEdit(f"keyspace {dropped} is dropped but does not exist")
        for keyspace, removed, added in _by_keyspace(edit):
            if keyspace not in keyspaces:
                raise BadEdit(f"a table belongs to keyspace {keyspace}, which does not exist")
            meta = keyspaces[keyspace]
            keyspaces[keyspace] = replace(meta, levels=_levels_after(meta.levels, removed, added))
        return replace(
            self,
            store_id=self.store_id if edit.store_id is None else edit.store_id,
            epoch=self.epoch if edit.epoch is None else edit.epoch,
            options=self.options if edit.options is None else edit.options,
            next_number=max(self.next_number, edit.next_number or 0),
            next_keyspace=max(self.next_keyspace, edit.next_keyspace or 0),
            flushed_seq=max(self.flushed_seq, edit.flushed_seq or 0),
            is_closed=edit.is_closed,
            keyspaces=keyspaces,
            segments=_segments_after(self.segments, edit),
            history_seq=self.history_seq if edit.history_seq is None else edit.history_seq,
            times=_times_after(self, edit),
            epochs=_epochs_after(self, edit),
            follows=self.follows if edit.follows is None else edit.follows,
            transactions={**self.transactions, **edit.transactions},
            work=self.work.plus(edit.work),
        )

    def as_edit(self) -> VersionEdit:
        """Return the one edit that leads from nothing to this version."""
        tables = tuple(
            TableChange(keyspace=meta.id, level=level, table=table)
            for meta in self.keyspaces.values()
            for level, tables in enumerate(meta.levels)
            for table in tables
        )
        return VersionEdit(
            store_id=self.store_id,
            epoch=self.epoch,
            options=self.options,
            next_number=self.next_number,
            next_keyspace=self.next_keyspace,
            flushed_seq=self.flushed_seq,
            keyspaces_added=tuple(replace(meta, levels=()) for meta in self.keyspaces.values()),
            tables_added=tables,
            segments_added=self.segments,
            history_seq=self.history_seq,
            times=self.times,
            epochs=None if self.epochs == (Epoch(self.epoch, 1),) else self.epochs,
            follows=self.follows or None,
            transactions=self.transactions,
            work=self.work,
        )

    def epoch_of(self, seq: int) -> int:
        """Return the epoch that a sequence number belongs to, or will."""
        begun = [epoch.number for epoch in self.epochs if epoch.first_seq <= seq]
        return begun[-1] if begun else self.epochs[0].number

    def tables(self) -> dict[int, TableMeta]:
        """Return all tables by number."""
        return {
            table.number: table
            for meta in self.keyspaces.values()
            for level in meta.levels
            for table in level
        }


    def all_tables(self) -> dict[int, TableMeta]:
        """Return all tables by number, also those that only the log still needs."""
        return self.tables() | {table.number: table for meta in self.segments for table in meta.tables}


def _by_keyspace(edit: VersionEdit) -> Iterable[tuple[int, list[TableChange], list[TableChange]]]:
    ids = sorted({change.keyspace for change in (*edit.tables_added, *edit.tables_removed)})
    for keyspace in ids:
        removed = [change for change in edit.tables_removed if change.keyspace == keyspace]
        yield keyspace, removed, [change for change in edit.tables_added if change.keyspace == keyspace]


def _levels_after(levels: Levels, removed: list[TableChange], added: list[TableChange]) -> Levels:
    depth = max([len(levels), *(change.level + 1 for change in added)])
    result: list[dict[int, TableMeta]] = [
        {table.number: table for table in (levels[level] if level < len(levels) else ())}
        for level in range(depth)
    ]
    for change in removed:
        if change.level >= depth or result[change.level].pop(change.table.number, None) is None:
            raise BadEdit(f"table {change.table.number} is not in level {change.level}")
    for change in added:
        if change.table.number in result[change.level]:
            raise BadEdit(f"table {change.table.number} is already in level {change.level}")
        result[change.level][change.table.number] = change.table
    newest_first = sorted(result[0].values(), key=_newest, reverse=True)
    deeper = [sorted(level.values(), key=lambda table: table.smallest) for level in result[1:]]
    while deeper and not deeper[-1]:
        deeper.pop()
    return tuple(map(tuple, [newest_first, *deeper]))


def _newest(table: TableMeta) -> tuple[int, int]:
    return table.seq_base + table.max_seq, table.number


def _times_after(version: Version, edit: VersionEdit) -> tuple[TimeSample, ...]:
    gone = [
        TimeSample(meta.last_seq, meta.last_time_us)
        for meta in version.segments
        if meta.number in edit.segments_removed
        and meta.last_seq is not None
        and meta.last_time_us is not None
    ]
    times = (*version.times, *edit.times, *gone)
    # Every other one goes: what is old needs no fine scale.
    return times if len(times) <= TIME_SAMPLES_MAX else (*times[1:-1:2], times[-1])


def _epochs_after(version: Version, edit: VersionEdit) -> tuple[Epoch, ...]:
    if edit.epochs is None:  # as before, or of a manifest from before there were any
        return version.epochs if edit.epoch in (None, version.epoch) else (Epoch(edit.epoch or 1, 1),)
    for earlier, later in pairwise(edit.epochs):
        if not (earlier.number < later.number and earlier.first_seq < later.first_seq):
            raise BadEdit(f"epoch {later.number} cannot come after epoch {earlier.number}")
    present = version.epoch if edit.epoch is None else edit.epoch
    if not edit.epochs or edit.epochs[-1].number != present:
        raise BadEdit(f"epoch {present} is not the last of its epochs")
    return edit.epochs


def _segments_after(segments: tuple[SegmentMeta, ...], edit: VersionEdit) -> tuple[SegmentMeta, ...]:
    by_number = {segment.number: segment for segment in (*segments, *edit.segments_added)}
    for closed in edit.segments_closed:
        if closed.number not in by_number:
            raise BadEdit(f"log segment {closed.number} is closed but unknown")
        by_number[closed.number] = closed
    for number in edit.segments_removed:
        if by_number.pop(number, None) is None:
            raise BadEdit(f"log segment {number} is removed but unknown")
    return tuple(sorted(by_number.values(), key=lambda segment: (segment.first_seq, segment.number)))
