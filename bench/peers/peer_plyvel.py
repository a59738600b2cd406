"""LevelDB through plyvel."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import plyvel

from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.settings import StoreSettings

_KEY_BYTES_MAX = 1024


class LevelStore:
    """A plyvel.DB."""

    def __init__(self, db: Any, *, durable: bool) -> None:
        self._db = db
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
    return LevelStore(db, durable=durable)


SETUP = "put, durable: put(sync=True); write_batch().put; get; iterator"

ENGINE = Engine(
    name="plyvel",
    version=f"{plyvel.__version__} (LevelDB {plyvel.__leveldb_version__})",
    open=open_level,
    setup=SETUP,
)
