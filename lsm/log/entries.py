"""Changes, as columns and row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from lsm.log_columns import columns_in_order
from sstable import Columns, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from lsm.log.cursor import LogPiece

    I64 = npt.NDArray[np.int64]


class Change(NamedTuple):
    """One write.  A deletion has no value; `time` is of the commit, in microseconds since 1970.

    The changes of one batch share `batch_first_seq` and `batch_count`.  `before` is the previous value, where
    it was asked for and there was one.
    """

    seq: int
    time: int
    kind: Literal["put", "delete"]
    key: bytes
    value: bytes | None
    keyspace: str
    batch_first_seq: int
    batch_count: int
    before: bytes | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ChangeColumns:
    """Changes side by side, in commit order; parallel columns.

    `columns` has keys, values, sequence numbers and kinds (sstable.Kind); `keyspaces` are numbers, and
    `names` says which keyspaces those are.
    """

    columns: Columns
    times: I64
    keyspaces: I64
    batch_first_seqs: I64
    batch_counts: I64
    names: Mapping[int, str]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.columns)

    def rows(self) -> Iterator[Change]:
        """Yield the changes one by one."""
        columns = self.columns
        values: list[bytes | None] = list(columns.values())
        kinds: Iterable[str] = repeat("put")
        deleted = np.flatnonzero(columns.kinds == Kind.DELETE).tolist()
        if deleted:
            kinds = ["put"] * len(values)
            for at in deleted:
                values[at], kinds[at] = None, "delete"
        # Straight from columns to tuples: no call into Python for a row (bench: log).
        rows = zip(
            columns.seqs.tolist(),
            self.times.tolist(),
            kinds,
            columns.keys(),
            values,
            self._names(),
            self.batch_first_seqs.tolist(),
            self.batch_counts.tolist(),
            repeat(None),
        )
        return map(partial(tuple.__new__, Change), rows)

    def _names(self) -> Iterable[str]:
        keyspaces = self.keyspaces
        if len(keyspaces) and (keyspaces == keyspaces[0]).all():
            return repeat(self.names[int(keyspaces[0])])
        return [self.names[number] for number in keyspaces.tolist()]


class Wanted(NamedTuple):
    """Which changes somebody wants: sequence numbers `first_seq` to `last_seq` of some keyspaces."""

    first_seq: int
    last_seq: int
    names: Mapping[int, str]


def columns_of(piece: LogPiece, wanted: Wanted) -> ChangeColumns:
    """Return what is wanted of some records."""
    records = piece.records
    counts = records.counts
    columns, keyspaces, chosen = columns_in_order(
        piece,
        keyspaces=np.fromiter(wanted.names, np.int64, len(wanted.names)),
        first_seq=wanted.first_seq,
        last_seq=wanted.last_seq,
    )

    def spread(values: I64) -> I64:
        if len(records) == len(chosen):
            return values if len(keyspaces) == len(chosen) else values[chosen]
        repeated = np.repeat(values, counts)
        return repeated if len(keyspaces) == len(chosen) else repeated[chosen]

    return ChangeColumns(
        columns, spread(records.times), keyspaces, spread(records.first_seqs), spread(counts), wanted.names
    )


def adopted_columns(columns: Columns, piece: LogPiece, wanted: Wanted) -> ChangeColumns:
    """Return what is wanted of rows of a table that was adopted whole."""
    meta = piece.meta
    seqs = columns.seqs.astype(np.int64)
    chosen = np.flatnonzero((seqs >= wanted.first_seq) & (seqs <= wanted.last_seq))
    kept = columns if len(chosen) == len(seqs) else columns.take(chosen)
    count = len(kept)
    return ChangeColumns(
        kept,
        np.full(count, meta.last_time_us or 0, np.int64),
        np.full(count, meta.keyspace, np.int64),
        np.full(count, meta.first_seq, np.int64),
        np.full(count, (meta.last_seq or 0) - meta.first_seq + 1, np.int64),
        wanted.names,
    )
