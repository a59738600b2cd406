"""Making a copy: the files of a store in another directory, put in force with the last step.

Until then the directory holds the file BOOTSTRAP and no CURRENT, so that half a copy can never pass for a
store; whoever finds it so starts over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lsm.errors import TableCorrupt
from lsm.filenames import BOOTSTRAP, CURRENT, CURRENT_TEMPORARY, parse, segment_name, table_name
from lsm.fs_types import Cause
from lsm.manifest import Manifest
from lsm.recovery import holds_store
from lsm.version import VersionEdit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lsm.clock import Clock
    from lsm.follower.source import SourceLog
    from lsm.fs_types import FileSystem
    from lsm.version import Version

_TRIES = 100


def holds_copy(target: FileSystem) -> bool:
    """Tell whether a whole store is here; half a copy is none."""
    names = target.list()
    if BOOTSTRAP in names:
        if CURRENT not in names:
            return False
        target.unlink(BOOTSTRAP)  # left over: the copy is in force
    return holds_store(target)


def begin(target: FileSystem) -> None:
    """Empty a directory for a new copy, durably; a store that was in it is gone from the second step on."""
    if BOOTSTRAP not in target.list():
        target.create(BOOTSTRAP, Cause.CHECKPOINT).close()
        target.sync_dir(Cause.CHECKPOINT)
    if CURRENT in target.list():
        target.unlink(CURRENT)
        target.sync_dir(Cause.CHECKPOINT)
    keep_only(target, ())


def keep_only(target: FileSystem, kept: Iterable[str]) -> None:
    """Remove all numbered files but some."""
    for name in {*target.list()} - {*kept}:
        if name == CURRENT_TEMPORARY or parse(name) is not None:
            target.unlink(name)


def finish(target: FileSystem, clock: Clock, version: Version) -> None:
    """Put a copy in force whose files are all there and durable by content.

    Their names become durable with the name of the manifest, before that is in force.
    """
    number = version.next_number
    copy = replace(version, follows=True, is_closed=False, next_number=number + 1)
    Manifest(target, clock, copy, number).close(VersionEdit(is_closed=True))
    with suppress(OSError):  # it says nothing beside CURRENT, and is removed when the copy is next opened
        target.unlink(BOOTSTRAP)


def bootstrap(source: SourceLog, target: FileSystem, clock: Clock) -> None:
    """Make a copy of a store in a directory, by links where that is possible, while it is being written.

    What the log holds is taken as far as its segments are finished; the rest is shipped.
    """
    begin(target)
    for _ in range(_TRIES):
        source.refresh()
        seen = source.version
        version = replace(seen, segments=tuple(meta for meta in seen.segments if meta.last_seq is not None))
        try:
            _link(source.fs, version, target)
        except FileNotFoundError:
            source.refuse_if_unchanged(seen)
            continue
        keep_only(target, _files(version))
        finish(target, clock, version)
        return
    raise TableCorrupt(source.fs.name, "files are removed faster than they can be linked")


def _files(version: Version) -> list[str]:
    """Return the names of the files that a version of finished segments consists of."""
    return [
        *(table_name(number) for number in version.all_tables()),
        *(segment_name(meta.number) for meta in version.segments if not meta.tables),
    ]


def _link(source: FileSystem, version: Version, target: FileSystem) -> None:
    there = {*target.list()}
    for name in _files(version):
        if name not in there:  # an earlier try may have linked it
            source.link(name, target)
