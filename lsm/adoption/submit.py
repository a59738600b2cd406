"""Handing staged tables to whoever may write a store: its live writer, or else this process.

The job goes into the inbox first, in either case.  From then on it is durable: whoever opens the store for
writing takes it over, also if this process is killed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lsm.adoption.job import DONE, JOB, WITHDRAWN, Job, Outcome, leave, read_note
from lsm.clock import SystemClock
from lsm.errors import Error, LockedError, StoreNotFound, typed_errors
from lsm.opening import open_store
from lsm.state import refusal_of_copy

if TYPE_CHECKING:
    from lsm.fs_types import FileSystem
    from lsm.options import Options

_POLL_SECONDS: Final = 0.02
_LOCK_SECONDS: Final = 0.25


class LoadRefused(Error, ValueError):
    """The writer of a store has refused a load; nothing of it is there."""


class LoadTimeout(Error, TimeoutError):
    """The writer of a store has not taken a load over in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What has to be known of a store to write tables for it."""

    path: str
    store_id: bytes
    options: Options
    transactions: dict[str, int]


def look_at(path: str) -> Target:
    """Return what there is to know of the store at `path`; it is made if there is none."""
    try:
        db = open_store(path, "r")
    except StoreNotFound:
        with suppress(LockedError):  # another one was faster
            open_store(path, "c").close()
        db = open_store(path, "r")
    with db:
        version = db._state.version
        if version.follows:
            raise refusal_of_copy(path)
        return Target(
            path=path,
            store_id=version.store_id,
            options=db.options,
            transactions=dict(version.transactions),
        )


def hand_over(path: str, directory: FileSystem, job: Job, *, timeout: float) -> Outcome:
    """Have a job carried out whose tables are in `directory`; return what became of it.

    After so many seconds without a writer that takes it, it is taken back.
    """
    clock = SystemClock()
    with typed_errors(path, "handing a load over"):
        leave(directory, job)
        deadline, next_try, holder = clock.monotonic() + timeout, 0.0, ""
        is_taken = False
        while (outcome := _answer(directory)) is None:
            now = clock.monotonic()
            if now >= next_try:
                holder = _adopt_here(path)
                next_try = clock.monotonic() + _LOCK_SECONDS
                continue
            if now >= deadline:
                if is_taken or _take_back(directory):
                    raise LoadTimeout(_too_late(path, holder, timeout, is_taken=is_taken))
                is_taken, deadline = True, now + timeout
            clock.sleep(_POLL_SECONDS)
    if outcome.error:
        raise LoadRefused(f"{path}: the load was refused, {outcome.error}")
    return outcome


def _adopt_here(path: str) -> str:
    """Take over what is in the inbox, if nobody else has the store; return who has."""
    try:
        open_store(path, "w").close()  # opening does it
    except LockedError as error:
        return error.holder
    return ""


def _answer(directory: FileSystem) -> Outcome | None:
    try:
        return Outcome.decode(read_note(directory, DONE))
    except FileNotFoundError:
        return None


def _take_back(directory: FileSystem) -> bool:
    """Take a job back; False if a writer was faster."""
    try:
        directory.rename(JOB, WITHDRAWN)
    except FileNotFoundError:
        return False
    directory.sync_dir()
    return True


def _too_late(path: str, holder: str, timeout: float, *, is_taken: bool) -> str:
    who = f"is open for writing by {holder or 'another process'}, which"
    if is_taken:
        return (
            f"{path} {who} has begun to take the load over but was not done in {timeout:g} s: it may still "
            "come; repeat it with txnAppId and txnVersion, or a larger adoptTimeout"
        )
    return (
        f"{path} {who} did not take the load over in {timeout:g} s, so nothing was loaded: a store with "
        "background=manual does it in step(); adoptTimeout lets a load wait longer"
    )
