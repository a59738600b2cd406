"""Following, shipping and promoting as users call them, with paths."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from lsm.clock import Clock, SystemClock
from lsm.db import DB
from lsm.errors import FollowerError, NotAStore, StorageError, StoreNotFound, typed_errors
from lsm.follower.apply import Applier
from lsm.follower.copy import Copy
from lsm.follower.follower import Follower, follow_on
from lsm.follower.frames import FrameReader, Readable
from lsm.follower.pin import SourcePin
from lsm.follower.ship import Shipper, Writable
from lsm.follower.source import SourceLog
from lsm.fs import OsFileSystem, open_directory
from lsm.opening import open_store, take_lock
from lsm.recovery import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lsm.fs_types import FileSystem
    from lsm.options import OptionValue

    Path = str | os.PathLike[str]
    Progress = Callable[[int, int], None]


def follow(
    source: Path,
    target: Path,
    *,
    background: bool = False,
    bootstrap_again: bool = False,
    consumer: str | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> Follower:
    """Keep a copy at `target` in step with the store at `source`, which may be open elsewhere, or closed.

    The copy is made if there is none: of links where both are on one disk.  It has the same store id,
    sequence numbers, times and keyspaces, and takes no writes until it is promoted.  With `background` a
    thread keeps it in step; else `catch_up` does.  Where the source no longer has what the copy needs next,
    OffsetOutOfRange is raised, or with `bootstrap_again` the copy is made anew.  A `consumer` of that name at
    the source makes it keep the log until the copy has it, also while nobody follows; it needs the right to
    write into the source's directory.
    """
    theirs, pin = _directory(source), None
    try:
        if consumer is not None:
            pin = SourcePin(open_store(source, "r"), consumer)
        ours = _directory(target, create=True)
    except BaseException:
        theirs.close()
        if pin is not None:
            pin.close()
        raise
    with typed_errors(ours.name, "following"):
        return follow_on(
            theirs,
            ours,
            clock=SystemClock(),
            background=background,
            bootstrap_again=bootstrap_again,
            options=options,
            pin=pin,
        )


def ship(
    source: DB | Path,
    out: BinaryIO,
    *,
    since: int | None = None,
    follow: bool = False,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> int:
    """Write the log of a store after `since` to a stream that `apply` reads; return how far it went.

    Without `since` it begins at the beginning, if need be with a snapshot of the tables.  It ends with what
    is durable at the call; with `follow` it goes on for ever, or until nothing comes for `timeout` seconds.
    Where nobody reads the stream any more, BrokenPipeError comes out as it is.
    """
    if isinstance(source, DB):
        source._check_open()
    fs = source._state.fs if isinstance(source, DB) else _directory(source)
    try:
        with typed_errors(fs.name, "shipping"):
            return ship_on(fs, out, since, follow=follow, timeout=timeout, progress=progress)
    except StorageError as error:
        if isinstance(error.__cause__, ConnectionError):
            raise error.__cause__ from None
        raise
    finally:
        if not isinstance(source, DB):
            fs.close()


def ship_on(
    fs: FileSystem,
    out: Writable,
    since: int | None = None,
    *,
    follow: bool = False,
    timeout: float | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> int:
    """Write the log of the store in an open directory to a stream."""
    source = SourceLog(fs, clock or SystemClock())
    try:
        shipper = Shipper(source, out, progress)
        shipper.send_log(shipper.begin(since), follow=follow, timeout=timeout)
        return shipper.seq
    finally:
        source.close()


def apply(
    inp: BinaryIO,
    target: Path,
    *,
    bootstrap_again: bool = False,
    options: Mapping[str, OptionValue] | None = None,
    progress: Progress | None = None,
) -> int:
    """Take a stream of `ship` into the copy at `target`, made if there is none; return where that stands.

    What the copy has already is compared and passed over.  What comes before an error is taken.
    """
    fs = _directory(target, create=True)
    with typed_errors(fs.name, "taking a shipped log"):
        return apply_on(inp, fs, bootstrap_again=bootstrap_again, options=options, progress=progress)


def apply_on(
    inp: Readable,
    fs: FileSystem,
    *,
    bootstrap_again: bool = False,
    options: Mapping[str, OptionValue] | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> int:
    """Take a stream into the copy in an open directory, and close that."""
    try:
        lock = take_lock(fs)
    except BaseException:
        fs.close()
        raise
    applier = Applier(
        fs,
        lock,
        clock or SystemClock(),
        bootstrap_again=bootstrap_again,
        options=options or {},
        progress=progress,
    )
    try:
        return applier.run(FrameReader(inp, str(getattr(inp, "name", "stream"))))
    finally:
        try:
            applier.close()
        finally:
            lock.release()
            fs.close()


def promote(path: Path, **options: OptionValue) -> DB:
    """Let the copy at `path` write, in an epoch of its own; return it, open.

    Records of older epochs are refused from then on: make sure that nobody writes to the source any more.
    """
    db = open_store(path, "w", **options)
    try:
        if not db._state.version.follows:
            raise FollowerError(f"{db.path} follows nobody: it writes, in epoch {db._state.version.epoch}")
        Copy(db).promote()
    except BaseException:
        db.close()
        raise
    return db


def _directory(path: Path, *, create: bool = False) -> OsFileSystem:
    name = os.fspath(path)
    try:
        return open_directory(name, create=create, read_only=not create)
    except FileNotFoundError as error:
        if create:
            raise StoreNotFound(
                error.errno, f"the directory that {name} would be made in does not exist"
            ) from error
        raise missing(name) from error
    except NotADirectoryError as error:
        raise NotAStore(f"{name} is not a directory; a store is one") from error
    except OSError as error:
        with typed_errors(name, "opening the store"):
            raise error from None
