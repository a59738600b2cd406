"""The views of an open store: registered, listed, dropped, ended with it."""

from __future__ import annotations

import errno
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsm.arguments import as_user_keyspace_name
from lsm.errors import InvalidArgument, InvalidType, KeyspaceNotFound, ReadOnlyError, ViewNotFound
from lsm.views.background import Refresher
from lsm.views.books import Books
from lsm.views.entry import BOOKS, KEY_PREFIX, check_name
from lsm.views.reader import ViewReader
from lsm.views.view import View, ViewSettings

if TYPE_CHECKING:
    from lsm.db import DB
    from lsm.views.fold import Fold


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """One line of `db.views()`."""

    name: str
    version: int | None
    """The version that made what readers see; None before the first refresh."""
    position: int
    keyspace: str | None
    max_lag_bytes: int | None
    is_building: bool
    error: Exception | None
    """Why it stands still, if it is registered here and does."""


class Views:
    """All views that this handle knows of."""

    def __init__(self, db: DB) -> None:
        self._db = db
        self._lock = threading.Lock()
        self._views: dict[str, View] = {}
        self._refreshers: dict[str, Refresher] = {}
        self._turns: dict[str, threading.RLock] = {}  # by name, as one view may be registered several times

    def register(self, name: str, fold: Fold, settings: ViewSettings, *, background: bool) -> View:
        """Let a fold make a view; one of the same name that was registered before stops."""
        if not callable(fold):
            raise InvalidType(f"a fold is a function of a change and a state, not {type(fold).__name__}")
        with self._lock:
            self._end(name)
            view = View(self._db, name, fold, settings, self._turn(name))
            self._views[name] = view
            if background:
                self._refreshers[name] = Refresher(view, self._db._state, view._end)
                self._refreshers[name].start()
            return view

    def open(self, name: str) -> ViewReader:
        """Return a view to read."""
        reader = ViewReader(self._db, name)
        reader._entry()
        return reader

    def infos(self) -> list[ViewInfo]:
        """Return what is known of every view of the store."""
        try:
            books = self._db._system_keyspace(BOOKS, create=False)
        except KeyspaceNotFound:
            return []
        infos = []
        for key, data in books.scan(prefix=KEY_PREFIX):
            name = key.removeprefix(KEY_PREFIX).decode()
            entry, view = Books(self._db, name).decoded(data), self._views.get(name)
            serving = entry.serving
            infos.append(
                ViewInfo(
                    name=name,
                    version=None if serving is None else serving.version,
                    position=0 if serving is None else serving.position,
                    keyspace=None if serving is None else serving.source,
                    max_lag_bytes=entry.max_lag_bytes,
                    is_building=entry.building is not None,
                    error=None if view is None else view.error,
                )
            )
        return infos

    def drop(self, name: str) -> None:
        """Remove a view with its state."""
        with self._lock:
            self._end(check_name(name))
            books = Books(self._db, name)
            with self._turn(name):
                if books.read() is None:
                    raise ViewNotFound(f"no view {name!r} in {self._db.path}")
                books.forget()

    def close(self) -> None:
        """End all refreshing."""
        with self._lock:
            for name in list(self._views):
                self._end(name)

    def _turn(self, name: str) -> threading.RLock:
        return self._turns.setdefault(name, threading.RLock())

    def _end(self, name: str) -> None:
        """Stop a view if it is registered; a thread that is folding gives up before its next commit."""
        view, refresher = self._views.pop(name, None), self._refreshers.pop(name, None)
        if view is not None:
            view.close()
        if refresher is not None:
            refresher.stop()


def check_settings(db: DB, name: str, settings: ViewSettings) -> None:
    """Raise what is wrong with what a view is to be registered with."""
    check_name(name)
    if db.is_read_only or db._state.version.follows:
        raise ReadOnlyError(
            errno.EROFS, f"{db.path} is only read here; open_view({name!r}) reads a view that is there"
        )
    _check_number("version", settings.version)
    if settings.max_lag_bytes is not None:
        _check_number("max_lag_bytes", settings.max_lag_bytes)
    if settings.keyspace is not None:
        as_user_keyspace_name(settings.keyspace)


def _check_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidType(f"{name} must be a whole number, not {type(value).__name__}")
    if value < 0:
        raise InvalidArgument(f"{name} must be 0 or more, not {value}")
