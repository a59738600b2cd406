"""RocksDB through rocksdict."""

from collections.abc import Callable, Iterable
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import rocksdict

from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.settings import StoreSettings


class RocksStore:
    """An Rdict in raw mode: bytes to bytes, without rocksdict's own encoding."""

    def __init__(self, db: Any) -> None:
        self._db = db

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
    writes = rocksdict.WriteOptions()
    writes.sync = durable
    db = rocksdict.Rdict(str(path), options)
    db.set_write_options(writes)
    return RocksStore(db)


SETUP = "raw mode; put, durable: WriteOptions.sync; WriteBatch.put; get; items; 2 background jobs (default)"

ENGINE = Engine(
    name="rocksdict",
    version=metadata.version("rocksdict"),
    open=open_rocks,
    setup=SETUP,
)
