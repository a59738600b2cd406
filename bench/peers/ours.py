"""This store, as an engine of the bench."""

from collections.abc import Callable, Iterable
from functools import partial
from importlib import metadata
from pathlib import Path

import lsm
from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.peers.settings import StoreSettings
from bench.peers.work import TreeWork

NAME = "lsm"


class OurStore:
    """An `lsm.DB`."""

    def __init__(self, db: lsm.DB, *, durable: bool) -> None:
        self._db = db
        self._durable = durable

    def putter(self) -> Callable[[bytes, bytes], object]:
        """Return `put`, which is durable by default."""
        return self._db.put if self._durable else partial(self._db.put, sync=False)

    def getter(self) -> Callable[[bytes], bytes | None]:
        """Return `get`."""
        return self._db.get

    def write_batch(self, batch: Pairs) -> None:
        """Write by `batch.put`."""
        with self._db.batch(sync=self._durable) as writes:
            put = writes.put
            for key, value in zip(*batch, strict=True):
                put(key, value)

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Write by `update`."""
        self._db.update(batch, sync=self._durable)

    def scan(self) -> Iterable[Pair]:
        """Return all pairs."""
        return self._db.scan()

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return pairs from a key on."""
        return self._db.scan(start, limit=limit)

    def compact(self) -> None:
        """Bring everything into one level."""
        self._db.compact()

    def settle(self) -> None:
        """Wait until no flush or compaction is due."""
        self._db.settle()

    def work(self) -> TreeWork:
        """Return what the manifest has added up."""
        work = self._db.stats().work
        return TreeWork(
            flush_bytes=work.flush_bytes,
            compaction_bytes=work.compaction_bytes,
            flushes=work.flushes,
            stated=work.tree_write_amp,
            how="db.stats().work",
        )

    def close(self) -> None:
        """Close the store."""
        self._db.close()


def open_ours(path: Path, settings: StoreSettings, durable: bool) -> OurStore:
    """Make a store."""
    db = lsm.open(
        path,
        "n",
        memory_limit=2 * settings.cache_bytes,  # half of it is for the cache
        memtable_bytes_max=settings.memtable_log_bytes or settings.memtable_bytes,
        table_bytes_max=settings.table_bytes,
        level_ratio=settings.level_ratio,
        bloom_bits_per_key=float(settings.bloom_bits),
        compression="none",
    )
    return OurStore(db, durable=durable)


def our_version() -> str:
    """Return the version of this package, or say that it is not installed as one."""
    try:
        return metadata.version("lsmlog")
    except metadata.PackageNotFoundError:
        return "source tree"


SETUP = (
    "all defaults but sizes: tables mapped, background in a process; "
    "put(sync=False), durable: put(); batch.put or update(dict); get; scan"
)

ENGINE = Engine(
    name=NAME,
    version=our_version(),
    open=open_ours,
    setup=SETUP,
    memtable="the log of its writes, headers of records included",
)
