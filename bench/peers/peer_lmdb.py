"""LMDB through py-lmdb."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import lmdb

from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.peers.settings import StoreSettings
from bench.settings import MIB


class LmdbStore:
    """An environment.  A read transaction is held while nothing is written: that is how LMDB reads fast."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._reads: Any = None

    def putter(self) -> Callable[[bytes, bytes], object]:
        """Return a function that puts in a transaction of its own."""
        self._end_reads()
        begin = self._environment.begin

        def put(key: bytes, value: bytes) -> None:
            with begin(write=True) as transaction:
                transaction.put(key, value)

        return put

    def getter(self) -> Callable[[bytes], bytes | None]:
        """Return `get` of a read transaction."""
        get: Callable[[bytes], bytes | None] = self._reading().get
        return get

    def mixed(self) -> tuple[Callable[[bytes], bytes | None], Callable[[bytes, bytes], object]]:
        """Return `get` and `put` for use in turns: a read after a write begins another read transaction."""
        put_alone = self.putter()

        def get(key: bytes) -> bytes | None:
            found: bytes | None = self._reading().get(key)
            return found

        def put(key: bytes, value: bytes) -> None:
            self._end_reads()
            put_alone(key, value)

        return get, put

    def write_batch(self, batch: Pairs) -> None:
        """Write in one transaction."""
        self._end_reads()
        with self._environment.begin(write=True) as transaction:
            put = transaction.put
            for key, value in zip(*batch, strict=True):
                put(key, value)

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Write by `putmulti`."""
        self._end_reads()
        with self._environment.begin(write=True) as transaction, transaction.cursor() as cursor:
            cursor.putmulti(batch.items())

    def scan(self) -> Iterable[Pair]:
        """Return all pairs."""
        pairs: Iterable[Pair] = self._reading().cursor()
        return pairs

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return pairs from a key on."""
        cursor = self._reading().cursor()
        return islice(cursor, limit) if cursor.set_range(start) else ()

    def compact(self) -> None:
        """Do nothing: a B-tree is updated in place."""

    def close(self) -> None:
        """Close the store."""
        self._end_reads()
        self._environment.close()

    def _reading(self) -> Any:
        if self._reads is None:
            self._reads = self._environment.begin()
        return self._reads

    def _end_reads(self) -> None:
        if self._reads is not None:
            self._reads.abort()
            self._reads = None


def open_lmdb(path: Path, settings: StoreSettings, durable: bool) -> LmdbStore:
    """Make a store."""
    # Pages that random inserts have split are two thirds full, and a commit needs free ones beside the old.
    size = 64 * MIB + 6 * settings.data_bytes
    return LmdbStore(lmdb.open(str(path), map_size=size, sync=durable, metasync=durable))


SETUP = (
    "one transaction a put or batch, durable: sync, else not synced; putmulti(dict); "
    "gets and scans in one read transaction, or one between two puts; "
    "no memtable, no cache of its own, no filter"
)

ENGINE = Engine(
    name="lmdb",
    version=f"{lmdb.__version__} (LMDB {'.'.join(map(str, lmdb.version()))})",
    open=open_lmdb,
    setup=SETUP,
    has_background=False,
)
