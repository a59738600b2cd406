"""Folds for tests, and what they lead to when they are run over a plain list of changes."""

from collections.abc import Iterable

import lsm
from lsm.views import Fold, Note
from lsm.views.fold import writes_of
from lsm.views.layout import SHOWN
from lsm.views.overlay import FoldState, Pending


def tally(change, view):
    """Count the changes of every key; the total is under the empty key."""
    for key in (change.key, b""):
        yield key, b"%d" % (int(view.get(key, b"0")) + 1)


def mirror(change, view):
    """Hold what the store holds, of all keyspaces."""
    yield change.keyspace.encode() + b"/" + change.key, change.value


def noted(change, view):
    """Remember each key's last value in a note, and show the one before it."""
    before = view.notes.get(change.key)
    yield Note(change.key, change.value)
    yield change.key, before


def failing(fold: Fold, seqs: set[int], error: type[Exception] = ValueError) -> Fold:
    """Return a fold that raises at some sequence numbers, after it has yielded something."""

    def broken(change, view):
        for pair in fold(change, view):
            yield pair
            if change.seq in seqs:
                raise error(f"will not take {change.key!r}")

    return broken


def folded(fold: Fold, changes: Iterable[lsm.Change]) -> dict[bytes, bytes]:
    """Return what readers of a view would see after these changes."""
    pending = Pending(None)
    for change in changes:
        pending.apply(writes_of("model", fold, change, FoldState(pending)))
    return {key[1:]: value for key, value in pending.writes.items() if key[:1] == SHOWN and value is not None}


def history(db: lsm.DB, until: int | None = None) -> list[lsm.Change]:
    """Return all changes of a store's log, up to a sequence number."""
    return list(db.changes("earliest", until)) if until != 0 else []


def system_names(db: lsm.DB) -> set[str]:
    """Return the keyspaces that states of views lie in."""
    return {space.name for space in db._state.spaces.values() if space.name.startswith("lsm:view")}
