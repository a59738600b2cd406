"""What a pin holds of the log: its end as tables, and when everything in it was committed."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from compaction import flush_columns
from lsm.clock import Clock
from lsm.filenames import table_name
from lsm.fs_types import Cause, FileSystem
from lsm.log_columns import columns_by_keyspace
from lsm.segments import SegmentContents, read_segment
from lsm.version import Version
from sstable import Columns, TableMeta, TableOptions, TableWriter

TIMES = "TIMES"
"""File of a pin: sequence numbers and, in the same order, when the record that begins there was committed."""
_TABLE_BYTES_MAX = 32 * 1024 * 1024
_NUMBERS_AWAY = 1_000_000
"""Numbers of these tables lie so far above those that the writer may use meanwhile."""
_NOTHING = Columns.from_lists([], [], [], [])


def write_tail(
    log: Sequence[SegmentContents],
    keyspace: int,
    version: Version,
    target: FileSystem,
    *,
    clock: Clock,
    seq_max: int,
) -> tuple[TableMeta, ...]:
    """Write what only the log has as tables, so that readers find it sorted and by range."""
    parts = [columns_by_keyspace(contents).get(keyspace) for contents in log]
    entries = Columns.concat([part for part in parts if part is not None and len(part)] or [_NOTHING])
    if len(entries) and int(entries.seqs.max()) > seq_max:
        entries = entries.take(np.flatnonzero(entries.seqs <= np.uint64(seq_max)))
    if not len(entries):
        return ()
    sinks = _Sinks(target, version, clock)
    return flush_columns(entries, create=sinks.create, snapshots=(), table_bytes_max=_TABLE_BYTES_MAX).tables


class _Sinks:
    """Makes tables in a pin.  Not synced: after a crash there is nobody who would read them."""

    def __init__(self, target: FileSystem, version: Version, clock: Clock) -> None:
        self._target = target
        self._store_id = version.store_id
        self._number = version.next_number + _NUMBERS_AWAY
        self._time_us = clock.now_us()

    def create(self) -> "_Sink":
        """Start the next table."""
        self._number += 1
        file = self._target.create(table_name(self._number), Cause.READ)
        writer = TableWriter(
            file,
            TableOptions(bloom_bits_per_key=0, hash_index=False),
            number=self._number,
            store_id=self._store_id,
            time_us=self._time_us,
        )
        return _Sink(writer, file.close)


class _Sink:
    """One table on its way into a pin."""

    def __init__(self, writer: TableWriter, close: Callable[[], None]) -> None:
        self._writer = writer
        self._close = close
        self.add = writer.add

    @property
    def size_estimate(self) -> int:
        """About how large the table would be if it ended here."""
        return self._writer.size_estimate

    def finish(self) -> TableMeta:
        """End the table."""
        meta = self._writer.finish()
        self._close()
        return meta


def write_times(
    source: FileSystem, version: Version, log: Sequence[SegmentContents], target: FileSystem
) -> None:
    """Keep when what the log still has was committed."""
    seqs: list[npt.NDArray[np.int64]] = []
    times: list[npt.NDArray[np.int64]] = []
    in_memory = {contents.header.number: contents for contents in log}
    for meta in version.segments:
        if meta.tables:  # adopted whole, at one moment
            seqs.append(np.array([meta.first_seq], np.int64))
            times.append(np.array([meta.last_time_us or 0], np.int64))
            continue
        records = (in_memory.get(meta.number) or read_segment(source, version, meta)).records
        seqs.append(records.first_seqs)
        times.append(records.times)
    file = target.create(TIMES, Cause.READ)
    try:
        if seqs:
            file.append(np.concatenate([*seqs, *times]).astype("<i8").tobytes())
    finally:
        file.close()


def read_times(fs: FileSystem) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return first sequence numbers of records, in order, and the times of the records."""
    file = fs.open(TIMES, Cause.READ)
    try:
        both = np.frombuffer(file.pread(0, file.size), "<i8").astype(np.int64)
    finally:
        file.close()
    return both[: len(both) // 2], both[len(both) // 2 :]
