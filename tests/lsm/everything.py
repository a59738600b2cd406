"""Every public call on a store, a keyspace, a snapshot and a batch: for what must hold of all of them."""

from collections.abc import Callable
from pathlib import Path

import lsm

Use = Callable[[], object]


def reads_of(source: lsm.Keyspace | lsm.Snapshot) -> dict[str, Use]:
    """Return every way of reading."""
    return {
        "get": lambda: source.get(b"a"),
        "[]": lambda: source[b"a"],
        "in": lambda: b"a" in source,
        "multi_get": lambda: source.multi_get([b"a"]),
        "scan": lambda: list(source.scan()),
        "reverse scan": lambda: list(source.scan(b"a", b"z", reverse=True)),
        "limited scan": lambda: list(source.scan(limit=1)),
        "iter": lambda: list(source),
        "reversed": lambda: list(reversed(source)),
        "len": lambda: len(source),
        "bool": lambda: bool(source),
        "keys": lambda: list(source.keys()),
        "items": lambda: list(source.items()),
        "values": lambda: list(source.values()),
        "==": lambda: source == {b"other": b""},
    }


def writes_of(keyspace: lsm.Keyspace) -> dict[str, Use]:
    """Return every way of writing."""
    return {
        "put": lambda: keyspace.put(b"a", b"new"),
        "put unsynced": lambda: keyspace.put(b"a", b"new", sync=False),
        "[]=": lambda: keyspace.__setitem__(b"a", b"new"),
        "delete": lambda: keyspace.delete(b"a"),
        "del": lambda: keyspace.__delitem__(b"a"),
        "update": lambda: keyspace.update({b"a": b"new"}),
        "clear": keyspace.clear,
        "pop": lambda: keyspace.pop(b"a"),
        "popitem": keyspace.popitem,
        "setdefault": lambda: keyspace.setdefault(b"new", b"new"),
    }


def whole_store(db: lsm.DB, spare: Path) -> dict[str, Use]:
    """Return every call that concerns the whole store; `spare` is a path that nothing is at."""
    return {
        "flush": db.flush,
        "compact": db.compact,
        "step": db.step,
        "sync": db.sync,
        "checkpoint": lambda: db.checkpoint(spare),
        "resume": db.resume,
        "keyspace": lambda: db.keyspace("new"),
        "drop_keyspace": lambda: db.drop_keyspace("other"),
    }


def questions(db: lsm.DB) -> dict[str, Use]:
    """Return every question about the store."""
    return {
        "keyspaces": db.keyspaces,
        "keyspace": lambda: db.keyspace("other"),
        "stats": db.stats,
        "refresh": db.refresh,
        "seq": lambda: db.seq,
        "snapshot": lambda: db.snapshot().close(),
    }


def batch_of(keyspace: lsm.Keyspace) -> lsm.WriteBatch:
    """Return a batch that only waits to be committed."""
    batch = keyspace.batch()
    batch.put(b"a", b"new")
    return batch
