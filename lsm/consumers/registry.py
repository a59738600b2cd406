"""All consumers of a store, wherever their positions are kept.

The writer keeps them in a hidden keyspace, through the log, so that a position can be committed together
with data.  A process that only reads keeps them in files.  What is in force is the record with the highest
number; since a consumer is locked while it is in use, numbers of one consumer are given out one at a time.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

from lsm.consumers.files import KINDS, ConsumerFiles
from lsm.consumers.record import KEYSPACE, VIEW_PREFIX, BadRecord, Record, decode, encode, in_force
from lsm.errors import ConsumerBusy, CorruptionError, Error, KeyspaceNotFound
from lsm.filenames import ConsumerFile, consumer_name
from lsm.fs_types import FileSystem
from lsm.keyspace import Keyspace
from lsm.retention import Pin
from lsm.state import Space, State

logger = logging.getLogger("lsm")

_warned: WeakKeyDictionary[State, set[str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of one consumer."""

    stored: Record | None
    """In the keyspace."""
    filed: Record | None
    """In its position file."""
    drop: Record | None
    """In the file by which the writer drops it."""
    problem: CorruptionError | None = None
    """Why the files do not count."""

    @property
    def number(self) -> int:
        """The highest number that was given out, 0 for none."""
        found = in_force(self.filed, self.stored, self.drop)
        return 0 if found is None else found.number

    @property
    def record(self) -> Record | None:
        """What is in force; None if the consumer does not exist."""
        # A commit that crossed with a drop has the same number, and takes the consumer up again: should the
        # log that it needs be gone, reading says so.
        found = in_force(self.filed, self.stored, self.drop)
        return None if found is None or found.is_deleted else found


class Registry:
    """Reads and writes the records of consumers.

    `files` must be able to write if anything is to be written; `is_writer` tells whether the store can be
    written, too.
    """

    def __init__(self, state: State, files: ConsumerFiles, *, is_writer: bool) -> None:
        self.state = state
        self.files = files
        self.is_writer = is_writer

    def wait_for_trim(self) -> None:
        """Return when no segments are on their way out that left before the last write."""
        with self.state.trim_lock:
            pass

    def find(self, name: str) -> Found:
        """Return what is known of a consumer; damage is kept in `problem`."""
        stored = None
        try:
            stored = self._stored(name)
            filed, drop = (self._of_this_store(self.files.read(name, kind)) for kind in KINDS)
        except CorruptionError as error:
            return Found(stored, None, None, error)
        return Found(stored, filed, drop)

    def sound(self, name: str) -> Found:
        """Return what is known of a consumer; raise if something of it is damaged."""
        found = self.find(name)
        if found.problem is not None:
            raise found.problem
        return found

    def record(self, name: str) -> Record | None:
        """Return what is in force for a consumer, None if it does not exist; raise if a file is damaged."""
        return self.sound(name).record

    def all(self) -> Iterator[tuple[str, Found]]:
        """Yield what is known of every consumer, by name."""
        books = books_of(self.state)
        stored = {} if books is None else {key.decode(): value for key, value in books.scan()}
        # By the lock, too, which never moves: a listing may miss a file that is being replaced.
        for name in sorted(stored.keys() | self.files.names().keys()):
            found = self.find(name)
            if found.record is not None or found.problem is not None:
                yield name, found

    def write(self, record: Record) -> None:
        """Make a record durable: in the keyspace if we write the store, else in the consumer's file."""
        if not self.is_writer:
            self.files.write(record)
            return
        self.books.put(record.name.encode(), encode(record), sync=True)
        if self.files.has(record.name, "json"):
            self.files.remove(record.name, "json")  # it was of a process that only reads, and is outdated

    @property
    def books(self) -> Keyspace:
        """The keyspace of consumers, which the opening of a consumer has made."""
        books = books_of(self.state)
        assert books is not None, "a writer makes the keyspace before it has a consumer"
        return books

    def forget(self, name: str) -> None:
        """Remove a consumer durably; the caller holds its lock."""
        if not self.is_writer:
            record = self.record(name)
            if record is not None:
                self.files.write(replace(record.after(self.state.clock.now_us()), is_deleted=True))
            self.files.remove(name, "dropped")
            return
        books = books_of(self.state)
        if books is not None and name.encode() in books:
            books.delete(name.encode(), sync=True)
        # The file last: until it goes, the consumer is where it was.
        self.files.remove(name, "json.tmp", "dropped.tmp", "dropped", "json")

    def _stored(self, name: str) -> Record | None:
        books = books_of(self.state)
        value = None if books is None else books.get(name.encode())
        try:
            return None if value is None else decode(value, name)
        except BadRecord as error:
            raise CorruptionError(
                f"{self.state.fs.name}, keyspace {KEYSPACE}",
                f"the record of consumer {name!r} makes no sense: {error}",
                advice="drop_consumer() removes it",
            ) from error

    def _of_this_store(self, record: Record | None) -> Record | None:
        """Pass over what an earlier store in the same directory has left."""
        return record if record is not None and record.store_id == self.state.version.store_id else None


def books_of(state: State) -> Keyspace | None:
    """Return the keyspace of consumers, None if the store has none yet."""
    for space in list(state.spaces.values()):
        if space.name == KEYSPACE:
            keyspace = Keyspace()
            keyspace._state, keyspace._space = state, space
            keyspace._find_space, keyspace._pins_views = _no_other, False
            return keyspace
    return None


def _no_other(name: str) -> Space:
    raise KeyspaceNotFound(f"{KEYSPACE} is read alone, without {name!r}")


def attach_consumers(state: State) -> None:
    """Let retention know of the consumers of a store that is open for writing."""
    state.pins, state.drop_pin = partial(pins, state), partial(drop, state)


def pins(state: State) -> list[Pin]:
    """Return who needs how much of the log, views included.

    A file counts only once its name is durable: a crash must not bring an older one back whose log is gone.
    For what is in the log, whoever asks sees to that.
    """
    registry = writers_registry(state)
    found = [pin for name, found in registry.all() if (pin := _pin(state, name, found)) is not None]
    if found:
        state.fs.sync_dir()
    return found


def _pin(state: State, name: str, found: Found) -> Pin | None:
    if found.problem is not None:
        # Where it stands is not known, only that it is not before what the store itself has noted.
        _warn_once(state, f"{found.problem}; until then, the log is kept for it")
        return Pin(name, found.stored.position if found.stored is not None else 0)
    record = found.record
    if record is None or not record.is_pinned or record.is_dropped:
        return None
    return Pin(name, record.position, record.max_lag_bytes)


def _warn_once(state: State, message: str) -> None:
    warned = _warned.setdefault(state, set())
    if message not in warned:  # it is asked for again with every trim
        warned.add(message)
        logger.warning(message)


def drop(state: State, pin: Pin) -> None:
    """Say durably that the log no longer waits for a consumer.

    By a file, not through the log: this runs where a write of the log might wait for itself, and a consumer
    in another process sees a file at once.
    """
    registry = writers_registry(state)
    record = registry.find(pin.name).record
    if record is None or pin.name.startswith(VIEW_PREFIX):
        return  # a view finds out by itself, and is made anew
    logger.warning(
        "%s: consumer %r is more than %s bytes behind and is dropped at sequence number %d",
        state.fs.name,
        pin.name,
        pin.max_lag_bytes,
        record.position,
    )
    registry.files.write(replace(record.after(state.clock.now_us()), is_dropped=True), "dropped")


def tidy_consumers(state: State) -> None:
    """Remove what consumers outside have left behind for the writer; what is in use is left alone."""
    if state.version.follows:
        return  # it is not written, not even its books
    registry = writers_registry(state)
    for name, kinds in registry.files.names().items():
        try:
            if _leftovers(registry, name, kinds):
                _tidy(registry, name)
        except ConsumerBusy:
            continue
        except (Error, OSError) as error:
            logger.warning("%s: files of consumer %r are left as they are: %s", state.fs.name, name, error)


def _tidy(registry: Registry, name: str) -> None:
    lock = registry.files.lock(name)
    try:
        leftovers = _leftovers(registry, name, registry.files.names()[name])
        if registry.record(name) is None:
            registry.forget(name)
            registry.files.remove_lock(name)
        elif leftovers:
            registry.files.remove(name, *leftovers)
    finally:
        lock.release()


def _leftovers(registry: Registry, name: str, kinds: set[ConsumerFile]) -> list[ConsumerFile]:
    """Return the files of a consumer that say nothing, or nothing that is still in force."""
    found = registry.sound(name)
    record = found.record
    if record is None:
        return sorted(kinds)
    needed: set[ConsumerFile] = {"lock"}
    if found.filed is not None and in_force(found.filed, found.stored) is found.filed:
        needed.add("json")
    if record is found.drop:
        needed.add("dropped")
    return sorted(kinds - needed)


def writers_registry(state: State) -> Registry:
    """Return the registry of a store that is open for writing."""
    return Registry(state, ConsumerFiles(state.fs), is_writer=True)


def link_files(fs: FileSystem, target: FileSystem) -> None:
    """Give a checkpoint the positions of consumers outside; before the log: they must not be ahead of it."""
    files = ConsumerFiles(fs)
    for name, kinds in files.names().items():
        for kind in kinds & {*KINDS}:
            with suppress(FileNotFoundError):  # it was removed meanwhile
                fs.link(consumer_name(name, kind), target)
