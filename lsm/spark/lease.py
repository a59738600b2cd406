"""Moments of stores held for Spark, and let go: at the end of the application, or when it crashed.

Spark never says that a DataFrame is gone.  So a pin is kept as long as the driver's Java process lives and
reads come, and is removed by whoever comes first: the end of the process that made the session, the next
load of the same store, the next opening of it for writing.
"""

import atexit
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from lsm.errors import Error
from lsm.fs_pins import remove_pin
from lsm.pins import Moment, Pinned, pin

_REGISTER: Final = "LSM_SPARK_PINS"
"""Variable that tells Spark's processes where the process of the user looks for pins to release."""
_RENEW_SECONDS: Final = 60.0


class SnapshotGone(Error, LookupError):
    """What a load had pinned was given up, because nobody had read it for too long."""


def take(path: str, moment: Moment, *, seconds: float) -> Pinned:
    """Pin a moment of a store for the Spark application that this process works for."""
    pinned = pin(path, moment, seconds=seconds, owned_by="java")
    register = os.environ.get(_REGISTER)
    if register is not None:
        with suppress(OSError):  # it is released later then: by the next load, or the next opening
            (Path(register) / Path(pinned.directory).name).write_text(pinned.directory, encoding="utf-8")
    return pinned


class Use:
    """A read of a pin: says from time to time that it goes on."""

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned
        self._renewed = 0.0

    def renew(self) -> None:
        """Say that the pin is in use, unless that was said a moment ago; raise if it is gone."""
        now = time.monotonic()
        if now - self._renewed < _RENEW_SECONDS and self._renewed:
            return
        if not self._pinned.is_held():
            raise SnapshotGone(
                f"{self._pinned.store}: the snapshot of this load() was given up after a time without use; "
                "load() again, or set leaseSeconds"
            )
        self._renewed = now


def keep_register() -> None:
    """Have pins of the sessions made from here on written down, and released when this process ends."""
    if _REGISTER not in os.environ:
        os.environ[_REGISTER] = tempfile.mkdtemp(prefix="lsm-spark-")
        atexit.register(_end, os.environ[_REGISTER])


def release() -> int:
    """Release everything that loads have pinned; DataFrames made from them are read no more.

    Return how many there were.  It happens by itself when the process that called `session` ends.
    """
    register = os.environ.get(_REGISTER)
    return 0 if register is None else _release(Path(register))


def _release(register: Path) -> int:
    count = 0
    for note in register.iterdir():
        remove_pin(note.read_text(encoding="utf-8"))
        note.unlink()
        count += 1
    return count


def _end(register: str) -> None:
    with suppress(OSError):
        _release(Path(register))
        Path(register).rmdir()
