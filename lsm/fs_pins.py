"""Directories of pins: made inside a store by its readers, removed by anybody.  Part of the door.

A pin is a directory of links to a store's files.  Its lease says which process it is for; the time of the
lease's last change is when it was last used.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from typing import Final, NamedTuple

from lsm.filenames import PINS
from lsm.fs import OsFileSystem, open_directory

LEASE: Final = "LEASE"
_LEASE_BYTES_MAX: Final = 4096
_UNFINISHED_SECONDS: Final = 60.0
_CANNOT_WRITE: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


class Owner(NamedTuple):
    """A process, told apart from others that get its number later; pid 0 is nobody known."""

    host: str
    pid: int
    started: str


class Lease(NamedTuple):
    """For whom a pin is, and after how long without use anybody may remove it."""

    owner: Owner
    seconds: float


def make_pin(store: str, name: str, lease: Lease) -> OsFileSystem | None:
    """Make an empty pin with its lease; None where the store's directory cannot be written."""
    directory = os.path.join(store, PINS, name)
    try:
        with suppress(FileExistsError):
            os.mkdir(os.path.join(store, PINS), 0o700)
        os.mkdir(directory, 0o700)
    except OSError as error:
        if error.errno in _CANNOT_WRITE:
            return None
        raise
    return leased(directory, lease)


def make_loose_pin(lease: Lease) -> OsFileSystem:
    """Make a pin outside of any store: a place for what belongs to one whose directory cannot be written."""
    return leased(tempfile.mkdtemp(prefix="lsm-pin-"), lease)


def leased(directory: str, lease: Lease) -> OsFileSystem:
    """Put a lease into a new directory, and open it."""
    # The lease first: a pin without one is a leftover.
    with open(os.path.join(directory, LEASE), "x", encoding="utf-8") as file:
        json.dump({"owner": lease.owner, "seconds": lease.seconds}, file)
    return open_directory(directory, create=False, read_only=False)


def renew(directory: str) -> bool:
    """Say that a pin is in use; False if it is gone."""
    try:
        os.utime(os.path.join(directory, LEASE))
    except FileNotFoundError:
        return False
    return True


def pin_name(store: str, directory: str) -> str:
    """Return what to remember of where a pin is: inside its store, its name is enough."""
    parent, name = os.path.split(directory)
    return name if parent == os.path.join(store, PINS) else directory


def pin_directory(store: str, name: str) -> str:
    """Inverse of pin_name."""
    return os.path.join(store, PINS, name)  # a name that is a whole path stays one


def remove_pin(directory: str) -> None:
    """Remove a pin with all its links, and the directory of pins if it was the last."""
    shutil.rmtree(directory, ignore_errors=True)
    parent = os.path.dirname(directory)
    if os.path.basename(parent) == PINS:
        with suppress(OSError):  # others are there
            os.rmdir(parent)


def sweep_pins(store: str) -> int:
    """Remove the pins of a store whose owner is gone or whose time is over; return how many."""
    try:
        names = os.listdir(os.path.join(store, PINS))
    except OSError:
        return 0
    swept = 0
    for name in names:
        directory = os.path.join(store, PINS, name)
        if is_over(directory):
            remove_pin(directory)
            swept += 1
    return swept


def is_over(directory: str) -> bool:
    """Tell whether nobody needs a directory with a lease any more."""
    path = os.path.join(directory, LEASE)
    try:
        idle = time.time() - os.stat(path).st_mtime
        with open(path, "rb") as file:
            fields = json.loads(file.read(_LEASE_BYTES_MAX))
        host, pid, started = fields["owner"]
        lease = Lease(Owner(str(host), int(pid), str(started)), float(fields["seconds"]))
    except FileNotFoundError:
        return _age(directory) > _UNFINISHED_SECONDS
    except (OSError, ValueError, TypeError, KeyError):
        return _age(directory) > _UNFINISHED_SECONDS  # being written, or never finished
    return idle > lease.seconds or is_gone(lease.owner)


def _age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0


def owner(name: str | None = None) -> Owner:
    """Return this process, or the nearest of its ancestors whose program is called `name`; "" is nobody."""
    pid = os.getpid() if name != "" else 0
    if name is not None:
        while pid > 1 and _program(pid) != name:
            pid = _parent(pid)
        pid = 0 if pid <= 1 else pid
    return Owner(_host(), pid, _started(pid))


def is_gone(process: Owner) -> bool:
    """Tell whether a process is known to have ended: on this host, and its number is free or another's."""
    if process.pid <= 0 or not process.started or process.host != _host():
        return False
    return _started(process.pid) != process.started


def _host() -> str:
    """Name what process numbers are counted in: the host, and in a container its own space of them."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {space}".strip()


def _stat(pid: int) -> tuple[str, list[str]]:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            head, _, tail = file.read().rpartition(")")
    except OSError:
        return "", []
    return head.partition("(")[2], tail.split()


def _program(pid: int) -> str:
    return _stat(pid)[0]


def _parent(pid: int) -> int:
    fields = _stat(pid)[1]
    return int(fields[1]) if len(fields) > 1 else 0


def _started(pid: int) -> str:
    fields = _stat(pid)[1] if pid > 0 else []
    return fields[19] if len(fields) > 19 and fields[0] != "Z" else ""
