"""A view's entry and its states in the store: read, committed together, tidied up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsm.errors import CorruptionError, KeyspaceNotFound
from lsm.views.entry import (
    BOOKS,
    Entry,
    Phase,
    decode_entry,
    encode_entry,
    entry_key,
    generation_of,
    state_name,
)
from sstable import DELETED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lsm.db import DB
    from lsm.keyspace import Keyspace


class Books:
    """Where one view is kept."""

    def __init__(self, db: DB, name: str) -> None:
        self._db = db
        self._name = name
        self._key = entry_key(name)
        self._last: tuple[bytes, Entry] | None = None  # decoded once, read often

    def read(self) -> Entry | None:
        """Return the entry, or None if there is no such view."""
        try:
            data = self._db._system_keyspace(BOOKS, create=False).get(self._key)
        except KeyspaceNotFound:
            return None
        return None if data is None else self.decoded(data)

    def decoded(self, data: bytes) -> Entry:
        """Return the entry that some bytes are."""
        last = self._last
        if last is not None and last[0] == data:
            return last[1]
        try:
            entry = decode_entry(data)
        except ValueError as error:
            raise CorruptionError(self._db.path, f"the entry of view {self._name!r}: {error}") from error
        self._last = data, entry
        return entry

    def state(self, phase: Phase, *, create: bool = False) -> Keyspace:
        """Return the keyspace of one state."""
        return self._db._system_keyspace(state_name(self._name, phase.generation), create=create)

    def commit(
        self,
        entry: Entry,
        phase: Phase | None = None,
        writes: Mapping[bytes, bytes | None] | None = None,
        *,
        sync: bool | None = None,
    ) -> Entry:
        """Write the entry, and with it what was folded into the state of `phase`: both or neither."""
        version = self._db._state.version
        entry = replace(
            entry,
            n=entry.n + 1,
            time=self._db._state.clock.now_us(),
            store_id=version.store_id.hex(),
            epoch=version.epoch,
        )
        with self._db._system_keyspace(BOOKS).batch(sync=sync) as batch:
            batch.put(self._key, encode_entry(entry))
            if phase is not None and writes:
                state = self.state(phase)._space.id
                for key, value in writes.items():
                    batch._put_in(state, key, DELETED if value is None else value)
        return entry

    def add(self, phase: Phase, writes: Mapping[bytes, bytes | None]) -> None:
        """Write to a state that no reader sees and that is thrown away if it does not become whole."""
        with self.state(phase).batch() as batch:
            for key, value in writes.items():
                if value is None:
                    batch.delete(key)
                else:
                    batch.put(key, value)

    def next_generation(self) -> int:
        """Return a number that no state has."""
        return max(self._generations(), default=0) + 1

    def drop_states(self, entry: Entry | None) -> None:
        """Drop every state that the entry does not speak of: what a rebuild or a crash has left."""
        known = () if entry is None else (entry.serving, entry.building)
        kept = {phase.generation for phase in known if phase is not None}
        for generation, name in self._generations().items():
            if generation not in kept:
                self._db._drop_space(self._db._named_space(name))

    def forget(self) -> None:
        """Remove the entry, then the states."""
        self._db._system_keyspace(BOOKS).delete(self._key, sync=True)
        self.drop_states(None)

    def _generations(self) -> dict[int, str]:
        names = [space.name for space in list(self._db._state.spaces.values())]
        found = {name: generation_of(self._name, name) for name in names}
        return {generation: name for name, generation in found.items() if generation is not None}
