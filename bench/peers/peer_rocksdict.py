"""RocksDB through rocksdict."""

import time
from collections.abc import Callable, Iterable
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import rocksdict

from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.peers.rocksdb_stats import rocksdb_work
from bench.peers.settings import StoreSettings
from bench.peers.work import TreeWork
from bench.settle import SETTLE_SECONDS_MAX

_DUE = (
    "rocksdb.num-immutable-mem-table",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.num-running-flushes",
    "rocksdb.compaction-pending",
    "rocksdb.num-running-compactions",
)
_LOOK_SECONDS = 0.001


class RocksStore:
    """An Rdict in raw mode: bytes to bytes, without rocksdict's own encoding."""

    def __init__(self, db: Any, options: Any) -> None:
        self._db = db
        self._options = options

    def putter(self) -> Callable[[bytes, bytes], object]:
        """Return `put`, which is quicker than assignment."""
        put: Callable[[bytes, bytes], object] = self._db.put
        return put

    def getter(self) -> Callable[[bytes], bytes | None]:
        """Return `get`."""
        get: Callable[[bytes], bytes | None] = self._db.get
        return get

    def write_batch(self, batch: Pairs) -> None:
        """Write by a WriteBatch."""
        writes = rocksdict.WriteBatch(raw_mode=True)
        put = writes.put
        for key, value in zip(*batch, strict=True):
            put(key, value)
        self._db.write(writes)

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Write by a WriteBatch: there is no form for many pairs."""
        writes = rocksdict.WriteBatch(raw_mode=True)
        put = writes.put
        for key, value in batch.items():
            put(key, value)
        self._db.write(writes)

    def scan(self) -> Iterable[Pair]:
        """Return all pairs."""
        pairs: Iterable[Pair] = self._db.items()
        return pairs

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return pairs from a key on."""
        return islice(self._db.items(from_key=start), limit)

    def compact(self) -> None:
        """Compact everything."""
        self._db.compact_range(None, None)

    def settle(self) -> None:
        """Wait until no flush or compaction is due."""
        give_up = time.monotonic() + SETTLE_SECONDS_MAX
        while any(map(self._db.property_int_value, _DUE)) and time.monotonic() < give_up:
            time.sleep(_LOOK_SECONDS)

    def work(self) -> TreeWork:
        """Return what RocksDB says of itself; it must have been opened to count."""
        return rocksdb_work(
            self._options.get_statistics() or "", self._db.property_value("rocksdb.cfstats") or ""
        )

    def close(self) -> None:
        """Close the store."""
        self._db.close()


def open_rocks(path: Path, settings: StoreSettings, durable: bool) -> RocksStore:
    """Make a store."""
    tables = rocksdict.BlockBasedOptions()
    tables.set_bloom_filter(settings.bloom_bits, False)
    tables.set_block_cache(rocksdict.Cache(settings.cache_bytes))
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(settings.memtable_bytes)
    options.set_target_file_size_base(settings.table_bytes)
    options.set_compression_type(rocksdict.DBCompressionType.none())
    options.set_block_based_table_factory(tables)
    options.set_max_bytes_for_level_multiplier(settings.level_ratio)
    if settings.base_bytes:
        options.set_max_bytes_for_level_base(settings.base_bytes)
    if settings.counts_work:
        options.enable_statistics()
    writes = rocksdict.WriteOptions()
    writes.sync = durable
    db = rocksdict.Rdict(str(path), options)
    db.set_write_options(writes)
    return RocksStore(db, options)


SETUP = "raw mode; put, durable: WriteOptions.sync; WriteBatch.put; get; items; 2 background jobs (default)"

ENGINE = Engine(
    name="rocksdict",
    version=metadata.version("rocksdict"),
    open=open_rocks,
    setup=SETUP,
    memtable="memory of the skip list and what it holds",
)
