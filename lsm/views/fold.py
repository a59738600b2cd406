"""What a fold is: a function from one change to writes in the view's own state.

    def fold(change, view):
        if change.kind == "put":
            yield change.value, change.key

It gets a `Change` and the state so far, a mapping from bytes to bytes with everything that earlier changes
led to, and returns pairs: a key and its value, or a key and None to delete it.  Nothing to write may also be
said by returning None.  What belongs to the fold alone, and not to the readers of the view, is written as a
`Note` and read through `view.notes`.

A fold must be deterministic: what it returns may depend on the change and on the state, never on the time,
on chance, on the store or on anything outside.  Then the state is a function of the log alone, a crash can
be made good by folding on from the last position, and `verify` can compare.  A fold must not write to the
store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from lsm.arguments import as_key, as_value
from lsm.errors import InvalidArgument, InvalidType, ViewFailed
from lsm.payload import KEY_BYTES_MAX
from lsm.views.layout import NOTE, SHOWN

if TYPE_CHECKING:
    from lsm.changes import Change
    from lsm.views.overlay import FoldState

CHANGE_BYTES_MAX = 64 * 1024 * 1024
"""Most bytes that a fold may write for one change."""


class Note(NamedTuple):
    """A write that only the fold itself sees, in `view.notes`."""

    key: bytes
    value: bytes | None


Pair: TypeAlias = tuple[bytes, bytes | None]
Fold: TypeAlias = "Callable[[Change, FoldState], Iterable[Pair] | None]"
StoredWrite: TypeAlias = tuple[bytes, bytes | None]
"""A key as it lies in the view's keyspace, and its value; None deletes."""


def writes_of(view: str, fold: Fold, change: Change, state: FoldState) -> list[StoredWrite]:
    """Return what a fold makes of one change; ViewFailed if it raises or returns nonsense."""
    try:
        writes = [_stored(pair) for pair in fold(change, state) or ()]
        size = sum(len(key) + len(value or b"") for key, value in writes)
        if size > CHANGE_BYTES_MAX:
            raise InvalidArgument(f"{size} bytes written for one change; {CHANGE_BYTES_MAX} is the most")
    except Exception as error:  # whatever a fold raises, it stops this view alone
        raise ViewFailed(view, change.seq, f"{type(error).__name__}: {error}") from error
    return writes


def _stored(pair: object) -> StoredWrite:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidType(f"a fold returns pairs of a key and a value or None, not {pair!r:.60}")
    key, value = as_key(pair[0]), None if pair[1] is None else as_value(pair[1])
    if len(key) >= KEY_BYTES_MAX:
        raise InvalidArgument(f"a key of {len(key)} bytes; {KEY_BYTES_MAX - 1} is the most in a view")
    return (NOTE if isinstance(pair, Note) else SHOWN) + key, value
