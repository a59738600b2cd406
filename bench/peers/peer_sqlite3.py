"""SQLite through the standard library."""

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.data import Pairs
from bench.peers.engines import Engine, Pair
from bench.peers.settings import StoreSettings

_PUT = "INSERT OR REPLACE INTO entries VALUES (?, ?)"
_WAIT_SECONDS = 120  # eight threads that take turns at the disk


class SqliteStore:
    """A table with the key as its index, in WAL mode.  Every thread that puts has its own connection."""

    def __init__(self, path: Path, settings: StoreSettings, *, durable: bool) -> None:
        self._file = str(path / "entries.sqlite3")
        self._cache_kib = settings.cache_bytes // 1024
        self._durable = durable
        self._connections: list[sqlite3.Connection] = []
        self._main = self._connect()
        self._main.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")

    def putter(self) -> Callable[[bytes, bytes], object]:
        """Return a function that puts in a transaction of its own."""
        execute = self._connect().execute

        def put(key: bytes, value: bytes) -> None:
            execute(_PUT, (key, value))

        return put

    def getter(self) -> Callable[[bytes], bytes | None]:
        """Return a function that selects by the key."""
        execute = self._main.execute

        def get(key: bytes) -> bytes | None:
            row = execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
            return None if row is None else row[0]

        return get

    def write_batch(self, batch: Pairs) -> None:
        """Write in one transaction."""
        execute = self._main.execute
        execute("BEGIN IMMEDIATE")
        for pair in zip(*batch, strict=True):
            execute(_PUT, pair)
        execute("COMMIT")

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Write by `executemany`."""
        self._main.execute("BEGIN IMMEDIATE")
        self._main.executemany(_PUT, batch.items())
        self._main.execute("COMMIT")

    def scan(self) -> Iterable[Pair]:
        """Return all pairs."""
        return self._main.execute("SELECT key, value FROM entries ORDER BY key")

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return pairs from a key on."""
        query = "SELECT key, value FROM entries WHERE key >= ? ORDER BY key LIMIT ?"
        return self._main.execute(query, (start, limit))

    def compact(self) -> None:
        """Do nothing: a B-tree is updated in place."""

    def close(self) -> None:
        """Close the store."""
        for connection in self._connections:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._file, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._connections.append(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'OFF'}")
        connection.execute(f"PRAGMA cache_size = -{self._cache_kib}")
        return connection


def open_sqlite(path: Path, settings: StoreSettings, durable: bool) -> SqliteStore:
    """Make a store."""
    return SqliteStore(path, settings, durable=durable)


SETUP = (
    "table without rowid, WAL mode; one transaction a put or batch, durable: synchronous=FULL, else OFF; "
    "executemany(dict); no memtable, no filter"
)

ENGINE = Engine(
    name="sqlite3",
    version=f"SQLite {sqlite3.sqlite_version}",
    open=open_sqlite,
    setup=SETUP,
    has_background=False,
)
