"""Waiting for a file to be written by another process: by inotify, or by a look now and then."""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lsm.fs_types import Watch

_LOOK_SECONDS: Final = 0.02
_IN_MODIFY: Final = 0x2
_EVENTS_BYTES: Final = 4096


class PollingWatch:
    """Sees nothing, so it only lets a little time pass."""

    def wait(self, seconds: float) -> None:
        """Return after a moment."""
        time.sleep(min(seconds, _LOOK_SECONDS))

    def close(self) -> None:
        """Nothing is held."""


class InotifyWatch:
    """Wakes up when the file is written."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Return when the file was written since the last call, or after so long."""
        if self._poll.poll(max(0.0, seconds) * 1000):
            os.read(self._fd, _EVENTS_BYTES)  # all of one file, so one is as good as many

    def close(self) -> None:
        """Give the handle back; the second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        """Close a watch that was forgotten."""
        self.close()


def watch_file(directory: int, name: str) -> Watch:
    """Watch a file of an open directory."""
    if not sys.platform.startswith("linux"):
        return PollingWatch()
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if fd < 0:
        return PollingWatch()  # out of watches, which are few on some machines
    if libc.inotify_add_watch(fd, os.fsencode(f"/proc/self/fd/{directory}/{name}"), _IN_MODIFY) < 0:
        os.close(fd)
        return PollingWatch()
    return InotifyWatch(fd)
