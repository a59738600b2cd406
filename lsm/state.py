"""What the parts of an open store share: keyspaces, views, snapshots, the version, its end."""

import errno
import logging
import threading
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn, Protocol

from compaction import Levels
from lsm.caches import TableCache, Tree
from lsm.clock import Clock
from lsm.errors import ClosedError, DiskFull, Error, KeyspaceNotFound, ReadOnlyError, StorageError
from lsm.filenames import manifest_name
from lsm.fs_types import FileSystem
from lsm.manifest import Manifest, VersionHolder, is_in_force
from lsm.memtable import Layer, MemTable
from lsm.options import Options
from lsm.payload import Value, Writes
from lsm.retention import Pin
from lsm.version import Version, VersionEdit

logger = logging.getLogger("lsm")


class SpaceView:
    """What a reader of one keyspace looks at: memory, newest first, then tables.  Immutable."""

    __slots__ = ("layers", "memory", "tree")

    def __init__(self, layers: tuple[Layer, ...], tree: Tree) -> None:
        self.layers = layers
        self.memory: tuple[dict[bytes, Value], ...] = tuple(layer.entries for layer in layers)
        self.tree = tree

    def at(self, seq: int) -> tuple[Layer, ...]:
        """Return the layers that a snapshot at `seq` sees; none of them changes while it is held."""
        return tuple(layer for layer in self.layers if layer.last_seq is not None and layer.last_seq <= seq)


class EndedView(SpaceView):
    """The view of a keyspace that cannot be read any more: looking at it raises the reason."""

    __slots__ = ("_reason",)

    def __init__(self, reason: Error) -> None:
        self._reason = reason

    @property
    def memory(self) -> NoReturn:  # type: ignore[override]  # looking is the mistake
        """Raise."""
        raise type(self._reason)(*self._reason.args)

    layers = memory
    tree = memory


class Space:
    """One keyspace while the store is open."""

    __slots__ = ("id", "is_dropped", "memtable", "name", "view")

    def __init__(self, id_: int, name: str, tree: Tree) -> None:
        self.id = id_
        self.name = name
        self.memtable = MemTable()
        self.is_dropped = False
        self.view = SpaceView(self.memtable.layers, tree)


@dataclass(slots=True)
class Generation:
    """The memtables of all keyspaces over one log segment; sealed, it waits to be flushed."""

    segment: int
    first_seq: int
    last_seq: int = 0
    log_bytes: int = 0
    memtables: dict[int, MemTable] = field(default_factory=dict)

    def memtable(self, keyspace: int) -> MemTable:
        """Return the memtable of a keyspace, made if need be."""
        return self.memtables.setdefault(keyspace, MemTable())


class Writer(Protocol):
    """Where writes go."""

    def put(self, space: Space, key: bytes, value: bytes, sync: bool | None) -> None:
        """Commit one put."""

    def delete(self, space: Space, key: bytes, tombstone: Value, sync: bool | None) -> None:
        """Commit one deletion."""

    def write(self, payload: bytes, count: int, writes: Sequence[Writes], sync: bool | None) -> int:
        """Commit one batch; return its first sequence number."""

    def look(self) -> None:
        """Let the next write look whether it may go on."""


class NoWriter:
    """Stands where writes would go, and says why they cannot."""

    def __init__(self, reason: Error) -> None:
        self._reason = reason

    def put(self, *_: object) -> NoReturn:
        """Raise."""
        raise type(self._reason)(*self._reason.args)

    delete = put
    write = put

    def look(self) -> None:
        """Nothing goes on here."""


def refusal_of_copy(name: str) -> ReadOnlyError:
    """Return the error for writing to a copy."""
    return ReadOnlyError(
        errno.EROFS, f"{name} follows another store; lsm.promote() or its follower's promote() lets it write"
    )


def _keep_pin(_: Pin) -> None:
    """Stand in until somebody can be told that it is dropped."""


def _do_nothing() -> None:
    """Stand in until there is a log."""


class State:
    """Shared by the commit path, the background and the readers.

    `lock` guards views, memtables' layers, snapshots and generations; it is held for moments, never over
    I/O. `edit_lock` guards the manifest; it is held over its sync.  They are taken in the order `trim_lock`,
    `edit_lock`, `lock`.
    """

    def __init__(
        self, fs: FileSystem, clock: Clock, options: Options, manifest: VersionHolder, tables: TableCache
    ) -> None:
        self.fs = fs
        self.clock = clock
        self.options = options
        self.manifest = manifest
        self.tables = tables
        self.lock = threading.RLock()
        self.edit_lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.changes = 0  # how often there was something new for the background to look at
        self.is_applying = False  # readers wait for a batch that is half applied
        self.visible_seq = 0
        self.sealed: list[Generation] = []  # oldest first
        self.snapshots: list[int] = []  # sorted, with repeats
        self.failure: Error | None = None  # why no more writes are taken
        self.end: Error | None = None  # why nothing at all works any more
        self.writer: Writer = NoWriter(ClosedError(f"{fs.name} is not open yet"))
        self.busy: set[int] = set()
        self.next_number = manifest.version.next_number
        self.trim_lock = threading.Lock()  # held while segments go: who registers a pin meanwhile waits
        self.pins: Callable[[], list[Pin]] = list  # who needs how much of the log, for good
        self.own_pins: set[Pin] = set()  # and for the moment
        self.sync_log: Callable[[], None] = _do_nothing  # make every write so far durable
        self.open_log_bytes: Callable[[], int] = int  # size of the segment that is being written
        self.drop_pin: Callable[[Pin], None] = _keep_pin
        self.tailers = 0  # threads that wait for the next write to be visible
        self.obsolete: set[int] = set()  # tables that wait for their last reader to be removed
        self.spaces: dict[int, Space] = {
            meta.id: Space(meta.id, meta.name, Tree(meta.levels, tables))
            for meta in manifest.version.keyspaces.values()
        }

    @property
    def version(self) -> Version:
        """The truth on disk."""
        return self.manifest.version

    def levels(self, keyspace: int) -> Levels:
        """Return the tables of a keyspace."""
        return self.version.keyspaces[keyspace].levels

    def new_number(self, count: int = 1) -> int:
        """Take `count` file numbers, return the first.  Numbers are never used twice."""
        with self.lock:
            first = self.next_number
            self.next_number += count
            return first

    def install(self, edit: VersionEdit, *, flushed: Generation | None = None) -> None:
        """Make `edit` the truth on disk, then for readers.  The caller holds `edit_lock`."""
        before = self.version.all_tables().keys()
        gone = before - self.append_edit(edit).all_tables().keys()
        with self.lock:
            if flushed is not None:
                self.sealed.remove(flushed)
            self.sync_spaces()
            self.obsolete |= gone
            self.tables.discard(gone)
            self.announce()
        if self.manifest.wants_roll:
            self.replace_manifest(self.version)

    def shorten_manifest(self) -> None:
        """Begin a new manifest if it would be much shorter."""
        with self.edit_lock:
            self.check_writable()
            if self.manifest.is_wasteful:
                self.replace_manifest(self.version)

    def append_edit(self, edit: VersionEdit) -> Version:
        """Make `edit` the truth on disk.  The caller holds `edit_lock`."""
        self.check_writable()
        try:
            return self.manifest.append(edit)
        except OSError as error:
            # Nobody knows if the edit is on disk, so nothing may build on it.
            self._manifest_failed(error)
            raise

    def replace_manifest(self, version: Version) -> None:
        """Put a new manifest with `version` in force.  The caller holds `edit_lock`."""
        old, number = self.manifest, self.new_number()
        version = replace(version, next_number=self.next_number)
        try:
            self.manifest = Manifest(self.fs, self.clock, version, number)
        except BaseException as error:
            if is_in_force(self.fs, old.number):
                self.remove_file(manifest_name(number))
            else:  # an edit of the old one would be read by nobody
                self._manifest_failed(error)
            raise
        try:
            old.abandon()
        finally:
            self.remove_file(manifest_name(old.number))

    def _manifest_failed(self, error: BaseException) -> None:
        """Take no more writes; after a full disk they can be resumed."""
        code = getattr(error, "errno", None)
        if code in (errno.ENOSPC, errno.EDQUOT):
            self.fail(DiskFull(self.fs.name, "writing the manifest"))
        else:
            what = f"{self.fs.name}: manifest not written: {str(error) or type(error).__name__}"
            self.fail(StorageError(code or errno.EIO, what))

    def sync_spaces(self) -> None:
        """Bring keyspaces and views in line with the version.  The caller holds `lock`."""
        keyspaces = self.version.keyspaces
        for id_ in self.spaces.keys() - keyspaces.keys():
            space = self.spaces.pop(id_)
            space.is_dropped = True
            space.view = EndedView(KeyspaceNotFound(f"keyspace {space.name!r} was dropped"))
        for meta in keyspaces.values():
            tree = Tree(meta.levels, self.tables)
            if meta.id in self.spaces:
                self.refresh_view(self.spaces[meta.id], tree)
            else:
                self.spaces[meta.id] = Space(meta.id, meta.name, tree)

    def refresh_view(self, space: Space, tree: Tree | None = None) -> None:
        """Show readers the layers and tables there are now.  The caller holds `lock`."""
        layers = [*space.memtable.layers]
        for generation in reversed(self.sealed):
            memtable = generation.memtables.get(space.id)
            if memtable is not None:
                layers += memtable.layers
        space.view = SpaceView(tuple(layers), tree or space.view.tree)

    def seal(self, generation: Generation) -> None:
        """Set the memtables of all keyspaces aside for flushing.  The caller holds `lock`."""
        for space in self.spaces.values():
            if any(space.memtable.entries()):
                space.memtable.seal(generation.last_seq)
                generation.memtables[space.id] = space.memtable
                space.memtable = MemTable()
        self.sealed.append(generation)
        for space in self.spaces.values():
            self.refresh_view(space)
        self.announce()

    def apply(self, writes: Iterable[Writes], last_seq: int) -> None:
        """Let readers see one batch, whole."""
        with self.lock:
            self.is_applying = True
            try:
                for keyspace, keys, values in writes:
                    space = self.spaces.get(keyspace)
                    if space is not None:
                        space.memtable.top.entries.update(zip(keys, values, strict=True))
                self.visible_seq = last_seq
                if self.tailers:
                    self.changed.notify_all()
            finally:
                self.is_applying = False

    def take_snapshot(self) -> int:
        """Return a sequence number that stays readable until it is released."""
        with self.lock:
            seq = self.visible_seq
            insort(self.snapshots, seq)
            for space in self.spaces.values():
                if space.memtable.freeze(seq):
                    self.refresh_view(space)
            return seq

    def hold(self, seq: int) -> None:
        """Hold a snapshot once more."""
        with self.lock:
            insort(self.snapshots, seq)

    def release_snapshot(self, seq: int) -> None:
        """Give a snapshot back."""
        if self.end is not None:
            return  # nothing is kept any more; in a forked child the lock may be held by nobody
        with self.lock:
            self.snapshots.remove(seq)
            if seq not in self.snapshots:
                self._thaw()

    def _thaw(self) -> None:
        for space in self.spaces.values():
            if len(space.memtable.layers) > 1 and space.memtable.thaw(self.snapshots):
                try:
                    self.refresh_view(space)
                except Error:
                    if self.end is None:  # else the store was closed meanwhile, and nobody looks any more
                        raise

    def finish(self, error: Error) -> None:
        """Let every use from now on raise `error`."""
        # No lock: in a forked child it may be held by a thread that does not exist there.
        self.end = error
        self.writer = NoWriter(error)
        for space in self.spaces.values():
            space.view = EndedView(error)

    def announce(self) -> None:
        """Let the background look again, and wake all who wait.  The caller holds `lock`."""
        self.changes += 1
        self.changed.notify_all()

    def check_open(self) -> None:
        """Raise if nothing works any more."""
        if self.end is not None:
            raise type(self.end)(*self.end.args)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say that the store was closed where files could not be read because of that."""
        try:
            yield
        except StorageError:
            self.check_open()
            raise

    def check_writable(self) -> None:
        """Raise if no more writes are taken."""
        failure = self.failure
        if isinstance(failure, ClosedError):
            raise ClosedError(*failure.args)
        if isinstance(failure, DiskFull):
            raise DiskFull(self.fs.name, "writing") from failure
        if failure is not None:
            raise ReadOnlyError(
                errno.EROFS, f"{self.fs.name} takes no writes until it is reopened, because: {failure}"
            ) from failure

    def check_leads(self) -> None:
        """Raise if this is a copy, which takes nothing but what its source has written."""
        if self.version.follows:
            raise refusal_of_copy(self.fs.name)

    def fail(self, error: Error) -> None:
        """Take no more writes, and keep the first reason."""
        with self.lock:
            if self.failure is None:
                self.failure = error
            self.writer.look()
            self.announce()

    def remove_file(self, name: str) -> None:
        """Remove a file that nothing refers to; if that fails it is tried again when the store next opens."""
        try:
            self.fs.unlink(name)
        except OSError as error:
            logger.warning("%s/%s could not be removed: %s", self.fs.name, name, error)
