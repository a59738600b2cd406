"""Reading a view, in the process that keeps it or in any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lsm.errors import KeyspaceNotFound, OffsetOutOfRange, ViewNotFound
from lsm.reading import Pair, Readable
from lsm.snapshot import Snapshot, SnapshotHold
from lsm.views import source
from lsm.views.books import Books
from lsm.views.entry import BOOKS, Entry, check_name, entry_key
from lsm.views.layout import SHOWN, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from lsm.db import DB
    from lsm.keyspace import Keyspace

T = TypeVar("T")

LAG_COUNTED_MAX = 1000
"""Further behind than this, changes are not told from the store's own writes: it would take too long."""


class ViewReader(Readable):
    """A view to read: a mapping from bytes to bytes in key order, as the last commit of its fold left it."""

    def __init__(self, db: DB, name: str) -> None:
        self._db = db
        self._books = Books(db, check_name(name))
        self._served: tuple[Entry, Keyspace] | None = None
        self.name = name

    @property
    def position(self) -> int:
        """The last sequence number that the view holds; 0 before the first refresh."""
        serving = self._entry().serving
        return 0 if serving is None else serving.position

    @property
    def version(self) -> int | None:
        """The version of the fold that made what readers see; None before the first refresh."""
        serving = self._entry().serving
        return None if serving is None else serving.version

    @property
    def lag(self) -> int:
        """How many changes the view does not hold yet; from a thousand on, the store's own count as well."""
        serving = self._entry().serving
        return self._lag_after(self.position, None if serving is None else serving.source)

    def snapshot(self) -> ViewSnapshot:
        """Return the view as it is now, with its position, for as long as it is held."""
        books = self._db._system_keyspace(BOOKS, create=False)
        while True:
            # Its files are held as well: a rebuild may drop the state while somebody still reads it.
            hold = SnapshotHold.now(self._db._state, pins_views=True)
            data = Snapshot(hold, books._space, self._db._find_space).get(entry_key(self.name))
            if data is None:
                hold.release()
                raise self._not_found()
            entry = self._books.decoded(data)
            if entry.serving is None:
                return ViewSnapshot(hold, None, 0)
            try:
                state = self._books.state(entry.serving)
            except KeyspaceNotFound:  # replaced since the entry was read
                hold.release()
                self._check_moved(entry)
                continue
            return ViewSnapshot(
                hold, Snapshot(hold, state._space, self._db._find_space), entry.serving.position
            )

    def _find(self, key: bytes) -> bytes | None:
        return self._reading(lambda state: state._find(SHOWN + key), None)

    def _pairs(self, start: bytes | None, stop: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        def scan(state: Keyspace) -> Iterator[Pair]:
            pairs = Part(state, SHOWN)._pairs(start, stop, reverse=reverse)
            state._refuse_dropped()  # else the scan holds all it needs
            return pairs

        return self._reading(scan, iter(()))

    def _reading(self, read: Callable[[Keyspace], T], nothing: T) -> T:
        """Read from the state that is served; if it was replaced meanwhile, from the new one."""
        while True:
            entry = self._entry()
            state = self._state(entry)
            if state is None:
                return nothing
            try:
                return read(state)
            except KeyspaceNotFound:
                self._check_moved(entry)

    def _state(self, entry: Entry) -> Keyspace | None:
        if entry.serving is None:
            return None
        served = self._served
        if served is None or served[0].serving is not entry.serving or served[1]._space.is_dropped:
            try:
                self._served = served = entry, self._books.state(entry.serving)
            except KeyspaceNotFound:
                self._check_moved(entry)
                return self._state(self._entry())
        return served[1]

    def _check_moved(self, entry: Entry) -> None:
        """Raise if the state that is missing is still the one to read: then it is really missing."""
        if self._entry() == entry:
            raise KeyspaceNotFound(f"the state of view {self.name!r} is missing")

    def _entry(self) -> Entry:
        entry = self._books.read()
        if entry is None:
            raise self._not_found()
        return entry

    def _lag_after(self, position: int, keyspace: str | None) -> int:
        latest = self._db.seq
        seqs = max(0, latest - position)
        if not 0 < seqs < LAG_COUNTED_MAX:
            return seqs
        try:
            return sum(1 for _ in source.LogStretch(self._db, position, latest, keyspace))
        except OffsetOutOfRange:
            return seqs  # the log does not tell any more which of them are changes

    def _not_found(self) -> ViewNotFound:
        return ViewNotFound(f"no view {self.name!r} in {self._db.path}")

    def __repr__(self) -> str:
        """Say which view this is."""
        return f"<lsm.{type(self).__name__} {self.name!r} of {self._db.path!r}>"

    __hash__ = object.__hash__


class ViewSnapshot(Readable):
    """A view at one moment, with its position.  A context manager; `close` lets old versions go."""

    def __init__(self, hold: SnapshotHold, state: Snapshot | None, position: int) -> None:
        self._hold = hold
        self._part = None if state is None else Part(state, SHOWN)
        self.position = position

    def _find(self, key: bytes) -> bytes | None:
        return None if self._part is None else self._part._find(key)

    def _pairs(self, start: bytes | None, stop: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        return iter(()) if self._part is None else self._part._pairs(start, stop, reverse=reverse)

    def close(self) -> None:
        """Let the snapshot go; the second call does nothing."""
        self._hold.release()

    def __enter__(self) -> ViewSnapshot:
        """Return the snapshot."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
