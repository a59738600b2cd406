"""A copy kept in step with a store whose directory can be read: live, closed, copied or a checkpoint."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from lsm.errors import ClosedError, Error, FollowerError, OffsetOutOfRange, StorageError, typed_errors
from lsm.filenames import BOOTSTRAP
from lsm.follower.bootstrap import bootstrap, holds_copy
from lsm.follower.copy import GROUP_BYTES_MAX, Copy
from lsm.follower.meeting import meet
from lsm.follower.messages import Books, books_of
from lsm.follower.source import SourceLog
from lsm.fs_types import Cause
from lsm.log.cursor import LogCursor
from lsm.log.offsets import latest
from lsm.log.source import SETTLE_SECONDS
from lsm.opening import open_locked, take_lock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from lsm.clock import Clock
    from lsm.db import DB
    from lsm.follower.pin import SourcePin
    from lsm.fs_types import FileSystem, Lock
    from lsm.options import OptionValue
    from lsm.version import Epoch

logger = logging.getLogger("lsm")

_RETRY_SECONDS = 1.0


class Follower:
    """Keeps a copy in step with its source.  Made by `lsm.follow`; a context manager.

    `db` is the copy, open for reading.  Without `background` the copy moves when `catch_up` is called.
    """

    def __init__(self, source: SourceLog, db: DB, *, background: bool, pin: SourcePin | None = None) -> None:
        """Take up following; users call `lsm.follow`."""
        self.db = db
        self.error: Error | None = None
        """Why the background gave up, if it did."""
        self._source = source
        self._pin = pin
        self._copy = Copy(db)
        self._cursor = LogCursor(source, self._copy.seq, piece_bytes=GROUP_BYTES_MAX)
        self._known: tuple[tuple[Epoch, ...], Books] | None = None
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._copy.adopt(source.version, source.fs.name)
        if pin is not None:
            pin.move(self._copy.seq)
        if background:
            self._thread = threading.Thread(target=self._run, name="lsm-follow", daemon=True)
            self._thread.start()

    @property
    def seq(self) -> int:
        """The last sequence number that the copy holds, durably."""
        self._check_open()
        return self._copy.seq

    @property
    def lag(self) -> int:
        """How many sequence numbers the source is ahead now."""
        self._check_open()
        with self._lock, self._typed():
            return max(0, latest(self._source) - self._copy.seq)

    def catch_up(self, timeout: float | None = None) -> int:
        """Take everything that the source held durably at the call; return where the copy stands then.

        After `timeout` seconds it ends where it is.
        """
        self._check_open()
        if self.error is not None:
            raise self.error
        clock = self._source.clock
        started = clock.monotonic()
        with self._lock, self._typed():
            goal = latest(self._source)
            self._step()  # also when there is nothing to take: keyspaces may have changed
            while self._copy.seq < goal and (timeout is None or clock.monotonic() - started < timeout):
                if not self._step():
                    goal = latest(self._source)
            if self._pin is not None:
                self._pin.move(self._copy.seq)
            return self._copy.seq

    def promote(self) -> DB:
        """Let the copy write, in an epoch of its own, and follow nobody any more; return it, open.

        It stands where it stands: `catch_up` first, if the source is still there.  From now on the records
        of older epochs are refused, so make sure that nobody writes to the source any more.
        """
        self._check_open()
        self._stop()
        with self._lock:
            self._copy.promote()
            self._is_closed = True
        return self.db

    def close(self) -> None:
        """Stop following and close the copy; the second call does nothing."""
        if not self._is_closed:
            self._stop()
            self._is_closed = True
            self.db.close()

    def _stop(self) -> None:
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            self._cursor.close()
            self._source.close()
            self._source.fs.close()
            if self._pin is not None:
                self._pin.close()

    def _step(self) -> bool:
        """Take the next records; False if there are none for now."""
        piece = self._cursor.next_piece()
        # The manifest is looked at after the log: it knows every keyspace that the records write to.
        self._source.refresh()
        self._take_manifest()
        if piece is None:
            return False
        for records in self._source.shipped(piece):
            self._copy.take(records, self._source.fs.name)
        if self._pin is not None:
            self._pin.move_if_due(self._copy.seq)
        return True

    def _take_manifest(self) -> None:
        version = self._source.version
        books = books_of(version)
        known = self._known
        if known is not None and known[0] == version.epochs and books.says_the_same(known[1]):
            return
        self._copy.adopt(version, self._source.fs.name)
        self._copy.set_books(books)
        self._known = (version.epochs, books)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._typed():
                    with self._lock:
                        worked = self._step()
                    if not worked:
                        self._wait()
            except StorageError as error:
                logger.warning("following %s: %s; trying again", self._source.fs.name, error)
                self._stopping.wait(_RETRY_SECONDS)
            except Error as error:
                if not self._stopping.is_set():
                    logger.exception("%s no longer follows %s", self.db.path, self._source.fs.name)
                    self.error = error
                return

    def _wait(self) -> None:
        """Wait for more; what nobody has made durable after a while is made so from here."""
        seq = self._copy.seq
        self._source.wait(SETTLE_SECONDS)
        with self._lock:
            if not self._stopping.is_set() and self._copy.seq == seq and not self._step():
                self._source.settle()

    def _typed(self) -> AbstractContextManager[None]:
        return typed_errors(self._source.fs.name, "following")

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("this follower was closed, or its copy promoted")

    def __enter__(self) -> Follower:
        """Return the follower."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop following and close the copy."""
        self.close()

    def __repr__(self) -> str:
        """Say what follows what."""
        return f"<lsm.Follower of {self._source.fs.name!r}, {self.db!r}>"


def follow_on(
    source: FileSystem,
    target: FileSystem,
    *,
    clock: Clock,
    background: bool = False,
    bootstrap_again: bool = False,
    options: Mapping[str, OptionValue] | None = None,
    pin: SourcePin | None = None,
) -> Follower:
    """Follow the store in one open directory with a copy in another; all that is handed in is closed."""
    lock: Lock | None = None
    try:
        log = SourceLog(source, clock)
        lock = take_lock(target)
        _prepare(log, target, clock, bootstrap_again=bootstrap_again)
        db = open_locked(target, lock, clock, options or {})
    except BaseException:
        if lock is not None:
            lock.release()
        source.close()
        target.close()
        if pin is not None:
            pin.close()
        raise
    try:
        return Follower(log, db, background=background, pin=pin)
    except BaseException:
        db.close()
        source.close()
        if pin is not None:
            pin.close()
        raise


def _prepare(source: SourceLog, target: FileSystem, clock: Clock, *, bootstrap_again: bool) -> None:
    """Make the copy if there is none; raise if the one that is there cannot go on with this source."""
    if not holds_copy(target):
        bootstrap(source, target, clock)
        return
    if _is_same(source.fs, target):
        raise FollowerError(f"{target.name} cannot follow itself")
    copy = SourceLog(target, clock)
    try:
        meet(copy, source)
    except OffsetOutOfRange:
        if not (bootstrap_again and copy.version.follows):
            raise
        bootstrap(source, target, clock)


def _is_same(source: FileSystem, target: FileSystem) -> bool:
    """Tell whether two directories are one: then a file made in one of them comes and goes in both."""
    target.create(BOOTSTRAP, Cause.CHECKPOINT).close()
    came = source.exists(BOOTSTRAP)
    target.unlink(BOOTSTRAP)
    return came and not source.exists(BOOTSTRAP)
