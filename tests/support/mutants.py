"""Mutants: file systems that leave out chosen syncs, to prove that a test would notice.

A sync is known by the line of the product that asks for it, so the list of mutants comes from the
log of a sound run (`OpLog.sites`), and a new sync without a test that needs it shows up by itself.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import lsm.fs
import lsm.fs_files
import lsm.fs_types
from tests.support.oplog import Site

_OWN_FILES = {
    str(Path(__file__)),
    str(Path(__file__).with_name("memfs.py")),
    str(Path(__file__).with_name("faultfs.py")),
    *(module.__file__ for module in (lsm.fs, lsm.fs_files, lsm.fs_types)),
}


@dataclass(frozen=True, slots=True)
class SyncCall:
    """One request for a sync: what a mutant decides on."""

    kind: str  # "sync" or "sync_dir"
    name: str  # of the file when it was opened, or of the directory
    site: Site
    number: int  # of the call on this disk, from 0


SyncPredicate = Callable[[SyncCall], bool]


def nth_sync(number: int) -> SyncPredicate:
    """Skip the n-th sync of all, counted from 0."""
    return lambda call: call.number == number


def syncs_of(pattern: str, kind: str = "sync") -> SyncPredicate:
    """Skip syncs of files (or directories) whose name matches a shell pattern."""
    return lambda call: call.kind == kind and fnmatchcase(call.name, pattern)


def syncs_at(site: Site) -> SyncPredicate:
    """Skip every sync that one line asks for."""
    return lambda call: call.site == site


def calling_site() -> Site:
    """Return the line that called into a file system."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in _OWN_FILES and frame.f_back is not None:
        frame = frame.f_back
    return Site(f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}", frame.f_lineno)
