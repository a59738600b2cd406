"""Reading one range of a pinned moment: its runs merged on columns, as arrays of Arrow."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lsm.arrow import Arrays, arrays_of
from lsm.caches import BlockCache, TableCache, TableHandle
from lsm.column_scan import Wanted, scan_rows, table_pieces
from lsm.errors import TableCorrupt
from lsm.fs import open_directory
from lsm.fs_types import IoCounters
from lsm.pins import Pinned
from lsm.spark.lease import Use

OpenRun = list[TableHandle]
"""A run whose tables can be read."""


@contextmanager
def open_runs(pinned: Pinned, *, verify: bool) -> Iterator[list[OpenRun]]:
    """Give access to the tables of a pinned moment; what was read of them outlives it."""
    with ExitStack() as stack:
        caches: dict[tuple[str, str], TableCache] = {}
        for directory, name in {(run.directory, run.name) for run in pinned.runs}:
            try:
                fs = open_directory(directory, create=False, read_only=True)
            except FileNotFoundError as error:
                Use(pinned).renew()  # says what has happened, if it is a pin that is gone
                raise TableCorrupt(directory, "directory is missing") from error
            stack.callback(fs.close)
            fs.name = name
            cache = TableCache(
                fs,
                store_id=pinned.store_id,
                block_cache=BlockCache(0),
                capacity_bytes=1 << 62,
                tables_max=1 << 62,
                use_map=True,
                verify=verify,
            )
            stack.callback(cache.close)
            caches[directory, name] = cache
        yield [[caches[run.directory, run.name].handle(table) for table in run.tables] for run in pinned.runs]


def read_range(
    pinned: Pinned,
    start: bytes | None,
    stop: bytes | None,
    wanted: Wanted,
    *,
    verify: bool,
    counters: IoCounters | None = None,
) -> Iterator[Arrays]:
    """Yield the newest put of every key of start <= key < stop, in key order.

    The bytes of tables that are read for it are counted in `counters`.
    """
    use = Use(pinned)
    use.renew()
    with open_runs(pinned, verify=verify) as runs:
        pieces = [table_pieces(run, start, stop, seq_max=pinned.seq, counters=counters) for run in runs]
        for arrays in arrays_of(scan_rows(pieces, wanted)):
            yield arrays
            use.renew()
