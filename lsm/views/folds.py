"""Folds that are ready to be used: a counter, the latest by a field, a sum over windows of time.

    per_user = db.view("orders-per-user", keyspace="orders")(folds.counter(by="user"))
    latest = db.view("latest-order", keyspace="orders")(folds.latest_by("user"))
    revenue = db.view("revenue-per-hour")(folds.windowed_sum(3600, amount="price"))

What they look at in a change is given by a function of the change, or by the name of a field of its value,
which is a JSON object then.  A function, or a field, that gives None leaves the change out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow, Underflow
from typing import TYPE_CHECKING, TypeAlias

from lsm.errors import InvalidArgument, InvalidType
from lsm.views.fold import Fold, Note, Pair

if TYPE_CHECKING:
    from lsm.changes import Change
    from lsm.views.overlay import FoldState

By: TypeAlias = "str | Callable[[Change], bytes | None]"
Amount: TypeAlias = "int | Decimal | float | str | Callable[[Change], int | Decimal | float | None]"

_SEQ_BYTES = 8
_RECORD_BYTES_MAX = 512
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Sums are exact or an error, and never longer than a line.
_EXACT = Context(
    prec=300,
    Emin=-300,
    Emax=300,
    traps=[DivisionByZero, Inexact, InvalidOperation, Overflow, Underflow],
)


def counter(by: By | None = None, *, events: bool = False) -> Fold:
    """Count the keys of the store, by group: `view[group]` is a decimal number, and 0 is no entry.

    A key counts while it is there: an overwrite may move it to another group, a deletion takes it out.
    Without `by` there is one group, the empty key.  With `events` every put counts, for good: that needs the
    history of the log.
    """
    group_of = _grouping(by)

    def count_events(change: Change, view: FoldState) -> Iterator[Pair]:
        group = None if change.kind == "delete" else group_of(change)
        if group is not None:
            yield group, _plus(view.get(group), 1)

    def count_keys(change: Change, view: FoldState) -> Iterator[Pair]:
        group = None if change.kind == "delete" else group_of(change)
        record = _record(change)
        old = view.notes.get(record)
        if old == group:
            return
        if old is not None:
            yield old, _plus(view.get(old), -1)
        if group is not None:
            yield group, _plus(view.get(group), 1)
        yield Note(record, group)

    if events:
        count_events.needs_history = True  # type: ignore[attr-defined]  # how a fold says it
        return count_events
    return count_keys


def _plus(count: bytes | None, step: int) -> bytes | None:
    return b"%d" % total if (total := int(count or b"0") + step) else None


def latest_by(field: By, value: Callable[[Change], bytes] | None = None) -> Fold:
    """Index the store by a field: `view[field]` is the key that was put last of those that have this field.

    When that key is overwritten with another field, or deleted, the one before it takes its place; without
    one the entry goes.  `value` makes something else than the key to be kept, such as the value itself.
    """
    group_of = _grouping(field)

    def fold(change: Change, view: FoldState) -> Iterator[Pair]:
        group = None if change.kind == "delete" else group_of(change)
        record = _record(change)
        old = view.notes.get(b"r" + record)
        if old is not None:
            old_group = old[_SEQ_BYTES:]
            holder = _holders(old_group) + old[:_SEQ_BYTES] + record
            yield Note(holder, None)
            if old_group != group:
                yield from _succeeded(view, old_group, holder)
        if group is not None:
            seq = change.seq.to_bytes(_SEQ_BYTES, "big")
            kept = change.key if value is None else value(change)
            yield Note(_holders(group) + seq + record, kept)
            yield Note(b"r" + record, seq + group)
            yield group, kept
        elif old is not None:
            yield Note(b"r" + record, None)

    return fold


def _holders(group: bytes) -> bytes:
    """Return what the notes of all keys with this field begin with; by age, the latest is the last."""
    return b"h%b%b" % (len(group).to_bytes(4, "big"), group)


def _succeeded(view: FoldState, group: bytes, gone: bytes) -> Iterator[Pair]:
    """Yield what becomes of a field when one of its keys goes: nothing if that was not the latest."""
    latest = list(view.notes.scan(prefix=_holders(group), reverse=True, limit=2))
    if latest and latest[0][0] == gone:
        yield group, latest[1][1] if len(latest) > 1 else None


def windowed_sum(seconds: int, amount: Amount = 1, by: By | None = None) -> Fold:
    """Sum up what puts bring, in windows of the time of their commit; the amount 1 counts them.

    `view[window_key(time, seconds)]` is the sum as a decimal number, exact; with `by` there is one for every
    group, `window_key(time, seconds, group)`.  Windows begin at multiples of `seconds` since 1970, and keys
    sort by time.  It needs the history of the log: what is overwritten or deleted later stays in its window.
    """
    _check_seconds(seconds)
    amount_of = _amounts(amount)
    group_of = None if by is None else _grouping(by)

    def fold(change: Change, view: FoldState) -> Iterator[Pair]:
        if change.kind == "delete":
            return
        group = None if group_of is None else group_of(change)
        brought = amount_of(change)
        if brought is None or (group_of is not None and group is None):
            return
        key = window_key(_EPOCH + timedelta(microseconds=change.time), seconds, group)
        total = _EXACT.add(Decimal(view.get(key, b"0").decode()), brought)
        yield key, format(total, "f").encode()

    fold.needs_history = True  # type: ignore[attr-defined]  # how a fold says it
    return fold


def window_key(time: datetime, seconds: int, group: bytes | None = None) -> bytes:
    """Return the key of the window that a time falls into: its beginning, as 2024-05-01T12:00:00Z."""
    _check_seconds(seconds)
    if time.tzinfo is None:
        raise InvalidArgument("a time must have a time zone, such as datetime.UTC")
    start = (time - _EPOCH) // timedelta(seconds=seconds) * seconds
    text = (_EPOCH + timedelta(seconds=start)).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    return text if group is None else text + b" " + group


def _check_seconds(seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < 1:
        raise InvalidArgument(f"a window has a whole number of seconds, 1 or more, not {seconds!r:.40}")


def _grouping(by: By | None) -> Callable[[Change], bytes | None]:
    """Return the function that tells a change's group."""
    if by is None:
        return lambda change: b""
    if isinstance(by, str):
        name = by
        return lambda change: _as_group(_field(change, name))
    if not callable(by):
        raise InvalidType(f"give the name of a field or a function of a change, not {type(by).__name__}")
    function = by

    def group_of(change: Change) -> bytes | None:
        group = function(change)
        if group is not None and not isinstance(group, bytes):
            raise InvalidType(f"a group must be bytes or None, not {type(group).__name__}")
        return group

    return group_of


def _amounts(amount: Amount) -> Callable[[Change], Decimal | None]:
    """Return the function that tells what a change brings."""
    if isinstance(amount, str):
        name = amount
        return lambda change: _as_amount(_field(change, name))
    if callable(amount):
        function = amount
        return lambda change: _as_amount(function(change))
    constant = _as_amount(amount)
    return lambda change: constant


def _field(change: Change, name: str) -> object:
    """Return a field of a JSON value; numbers keep their digits."""
    fields = json.loads(change.value or b"null", parse_float=Decimal)
    if not isinstance(fields, dict):
        raise InvalidArgument(f"the value of {change.key!r:.60} is no JSON object")
    return fields.get(name)


def _as_group(value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Decimal):
        return str(value).encode()
    return json.dumps(value, sort_keys=True, default=str).encode()


def _as_amount(value: object) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidType(f"an amount must be a number, not {type(value).__name__}")
    # By its shortest digits: 0.1 is a tenth.
    amount = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not amount.is_finite():
        raise InvalidArgument(f"an amount must be finite, not {amount}")
    return amount


def _record(change: Change) -> bytes:
    """Return what stands for a key of the store in notes, also where one view folds several keyspaces."""
    name = change.keyspace.encode()
    record = b"%c%b%b" % (len(name), name, change.key)
    if len(record) <= _RECORD_BYTES_MAX:
        return record
    return b"\x00" + hashlib.blake2b(record, digest_size=32).digest()  # no keyspace has an empty name
