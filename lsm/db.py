"""The open database."""

from __future__ import annotations

import atexit
import errno
import logging
import os
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING

from lsm.adoption.bulk import BulkLoad, BulkRows, bulk_load
from lsm.arguments import as_bounds, as_user_keyspace_name, is_hidden
from lsm.background import Background
from lsm.checkpoint import write_checkpoint
from lsm.commit_whole import StoreCommitter
from lsm.consumers import attach_consumers, close_consumers
from lsm.db_log import LogFace
from lsm.db_sight import SightFace
from lsm.errors import (
    ClosedError,
    Error,
    ForkedError,
    InvalidArgument,
    KeyspaceNotFound,
    ReadOnlyError,
    StorageError,
    typed_errors,
)
from lsm.executor import Cancelled
from lsm.fs import open_directory
from lsm.fs_types import Lock
from lsm.jobs import remove_obsolete
from lsm.keyspace import Keyspace
from lsm.reader import LiveReader
from lsm.recovery import DEFAULT_KEYSPACE, Opened
from lsm.resume import resume
from lsm.spaces import create_space
from lsm.state import NoWriter, Space, State, refusal_of_copy
from lsm.version import VersionEdit

if TYPE_CHECKING:
    from lsm.adoption import Adopted
    from lsm.adoption.sorting import Duplicates
    from lsm.options import Options

logger = logging.getLogger("lsm")


class DB(LogFace, SightFace, Keyspace):
    """An open store: the default keyspace, and everything that concerns the whole.

    Made by `lsm.open`.  A context manager; closing is idempotent, and every use afterwards raises
    ClosedError.
    """

    def __init__(
        self, state: State, lock: Lock | None, opened: Opened | None, reader: LiveReader | None
    ) -> None:
        """Start working on an opened store; users call `lsm.open`."""
        self._state = state
        self._lock = lock
        self._reader = reader
        self._space = state.spaces[DEFAULT_KEYSPACE]
        self._pins_views = reader is not None
        self._closing = threading.Lock()
        self._background: Background | None = None
        self._committer: StoreCommitter | None = None
        state.writer = NoWriter(ReadOnlyError(errno.EROFS, f"{state.fs.name} was opened read-only"))
        if opened is not None:
            self._background = Background(state)
            self._committer = StoreCommitter(state, opened.segment, self._background.wait_for_room)
            state.writer = self._committer
            if state.version.follows:
                state.writer = NoWriter(refusal_of_copy(state.fs.name))
            self._committer.publish = lock.publish if lock is not None else None
            state.sync_log = self._committer.sync
            state.open_log_bytes = self._committer.open_log_bytes
            attach_consumers(state)
            self._background.start(self._committer)
        _open_databases[id(self)] = self

    # Keyspaces

    def keyspace(self, name: str, *, create: bool = True) -> Keyspace:
        """Return the keyspace of that name, making it if it does not exist and the store can be written."""
        self._check_open()
        return self._keyspace(as_user_keyspace_name(name), create=create)

    def _system_keyspace(self, name: str, *, create: bool = True) -> Keyspace:
        """Return a keyspace of the store's own books; `name` begins with HIDDEN_PREFIX."""
        assert is_hidden(name)
        self._check_open()
        return self._keyspace(name, create=create)

    def _keyspace(self, name: str, *, create: bool) -> Keyspace:
        keyspace = Keyspace()
        keyspace._state, keyspace._find_space = self._state, self._find_space
        keyspace._pins_views = self._pins_views
        try:
            keyspace._space = self._named_space(name)
        except KeyspaceNotFound:
            if not create or self._committer is None:
                raise
            keyspace._space = self._create_space(name)
        return keyspace

    def keyspaces(self) -> list[str]:
        """Return the names of all keyspaces; the first is the default one."""
        self._check_open()
        metas = sorted(self._state.version.keyspaces.values(), key=lambda meta: meta.id)
        return [meta.name for meta in metas if not is_hidden(meta.name)]

    def drop_keyspace(self, name: str) -> None:
        """Remove a keyspace with everything in it: one edit, and its space comes back."""
        self._writable()
        space = self._find_space(name)
        if space.id == DEFAULT_KEYSPACE:
            raise InvalidArgument("the default keyspace cannot be dropped; clear() empties it")
        self._drop_space(space)

    def _drop_space(self, space: Space) -> None:
        committer = self._writable()
        self._state.check_leads()
        with self._typed("dropping a keyspace"), committer.exclusive(), self._state.edit_lock:
            self._state.install(VersionEdit(keyspaces_dropped=(space.id,)))
        remove_obsolete(self._state)

    def _find_space(self, name: object) -> Space:  # a method, not a bound one kept: that would be a cycle
        self._check_open()
        return self._named_space(as_user_keyspace_name(name))

    def _named_space(self, name: str) -> Space:
        for space in list(self._state.spaces.values()):
            if space.name == name:
                return space
        raise KeyspaceNotFound(f"no keyspace {name!r} in {self._state.fs.name}")

    def _create_space(self, name: str) -> Space:
        self._writable()
        self._state.check_leads()
        self._state.check_writable()
        with self._typed("making a keyspace"):
            return create_space(self._state, name)

    def bulk_load(
        self,
        rows: BulkRows,
        *,
        keyspace: str = "default",
        replace: bool = False,
        duplicates: Duplicates = "error",
        transaction: tuple[str, int] | None = None,
    ) -> Adopted:
        """Load many rows at once: sorted or not, all or none, without passing through log and memory.

        Rows are pairs, a mapping, or anything with Arrow's stream interface and columns `key` and `value`; a
        value of None deletes.  Their memory is bounded: they are sorted piece by piece into tables, which one
        edit takes over.  With `replace`, all other keys of the keyspace are deleted.  A key that comes twice
        is an error, or the last one counts.  A `transaction`, a name and a number, makes a repeated load add
        nothing.
        """
        committer = self._writable()
        self._state.check_leads()
        assert self._background is not None
        how = BulkLoad(
            keyspace=self.keyspace(keyspace)._space.id,
            replaces=replace,
            duplicates=duplicates,
            transaction=transaction,
        )
        with self._typed("loading"):
            return bulk_load(self._state, committer, self._background, rows, how)

    # The whole store

    def flush(self) -> None:
        """Write everything in memory to tables, and return when it is there."""
        with self._typed("flushing"):
            self._writable().seal()
            assert self._background is not None
            self._background.wait_for_flush()

    def compact(self, start: bytes | None = None, stop: bytes | None = None) -> None:
        """Flush, then merge [start, stop) of every keyspace into one level, without garbage."""
        low, high = as_bounds(start, stop, None)
        self.flush()
        assert self._background is not None
        with self._typed("compacting"):
            for keyspace in list(self._state.version.keyspaces):
                self._background.compact_range(keyspace, low, high)
            self._background.jobs.tidy()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until no flush or compaction is due; False if that takes longer than `timeout` seconds.

        What is in memory stays there: `flush` first to have it in tables, too.
        """
        self._writable()
        assert self._background is not None
        with self._typed("flushing or compacting"):
            return self._background.settle(timeout)

    def step(self) -> bool:
        """Do one background job in this thread; False if there was nothing to do."""
        self._writable()
        assert self._background is not None
        with self._typed("flushing or compacting"):
            return self._background.step()

    def _look_into_inbox(self) -> None:
        """Take over what was left in the inbox while nobody wrote; what fails is tried again later."""
        assert self._background is not None
        try:
            self._background.adopt_inbox()
        except (Error, OSError):
            logger.exception("taking over what is in the inbox of %s failed", self._state.fs.name)

    def sync(self) -> None:
        """Make every write so far durable, whatever `sync` it had; what a reader shows is durable already."""
        self._check_open()
        if self._committer is not None:
            self._committer.sync()

    def checkpoint(self, path: str | os.PathLike[str]) -> int:
        """Make a store of its own at `path`, of links to tables; return the sequence number it stands at."""
        committer = self._writable()
        with self._typed(f"making the checkpoint {os.fspath(path)}"):
            target = open_directory(os.fspath(path), create=True, read_only=False)
            try:
                return write_checkpoint(self._state, committer, target)
            finally:
                target.close()

    def refresh(self) -> int:
        """Let a read-only handle see what is durable now; return the sequence number it stands at."""
        self._check_open()
        if self._reader is not None:
            with self._typed("reading"):
                self._reader.refresh(self._state)
        return self._state.visible_seq

    def resume(self) -> None:
        """Take writes again after the disk was full."""
        with self._typed("starting a new log"):
            resume(self._state, self._writable())

    @property
    def seq(self) -> int:
        """The sequence number of the last write that reads see."""
        self._check_open()
        return self._state.visible_seq

    @property
    def path(self) -> str:
        """The store's directory."""
        return self._state.fs.name

    @property
    def options(self) -> Options:
        """The settings in force."""
        return self._state.options

    @property
    def is_read_only(self) -> bool:
        """Tell whether this handle takes no writes: opened for reading only, or a copy that follows."""
        return self._committer is None or self._state.version.follows

    def close(self) -> None:
        """Stop background work, make everything durable, let the store go; the second call does nothing."""
        with self._closing:
            if self._state.end is not None:
                return
            try:
                with self._typed("closing"):
                    if self._views is not None:
                        self._views.close()
                    self._shut_down()
            finally:
                self._end(ClosedError(f"{self._state.fs.name} was closed"))
                close_consumers(self._state)
                self._state.tables.close()
                if self._lock is not None:
                    self._lock.release()
                self._state.fs.close()

    def _shut_down(self) -> None:
        if self._background is None or self._committer is None:
            return
        self._background.stop()
        if self._state.failure is not None:
            self._abandon_files(self._committer)
        else:
            try:
                closed = self._committer.close()
            except BaseException:
                self._abandon_files(self._committer)
                raise
            with self._state.edit_lock:
                self._state.manifest.close(
                    VersionEdit(
                        is_closed=True, next_number=self._state.next_number, segments_closed=(closed,)
                    )
                )
            remove_obsolete(self._state, even_if_held=True)

    def _abandon_files(self, committer: StoreCommitter) -> None:
        try:
            committer.abandon()
        finally:
            self._state.manifest.abandon()

    def _end(self, reason: Error) -> None:
        _open_databases.pop(id(self), None)
        self._state.finish(reason)

    def _after_fork_in_child(self) -> None:
        if self._state.end is not None:
            return
        path = self._state.fs.name
        self._end(ForkedError(f"{path} was opened before a fork; the child process must open it for itself"))
        if self._background is not None:
            self._background.abandon()
        if self._lock is not None:
            self._lock.abandon()

    def _writable(self) -> StoreCommitter:
        self._check_open()
        if self._committer is None:
            raise ReadOnlyError(errno.EROFS, f"{self._state.fs.name} was opened read-only")
        return self._committer

    def _check_open(self) -> None:
        self._state.check_open()

    @contextmanager
    def _typed(self, doing: str) -> Iterator[None]:
        try:
            with typed_errors(self._state.fs.name, doing):
                yield
        except Cancelled as error:
            raise ClosedError(f"{self._state.fs.name} was closed") from error
        except StorageError:
            self._check_open()  # what was closed meanwhile cannot be read
            raise

    def __del__(self) -> None:
        """Close a forgotten store, and say that it was forgotten."""
        state = getattr(self, "_state", None)
        if state is not None and state.end is None:
            warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=2, source=self)
            self.close()

    def __enter__(self) -> DB:
        """Return the database."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """Say which store this is and how it stands."""
        if self._state.end is not None:
            return f"<lsm.DB {self._state.fs.name!r} closed>"
        return (
            f"<lsm.DB {self._state.fs.name!r} at {self._state.visible_seq}{' read-only' * self.is_read_only}>"
        )

    __hash__ = object.__hash__


# By identity: a mapping is equal to another with the same contents, and comparing those would read both
# stores.
_open_databases: weakref.WeakValueDictionary[int, DB] = weakref.WeakValueDictionary()


def _after_fork_in_child() -> None:
    for db in list(_open_databases.values()):
        db._after_fork_in_child()


def _close_all() -> None:
    for db in list(_open_databases.values()):
        with suppress(Error):
            db.close()


os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_close_all)
