"""Opening a store: which flag does what, and who may."""

import os
import socket
from collections.abc import Mapping
from typing import Literal, TypeAlias

from lsm.clock import Clock, Entropy, SystemClock, system_entropy
from lsm.consumers import tidy_consumers
from lsm.db import DB
from lsm.errors import InvalidArgument, InvalidType, LockedError, NotAStore, StoreNotFound, typed_errors
from lsm.filenames import CURRENT, LOCK, is_ours
from lsm.fs import open_directory
from lsm.fs_inbox import sweep_jobs
from lsm.fs_pins import sweep_pins
from lsm.fs_types import FileSystem, Lock, LockHeld
from lsm.options import Options, OptionValue
from lsm.reader import LiveReader
from lsm.recovery import create_store, holds_store, missing, recover

Flag: TypeAlias = Literal["c", "r", "w", "n"]


def open_store(path: str | os.PathLike[str], flag: Flag = "c", **options: OptionValue) -> DB:
    """Open the store in the directory `path`.

    The flag is as for dbm: "c" opens, making a store if there is none; "w" opens one that is there; "n"
    makes a new, empty one; "r" only reads, beside a writer or without one, and makes no file.  Options are
    those of `lsm.Options`; they are kept with the store, and the ones given here replace the kept ones.
    """
    if flag not in ("c", "r", "w", "n"):
        raise InvalidArgument(f'flag must be "c", "r", "w" or "n", not {flag!r}')
    if not isinstance(path, str | os.PathLike):
        raise InvalidType(f"a path is text or path-like, not {type(path).__name__}")
    name = os.fspath(path)
    Options().with_changes(options)  # a wrong option is refused before anything is made
    try:
        fs = open_directory(name, create=flag in ("c", "n"), read_only=flag == "r")
    except FileNotFoundError as error:
        if flag in ("c", "n"):
            raise StoreNotFound(
                error.errno, f"the directory that {name} would be made in does not exist"
            ) from error
        raise missing(name) from error
    except NotADirectoryError as error:
        raise NotAStore(f"{name} is not a directory; a store is one") from error
    except OSError as error:
        with typed_errors(name, "opening the store"):
            raise error from None
    db = open_on(fs, flag, options)
    if flag != "r":
        sweep_pins(name)
        sweep_jobs(name)
    return db


def open_on(
    fs: FileSystem,
    flag: Flag = "c",
    options: Mapping[str, OptionValue] | None = None,
    *,
    clock: Clock | None = None,
    entropy: Entropy = system_entropy,
) -> DB:
    """Open the store in a directory that is already open."""
    clock = clock or SystemClock()
    changes = dict(options or {})
    lock: Lock | None = None
    try:
        if flag == "r":
            return _open_reader(fs, clock, changes)
        _check_directory(fs, flag)  # before the lock: what is refused stays untouched
        lock = take_lock(fs)
        if flag == "n" or not holds_store(fs):
            create_store(fs, clock, entropy, Options().with_changes(changes))
        return open_locked(fs, lock, clock, changes)
    except OSError as error:
        _let_go(fs, lock)
        with typed_errors(fs.name, "opening the store"):
            raise error from None
    except BaseException:
        _let_go(fs, lock)
        raise


def open_locked(fs: FileSystem, lock: Lock, clock: Clock, changes: Mapping[str, OptionValue]) -> DB:
    """Open a store for writing, whose lock the caller has taken and hands over."""
    opened = recover(fs, clock, changes)
    db = DB(opened.state, lock, opened, None)
    try:
        tidy_consumers(opened.state)
        db._look_into_inbox()
    except BaseException:
        db.close()
        raise
    return db


def _let_go(fs: FileSystem, lock: Lock | None) -> None:
    if lock is not None:
        lock.release()
    fs.close()


def _open_reader(fs: FileSystem, clock: Clock, changes: dict[str, OptionValue]) -> DB:
    if not holds_store(fs):
        raise missing(fs.name)
    reader = LiveReader(fs, clock, changes)
    return DB(reader.open(), None, None, reader)


def take_lock(fs: FileSystem) -> Lock:
    """Take the right to write here, or raise LockedError at once."""
    try:
        return fs.lock(LOCK, f"pid {os.getpid()} on {socket.gethostname()}")
    except LockHeld as error:
        raise LockedError(fs.name, error.holder) from error


def _check_directory(fs: FileSystem, flag: Flag) -> None:
    """Raise if the flag does not go with what is here."""
    if flag != "n":
        if not holds_store(fs) and flag == "w":
            raise missing(fs.name)
        return
    names = fs.list()
    foreign = [name for name in names if not is_ours(name)]
    if foreign and CURRENT not in names:
        raise NotAStore(
            f"{fs.name} holds other files (such as {foreign[0]!r:.60}); choose an empty directory"
        )
