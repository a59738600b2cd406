"""A snapshot: the store as it was at one moment, for as long as it is held."""

from collections.abc import Callable, Iterable
from types import TracebackType
from weakref import finalize

from lsm.arguments import as_key
from lsm.errors import ClosedError
from lsm.explain.get import GetExplanation, explain_get
from lsm.memtable import Layer
from lsm.payload import Value
from lsm.reading import ViewReadable
from lsm.state import Space, SpaceView, State


class SnapshotHold:
    """Keeps a sequence number readable until it is released, by hand or by the garbage collector."""

    __slots__ = ("__weakref__", "_release", "pinned", "seq", "state")

    def __init__(self, state: State, seq: int, pinned: dict[int, SpaceView]) -> None:
        """Take over a snapshot that `state` already counts."""
        self.state = state
        self.seq = seq
        self.pinned = pinned
        self._release = finalize(self, state.release_snapshot, seq)
        self._release.atexit = False

    @staticmethod
    def now(state: State, *, pins_views: bool) -> "SnapshotHold":
        """Return a hold on this moment.

        A process that only reads cannot keep the writer from dropping old versions; it pins the files.
        """
        with state.lock:
            seq = state.take_snapshot()
            views = {space.id: space.view for space in state.spaces.values()} if pins_views else {}
        return SnapshotHold(state, seq, views)

    def again(self) -> "SnapshotHold":
        """Return another hold on the same moment."""
        self.state.hold(self.seq)
        return SnapshotHold(self.state, self.seq, self.pinned)

    @property
    def is_released(self) -> bool:
        """Tell whether it is held no more."""
        return not self._release.alive

    def release(self) -> None:
        """Let it go; the second call does nothing."""
        self._release()
        self.pinned = {}


class Snapshot(ViewReadable):
    """One keyspace at one moment.  A context manager; `close` lets old versions go."""

    __slots__ = ("_hold", "_layers", "_open_keyspace", "_space", "_view")

    def __init__(self, hold: SnapshotHold, space: Space, open_keyspace: Callable[[str], Space]) -> None:
        self._hold = hold
        self._space = space
        self._open_keyspace = open_keyspace
        self._view: SpaceView | None = None
        self._layers: tuple[Layer, ...] = ()

    @property
    def seq(self) -> int:
        """The sequence number of the last write it sees."""
        return self._hold.seq

    def keyspace(self, name: str) -> "Snapshot":
        """Return another keyspace at the same moment, to be closed on its own."""
        self._current()
        return Snapshot(self._hold.again(), self._open_keyspace(name), self._open_keyspace)

    def _current(self) -> SpaceView:
        """Return the view to read, with the layers that belong to this moment at hand."""
        self._hold.state.check_open()
        if self._hold.is_released:
            raise ClosedError("this snapshot was closed; take a new one")
        view = self._hold.pinned.get(self._space.id) or self._space.view
        if view is not self._view:
            self._layers = view.at(self.seq)
            self._view = view
        return view

    def _find(self, key: bytes) -> bytes | None:
        view = self._current()
        found = self._in_memory(key)
        if found is None:
            with self._hold.state.reading():
                found = view.tree.get(key, self.seq)
        return found if isinstance(found, bytes) else None

    def explain_get(self, key: bytes) -> GetExplanation:
        """Look `key` up like `get`, and tell every probe: memtables, tables, filters, blocks."""
        view = self._current()
        with self._hold.state.reading():
            return explain_get(self._layers, view.tree, as_key(key), self.seq)

    def multi_get(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in their order, None for keys without one."""
        wanted = [as_key(key) for key in keys]
        tree = self._current().tree
        memory: dict[bytes, Value | None] = {key: self._in_memory(key) for key in wanted}
        with self._hold.state.reading():
            tables = tree.get_many([key for key, value in memory.items() if value is None], self.seq)
        values = [tables.get(key) if memory[key] is None else memory[key] for key in wanted]
        return [value if isinstance(value, bytes) else None for value in values]

    def _in_memory(self, key: bytes) -> Value | None:
        for layer in self._layers:
            value = layer.entries.get(key)
            if value is not None:
                return value
        return None

    def _held_view(self) -> tuple[State, SpaceView, int]:
        view, state = self._current(), self._hold.state
        state.hold(self.seq)  # a scan outlives the snapshot it was begun on
        return state, view, self.seq

    def close(self) -> None:
        """Let the snapshot go; the second call does nothing."""
        self._hold.release()

    def __enter__(self) -> "Snapshot":
        """Return the snapshot."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
