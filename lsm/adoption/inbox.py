"""The inbox: a store's writer takes over what others have left there, each job once, in one edit.

A job without a transaction of its own gets one from the writer: before the edit its file is named after a
number, and the edit says which number was the last.  So a crash in between leaves no doubt about what was
done.  Jobs are taken one at a time: a number is only given when the one before it is done or refused.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lsm.adoption.adopt import Adopted, Load, adopt
from lsm.adoption.job import DONE, JOB, Job, Outcome, parse_taken, read_note, taken_name, write_note
from lsm.arguments import HIDDEN_PREFIX
from lsm.errors import CorruptionError, Error, InvalidArgument, UnsupportedFormat
from lsm.filenames import INBOX
from lsm.fs_types import FileSystem
from lsm.spaces import create_space
from lsm.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.background import Background
    from lsm.commit_whole import StoreCommitter
    from lsm.state import State

logger = logging.getLogger("lsm")

COUNTER: Final = f"{HIDDEN_PREFIX}inbox"
"""The transaction of jobs that have none of their own."""
_OWN_TRANSACTION: Final = 0
_REFUSALS: Final = (InvalidArgument, CorruptionError, UnsupportedFormat)


@dataclass(frozen=True, slots=True)
class _Found:
    """A job that waits, in its open directory."""

    name: str
    directory: FileSystem
    number: int | None
    """What it was taken under, None if it was not."""


def adopt_inbox(state: "State", committer: "StoreCommitter", background: "Background") -> int:
    """Take over every job that waits in the inbox; return how many there were.

    What cannot be taken over is refused and answered; other errors leave a job for the next time.
    """
    count = 0
    while True:
        # Looked at anew after each: the last may have taken long.
        with suppress(FileNotFoundError):
            inbox = state.fs.subdirectory(INBOX)
            try:
                found = _next_job(inbox)
                if found is not None:
                    try:
                        _carry_out(state, committer, background, found)
                    finally:
                        found.directory.close()
                    count += 1
                    continue
            finally:
                inbox.close()
        return count


def _next_job(inbox: FileSystem) -> _Found | None:
    """Return the job to do next, its directory open: one that was taken before any other."""
    waiting: _Found | None = None
    for found in _jobs(inbox):
        if found.number is not None or waiting is None:
            if waiting is not None:
                waiting.directory.close()
            waiting = found
        else:
            found.directory.close()
        if found.number is not None:
            break
    return waiting


def _jobs(inbox: FileSystem) -> "Iterator[_Found]":
    for name in inbox.list():
        try:
            directory = inbox.subdirectory(name)
        except OSError:
            continue  # gone meanwhile, or no directory: not ours
        names = directory.list()
        numbers = [number for entry in names if (number := parse_taken(entry)) is not None]
        if DONE not in names and (numbers or JOB in names):
            yield _Found(name, directory, numbers[0] if numbers else None)
        else:
            directory.close()


def _carry_out(state: "State", committer: "StoreCommitter", background: "Background", found: _Found) -> None:
    directory, number = found.directory, found.number
    try:
        job = Job.decode(read_note(directory, JOB if number is None else taken_name(number)))
        if number is None:
            number = _take(directory, job, state.version)
        outcome = _adopted(state, committer, background, directory, job, number)
    except _REFUSALS as error:
        logger.warning("%s: job %s was refused: %s", state.fs.name, found.name, error)
        outcome = Outcome(error=f"{type(error).__name__}: {_message(error)}")
    else:
        background.jobs.counters.loads += outcome.is_new
    _answer(directory, outcome)


def _message(error: Error) -> str:
    # Errors of the operating system print their number first, which says nothing here.
    return str(error.strerror if isinstance(error, OSError) and error.strerror else error)


def _take(directory: FileSystem, job: Job, version: Version) -> int:
    """Keep others from taking a job back, and give it its number, durably."""
    number = _OWN_TRANSACTION
    if job.transaction is None:
        number = version.transactions.get(COUNTER, 0) + 1
    directory.rename(JOB, taken_name(number))
    directory.sync_dir()
    return number


def _adopted(
    state: "State",
    committer: "StoreCommitter",
    background: "Background",
    directory: FileSystem,
    job: Job,
    number: int,
) -> Outcome:
    if job.store_id != state.version.store_id.hex():
        raise InvalidArgument("the job is for another store")
    state.check_leads()
    transaction = job.transaction or (COUNTER, number)
    load = Load(
        source=directory,
        names=job.names,
        keyspace=create_space(state, job.keyspace).id,
        replaces=job.replaces,
        transaction=transaction,
    )
    try:
        adopted = adopt(state, committer, background, load)
    except FileNotFoundError as error:
        raise InvalidArgument(f"a table of the job is missing: {error.filename}") from error
    return _outcome(adopted, job)


def _outcome(adopted: Adopted, job: Job) -> Outcome:
    # Of a job without a transaction of its own, what "was there before" is what we did before a crash.
    return Outcome(
        first_seq=adopted.first_seq,
        last_seq=adopted.last_seq,
        is_new=adopted.is_new or job.transaction is None,
    )


def _answer(directory: FileSystem, outcome: Outcome) -> None:
    """Say what became of a job, then let its files go: the store has names of its own for them."""
    write_note(directory, DONE, outcome.encode())
    for name in directory.list():
        if name != DONE and (name.endswith(".sst") or name == JOB or parse_taken(name) is not None):
            with suppress(OSError):  # whoever asked may be removing them too
                directory.unlink(name)
