"""Opening, listing and removing consumers."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from lsm.consumers.consumer import Consumer
from lsm.consumers.files import ConsumerFiles
from lsm.consumers.info import ConsumerInfo, LogEnd, info_of
from lsm.consumers.placing import place
from lsm.consumers.record import KEYSPACE, VIEW_PREFIX, Record, Settings, as_consumer_name
from lsm.consumers.registry import Registry
from lsm.errors import ConsumerNotFound, InvalidArgument, InvalidType, ReadOnlyError, typed_errors
from lsm.fs import OsFileSystem
from lsm.log.offsets import latest
from lsm.options import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.db import DB
    from lsm.fs_types import FileSystem, Lock
    from lsm.log.offsets import Since
    from lsm.log.source import LogSource
    from lsm.state import State

_NO_WRITING = (errno.EACCES, errno.EPERM, errno.EROFS)
_open_consumers: WeakKeyDictionary[State, WeakSet[Consumer]] = WeakKeyDictionary()


def open_consumer(
    db: DB, name: str, start: Since | None, *, pin: bool, max_lag_bytes: int | str | None
) -> Consumer:
    """Return the consumer of that name, registered at `start` if there is none yet."""
    settings = _settings(pin, max_lag_bytes)
    with _locked(db, as_consumer_name(name)) as (registry, lock):
        source = db._log_source()
        try:
            _register(registry, source, name, start, settings)
            consumer = Consumer(db, registry, source, lock, name, settings)
        except BaseException:
            source.close()
            if registry.find(name).record is None:
                registry.files.remove_lock(name)
            raise
    _open_consumers.setdefault(db._state, WeakSet()).add(consumer)
    return consumer


def _register(
    registry: Registry, source: LogSource, name: str, start: Since | None, settings: Settings
) -> None:
    """Make the consumer if there is none, and give it its settings."""
    state = registry.state
    found = registry.sound(name)
    record = found.record
    if record is None:
        if start is None:
            raise ConsumerNotFound(f"no consumer {name!r} in {state.fs.name}")
        version = source.version
        new = Record(
            name=name,
            number=found.number + 1,
            position=0,
            store_id=version.store_id,
            epoch=version.epoch,
            time_us=state.clock.now_us(),
            **settings,
        )
        place(registry, source, new, start)
        return
    following = replace(record.after(state.clock.now_us()), **settings)
    is_elsewhere = registry.is_writer and record is found.filed
    if not record.is_dropped and (is_elsewhere or following != record.after(following.time_us)):
        registry.write(following)


def _settings(pin: object, max_lag_bytes: object) -> Settings:
    if not isinstance(pin, bool):
        raise InvalidType(f"pin is True or False, not {pin!r:.40}")
    if isinstance(max_lag_bytes, str):
        max_lag_bytes = parse_size(max_lag_bytes, name="max_lag_bytes")
    if max_lag_bytes is None:
        return Settings(is_pinned=pin, max_lag_bytes=None)
    if isinstance(max_lag_bytes, bool) or not isinstance(max_lag_bytes, int):
        raise InvalidType(f"max_lag_bytes is a size or None, not {max_lag_bytes!r:.40}")
    if max_lag_bytes < 0:
        raise InvalidArgument(f"max_lag_bytes must be 0 or more, not {max_lag_bytes}")
    return Settings(is_pinned=pin, max_lag_bytes=max_lag_bytes)


def list_consumers(db: DB) -> list[ConsumerInfo]:
    """Return all consumers by name; what is wrong with one is said there."""
    db.refresh()
    source = db._log_source()
    try:
        end = LogEnd(source, db._state.tables, latest(source))
        registry = Registry(db._state, ConsumerFiles(db._state.fs), is_writer=False)
        return [
            info_of(name, found, end) for name, found in registry.all() if not name.startswith(VIEW_PREFIX)
        ]
    finally:
        source.close()


def drop_consumer(db: DB, name: str) -> None:
    """Remove a consumer: its position is forgotten, and the log no longer waits for it."""
    db.refresh()
    registry = Registry(db._state, ConsumerFiles(db._state.fs), is_writer=False)
    _check_known(registry, as_consumer_name(name))
    with _locked(db, name) as (registry, lock):
        try:
            _check_known(registry, name)
            registry.forget(name)
            registry.files.remove_lock(name)
        finally:
            lock.release()
            _close_files(db, registry)


def _check_known(registry: Registry, name: str) -> None:
    found = registry.find(name)
    if found.record is None and found.problem is None:
        raise ConsumerNotFound(f"no consumer {name!r} in {registry.state.fs.name}")


@contextmanager
def _locked(db: DB, name: str) -> Iterator[tuple[Registry, Lock]]:
    """Take a consumer for ourselves; whoever gets it lets it go, unless the block fails."""
    db._state.check_open()
    if db.is_read_only:
        db.refresh()
    else:
        db._system_keyspace(KEYSPACE)
    fs = _writable(db._state.fs)
    registry = Registry(db._state, ConsumerFiles(fs), is_writer=not db.is_read_only)
    lock = None
    try:
        lock = _lock(registry, name)
        yield registry, lock
    except BaseException:
        if lock is not None:
            lock.release()
        _close_files(db, registry)
        raise


def _lock(registry: Registry, name: str) -> Lock:
    try:
        with typed_errors(registry.state.fs.name, f"locking consumer {name!r}"):
            return registry.files.lock(name)
    except OSError as error:
        if error.errno in _NO_WRITING:
            raise ReadOnlyError(
                error.errno,
                f"{registry.state.fs.name} cannot be written, so the position of consumer {name!r} cannot be "
                "kept there; read db.changes(since) and keep the last sequence number elsewhere",
            ) from error
        raise


def _close_files(db: DB, registry: Registry) -> None:
    if registry.files.fs is not db._state.fs:
        registry.files.fs.close()


def _writable(fs: FileSystem) -> FileSystem:
    """Return the store's directory for writing: a reader may not change the store, but its own files."""
    return fs.for_writing() if isinstance(fs, OsFileSystem) and fs.is_read_only else fs


def close_consumers(state: State) -> None:
    """Close the consumers of a store that is being closed."""
    for consumer in list(_open_consumers.pop(state, ())):
        consumer.close()
