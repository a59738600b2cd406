"""Making keyspaces."""

from lsm.errors import InvalidArgument
from lsm.payload import KEYSPACE_MAX
from lsm.state import Space, State
from lsm.version import KeyspaceMeta, VersionEdit


def create_space(state: State, name: str) -> Space:
    """Return the keyspace of that name, made by an edit if there is none."""
    with state.edit_lock:
        version = state.version
        existing = [meta.id for meta in version.keyspaces.values() if meta.name == name]
        if existing:
            return state.spaces[existing[0]]
        id_ = version.next_keyspace
        if id_ > KEYSPACE_MAX:
            raise InvalidArgument(f"a store has had at most {KEYSPACE_MAX} keyspaces")
        state.install(VersionEdit(keyspaces_added=(KeyspaceMeta(id=id_, name=name),), next_keyspace=id_ + 1))
        return state.spaces[id_]
