"""LevelDB through plyvel."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import plyvel

from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.peers.leveldb_stats import leveldb_work
from bench.peers.settings import StoreSettings
from bench.peers.work import TreeWork
from bench.settle import SETTLE_SECONDS_MAX

_KEY_BYTES_MAX = 1024
_L0_TABLES, _L0_TABLES_DUE = b"leveldb.num-files-at-level0", 4
_LOOK_SECONDS = 0.001


class LevelStore:
    """A plyvel.DB."""

    def __init__(self, db: Any, path: Path, *, durable: bool) -> None:
        self._db = db
        self._path = path
        self._durable = durable

    def putter(self) -> Callable[[bytes, bytes], object]:
        """Return `put`."""
        put: Callable[[bytes, bytes], object] = (
            partial(self._db.put, sync=True) if self._durable else self._db.put
        )
        return put

    def getter(self) -> Callable[[bytes], bytes | None]:
        """Return `get`."""
        get: Callable[[bytes], bytes | None] = self._db.get
        return get

    def write_batch(self, batch: Pairs) -> None:
        """Write by a write batch."""
        with self._db.write_batch(sync=self._durable) as writes:
            put = writes.put
            for key, value in zip(*batch, strict=True):
                put(key, value)

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Write by a write batch: there is no form for many pairs."""
        with self._db.write_batch(sync=self._durable) as writes:
            put = writes.put
            for key, value in batch.items():
                put(key, value)

    def scan(self) -> Iterable[Pair]:
        """Return all pairs."""
        pairs: Iterable[Pair] = self._db.iterator()
        return pairs

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return pairs from a key on."""
        return islice(self._db.iterator(start=start), limit)

    def compact(self) -> None:
        """Compact everything."""
        # Without bounds it flushes, but leaves tables of several levels.
        self._db.compact_range(start=b"", stop=b"\xff" * _KEY_BYTES_MAX)

    def settle(self) -> None:
        """Wait until L0 is not due; LevelDB does not tell of deeper levels."""
        give_up = time.monotonic() + SETTLE_SECONDS_MAX
        while int(self._db.get_property(_L0_TABLES)) >= _L0_TABLES_DUE and time.monotonic() < give_up:
            time.sleep(_LOOK_SECONDS)

    def work(self) -> TreeWork:
        """Return what LevelDB says of itself."""
        stats = self._db.get_property(b"leveldb.stats").decode("ascii", "replace")
        log = (self._path / "LOG").read_text(encoding="utf-8", errors="replace")
        return leveldb_work(stats, log)

    def close(self) -> None:
        """Close the store."""
        self._db.close()


def open_level(path: Path, settings: StoreSettings, durable: bool) -> LevelStore:
    """Make a store."""
    db = plyvel.DB(
        str(path),
        create_if_missing=True,
        write_buffer_size=settings.memtable_bytes,
        lru_cache_size=settings.cache_bytes,
        max_file_size=settings.table_bytes,
        bloom_filter_bits=settings.bloom_bits,
        compression=None,
    )
    return LevelStore(db, path, durable=durable)


SETUP = (
    "put, durable: put(sync=True); write_batch().put; get; iterator; "
    "what cannot be set: L0 merged from 4 tables on, L1 10 MiB, level ratio 10"
)

ENGINE = Engine(
    name="plyvel",
    version=f"{plyvel.__version__} (LevelDB {plyvel.__leveldb_version__})",
    open=open_level,
    setup=SETUP,
    memtable="memory of the skip list and what it holds",
    level_ratio=10,
)
