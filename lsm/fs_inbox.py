"""Directories of jobs in a store's inbox: made by whoever loads, removed by anybody.  Part of the door.

A job's directory is made by the process that leads it, and only by that one: when it gives up and removes
the directory, helpers that are still at work find no place to write to.  It has a lease, as pins do.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import Final

from lsm.adoption.job import DONE, JOB, parse_taken
from lsm.filenames import INBOX
from lsm.fs import OsFileSystem, open_directory
from lsm.fs_pins import Lease, is_over, leased, owner

STAGING_SECONDS: Final = 24 * 3600.0
"""After so long without a sign a job is a leftover; one of this host is when its process is gone."""
_TRIES: Final = 100


def make_job(store: str, name: str, *, owned_by: str | None = None) -> OsFileSystem:
    """Make the directory of a new job, for this process or an ancestor called `owned_by`."""
    inbox = os.path.join(store, INBOX)
    directory = os.path.join(inbox, name)
    for attempt in range(_TRIES):
        with suppress(FileExistsError):
            os.mkdir(inbox, 0o700)
        try:
            os.mkdir(directory, 0o700)
            break
        except FileNotFoundError:  # somebody found the inbox empty, and removed it
            if attempt == _TRIES - 1:
                raise
    made = leased(directory, Lease(owner(owned_by), STAGING_SECONDS))
    for parent in (inbox, store):
        _sync(parent)
    return made


def remove_job(directory: str) -> None:
    """Remove the directory of a job with all that is in it, and the inbox if it was the last."""
    shutil.rmtree(directory, ignore_errors=True)
    with suppress(OSError):  # others are there
        os.rmdir(os.path.dirname(directory))


def give_up(store: str, prefix: str) -> None:
    """Remove the jobs whose names begin so, unless they were handed over: then they are the writer's."""
    for directory in _directories(store):
        if os.path.basename(directory).startswith(prefix) and not _is_handed_over(directory):
            remove_job(directory)


def sweep_jobs(store: str) -> int:
    """Remove what jobs have left whose process is gone; return how many."""
    swept = 0
    for directory in _directories(store):
        if not _is_handed_over(directory) and is_over(directory):
            remove_job(directory)
            swept += 1
    return swept


def _directories(store: str) -> list[str]:
    inbox = os.path.join(store, INBOX)
    try:
        return [os.path.join(inbox, name) for name in os.listdir(inbox)]
    except OSError:
        return []


def _is_handed_over(directory: str) -> bool:
    """Tell whether a job waits for a writer, or a writer is at it."""
    try:
        names = os.listdir(directory)
    except OSError:
        return False
    waits = JOB in names or any(parse_taken(name) is not None for name in names)
    return waits and DONE not in names


def _sync(path: str) -> None:
    directory = open_directory(path, create=False, read_only=True)
    try:
        directory.sync_dir()
    finally:
        directory.close()
