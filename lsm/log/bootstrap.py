"""Snapshot, then stream: a consistent scan, and the number from which the changes go on."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import finalize

from lsm.retention import Pin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from lsm.db import DB
    from lsm.log.entries import Change
    from lsm.snapshot import Snapshot


class Bootstrap:
    """A store at one moment, durable, and what comes after it: no gap and no duplicate.

    A context manager.  While it is held by the writer's process the log keeps what comes after `seq`; a
    reader in another process makes a consumer first if it must not lose the race against retention.
    """

    def __init__(self, db: DB) -> None:
        """Take the moment; users call `db.bootstrap()`."""
        self._db = db
        db.refresh()
        state = db._state
        with state.trim_lock:  # or the log could lose what comes right after the moment
            self._snapshot: Snapshot = db.snapshot()
            self.seq = self._snapshot.seq
            pin = Pin(f"bootstrap {id(self):x}", self.seq)
            state.own_pins.add(pin)
        self._let_go = finalize(self, state.own_pins.discard, pin)  # also when it is forgotten
        self._let_go.atexit = False
        try:
            db.sync()  # what is streamed after it survives a crash, so what is before it must, too
        except BaseException:
            self.close()
            raise

    @property
    def keyspaces(self) -> list[str]:
        """The keyspaces there are to scan."""
        return self._db.keyspaces()

    def scan(
        self, keyspace: str | None = None, *, prefix: bytes | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs of one keyspace, in key order."""
        if keyspace is None:
            yield from self._snapshot.scan(prefix=prefix)
            return
        with self._snapshot.keyspace(keyspace) as snapshot:
            yield from snapshot.scan(prefix=prefix)

    def changes(self, *, follow: bool = False, timeout: float | None = None) -> Iterator[Change]:
        """Yield every change that came after the scan."""
        return self._db.changes(self.seq, follow=follow, timeout=timeout)

    def close(self) -> None:
        """Let the moment go; the second call does nothing."""
        self._let_go()
        self._snapshot.close()

    def __enter__(self) -> Bootstrap:
        """Return the bootstrap."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
