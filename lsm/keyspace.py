"""A keyspace: one sorted mapping of the store, with its own memtable and levels."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

from lsm.arguments import as_key, as_value
from lsm.batch import WriteBatch
from lsm.errors import KeyspaceNotFound, StorageError
from lsm.explain.get import GetExplanation, explain_get
from lsm.payload import Writes
from lsm.reading import Pair, ViewReadable
from lsm.snapshot import Snapshot, SnapshotHold
from lsm.state import Space, SpaceView, State
from sstable import DELETED


class Keyspace(ViewReadable, MutableMapping[bytes, bytes]):
    """A mutable mapping from bytes to bytes in key order.  Safe to share between threads.

    `sync` of a write: True returns when the write is durable, False when it is in the log; None, the
    default, takes what the store's `sync` option says.
    """

    _state: State
    _space: Space
    _find_space: Callable[[str], Space]
    _pins_views: bool

    @property
    def name(self) -> str:
        """The keyspace's name."""
        return self._space.name

    def put(self, key: bytes, value: bytes, *, sync: bool | None = None) -> None:
        """Set a key."""
        # Written out for speed (bench: fillrandom); the numbers are KEY_BYTES_MAX and VALUE_BYTES_MAX.
        if type(key) is not bytes or len(key) > 65536:
            key = as_key(key)
        if type(value) is not bytes or len(value) > 67108864:
            value = as_value(value)
        space = self._space
        if space.is_dropped:
            self._refuse_dropped()
        self._state.writer.put(space, key, value, sync)

    def delete(self, key: bytes, *, sync: bool | None = None) -> None:
        """Delete a key, whether it is there or not."""
        self._refuse_dropped()
        self._state.writer.delete(self._space, as_key(key), DELETED, sync)

    def batch(self, *, sync: bool | None = None) -> WriteBatch:
        """Return a batch that commits on leaving its `with` block, or discards on an exception."""
        self._refuse_dropped()
        state = self._state

        def commit(payload: bytes, count: int, writes: list[Writes]) -> int:
            return state.writer.write(payload, count, writes, sync)

        return WriteBatch(commit, lambda name: self._find_space(name).id, self._space.id, state)

    def update(  # type: ignore[override]  # keys are bytes, so there are no keyword arguments to take
        self, other: "Mapping[bytes, bytes] | Iterable[Pair]" = (), /, *, sync: bool | None = None
    ) -> None:
        """Set many keys in one atomic batch, from a mapping or from pairs."""
        with self.batch(sync=sync) as batch:
            for key, value in other.items() if isinstance(other, Mapping) else _pairs_of(other):
                batch.put(key, value)

    def clear(self) -> None:
        """Delete all keys, in one batch."""
        with self.batch() as batch:
            for key in self:
                batch.delete(key)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        """Set a key."""
        self.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Delete a key, or raise KeyError without one."""
        if key not in self:
            raise KeyError(key)
        self.delete(key)

    def multi_get(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the values of many keys at one moment, in their order, None for keys without one."""
        wanted = [as_key(key) for key in keys]
        with self.snapshot() as snapshot:
            return snapshot.multi_get(wanted)

    def snapshot(self) -> Snapshot:
        """Return this keyspace as it is now, for as long as it is held."""
        self._space.view.memory  # noqa: B018  # raises if the store or the keyspace is gone
        return Snapshot(
            SnapshotHold.now(self._state, pins_views=self._pins_views), self._space, self._find_space
        )

    def explain_get(self, key: bytes) -> GetExplanation:
        """Look `key` up like `get`, and tell every probe: memtables, tables, filters, blocks."""
        with self._state.lock:  # a batch is whole when it is free
            view = self._space.view
        with self._state.reading():
            return explain_get(view.layers, view.tree, as_key(key))

    def _find(self, key: bytes) -> bytes | None:
        if self._state.is_applying:
            with self._state.lock:
                pass  # the batch is whole when the lock is free
        view = self._space.view
        for entries in view.memory:
            value = entries.get(key)
            if value is not None:
                return None if value is DELETED else value
        try:
            found = view.tree.get(key)
        except StorageError:
            self._state.check_open()  # what was closed meanwhile cannot be read
            raise
        return None if found is None or found is DELETED else found

    def _held_view(self) -> tuple[State, SpaceView, int]:
        state = self._state
        self._space.view.memory  # noqa: B018  # raises if the store or the keyspace is gone
        with state.lock:
            seq = state.take_snapshot()  # first: it may put a new layer into the view
            return state, self._space.view, seq

    def _refuse_dropped(self) -> None:
        if self._space.is_dropped:
            raise KeyspaceNotFound(f"keyspace {self._space.name!r} was dropped")


def _pairs_of(other: "Iterable[Pair]") -> Iterator[Pair]:
    """Yield pairs of anything that dict.update would take."""
    keys = getattr(other, "keys", None)
    if keys is None:
        yield from other
    else:
        for key in keys():
            yield key, other[key]  # type: ignore[index]  # it has keys(), so it is a mapping in all but name
