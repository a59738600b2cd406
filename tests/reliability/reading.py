"""Reading a whole store through every path there is; the paths must agree."""

from lsm.db import DB
from lsm.keyspace import Keyspace
from tests.reliability.model import DEFAULT, Found

# Keys that histories write, and some that none does: near them, before them all and after them all.
KEYS = (*(bytes([letter]) for letter in b"abcdefgh"), b"#", b"x", b"y", b"", b"a\0", b"zz", b"\xff")


class Violation(AssertionError):
    """The store did what it must never do."""


def read_all(db: DB, *, every_path: bool = True) -> Found:
    """Return what a store holds, by scan, and check the other ways of reading against it."""
    contents = {}
    for name in db.keyspaces():
        space = db if name == DEFAULT else db.keyspace(name, create=False)
        pairs = list(space.scan())
        contents[name] = dict(pairs)
        if every_path:
            _check_paths(space, pairs)
    return Found(db.seq, contents)


def _check_paths(space: Keyspace, pairs: list[tuple[bytes, bytes]]) -> None:
    held = dict(pairs)
    keys = [*KEYS, *held]
    expected = [held.get(key) for key in keys]
    _agree(space, "scan order", sorted(held), [key for key, _ in pairs])
    _agree(space, "get", expected, [space.get(key) for key in keys])
    _agree(space, "multi_get", expected, space.multi_get(keys))
    _agree(space, "reverse scan", pairs[::-1], list(space.scan(reverse=True)))


def _agree(space: Keyspace, path: str, expected: object, found: object) -> None:
    if expected != found:
        raise Violation(f"{space.name}: scan says {expected}, {path} says {found}")
