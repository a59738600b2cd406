"""The tables of a store, listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsm.caches import TableHandle
    from lsm.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """What is known of one table."""

    keyspace: str
    level: int
    number: int
    smallest: bytes
    largest: bytes
    size_bytes: int
    entries: int
    distinct_keys: int
    tombstones: int
    user_bytes: int
    """Bytes of its keys and values, overwritten ones included."""
    bloom_bits_per_key: float
    """0 without a filter."""


def list_tables(state: State) -> list[TableInfo]:
    """Return the tables of all keyspaces, by keyspace, level and key; L0 newest first."""
    with state.lock:
        trees = [(space.name, space.view.tree) for space in state.spaces.values()]
    return [
        _info(name, level, handle)
        for name, tree in trees
        for level, handles in enumerate((tree.l0, *tree.levels))
        for handle in handles
    ]


def _info(keyspace: str, level: int, handle: TableHandle) -> TableInfo:
    meta = handle.meta
    return TableInfo(
        keyspace=keyspace,
        level=level,
        number=meta.number,
        smallest=meta.smallest,
        largest=meta.largest,
        size_bytes=meta.size_bytes,
        entries=meta.entries,
        distinct_keys=meta.distinct_keys,
        tombstones=meta.tombstones,
        user_bytes=meta.key_bytes + meta.value_bytes,
        bloom_bits_per_key=handle.table().bloom_bits_per_key,
    )
