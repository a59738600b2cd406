"""What an open store offers around its log: changes, consumers, views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, cast

from lsm.changes import Asked, Change, ChangeColumns, How, Since, read_changes, read_columns
from lsm.consumers import Consumer, ConsumerInfo, drop_consumer, list_consumers, open_consumer
from lsm.log.bootstrap import Bootstrap
from lsm.log.info import LogInfo, log_info
from lsm.log.reader_log import ReaderLog
from lsm.log.source import LogSource
from lsm.log.writer_log import WriterLog
from lsm.options import parse_size
from lsm.views.registry import ViewInfo, Views, check_settings
from lsm.views.view import View, ViewSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lsm.db import DB
    from lsm.state import State
    from lsm.views.fold import Fold
    from lsm.views.reader import ViewReader


class LogFace:
    """The part of a `DB` that concerns its log."""

    _state: State
    _views: Views | None = None  # made when it is first asked for: it holds the store, which is a cycle

    # Changes

    @property
    def log(self) -> LogInfo:
        """The log as it is now: its range, its segments, and what tells it from any other log."""
        self._state.check_open()
        return log_info(self._log_source())

    def changes(self, since: Since = 0, until: int | None = None, **how: Unpack[How]) -> Iterator[Change]:
        """Yield every change after `since` up to `until`, in commit order, each once, and durable.

        `since` is a sequence number, and what comes is what is after it: the last number seen is where to go
        on.  Or it is "earliest", "latest", or a datetime with a time zone.  How:

        - `follow=True` waits for more instead of ending; `timeout` ends it after so many seconds without any;
        - `keyspace` selects one;
        - `before=True` adds previous values (see the option `log_history`);
        - `compacted=True` gives the latest change of every key, also of those that have left the log, then
          goes on with the log; `tombstone_seconds` leaves older deletions out;
        - `log_id`, from `db.log.id`, makes sure that `since` was taken from this log.

        What the log does not hold any more raises OffsetOutOfRange: nothing is skipped.
        """
        db = cast("DB", self)
        return read_changes(self._state, self._log_source(), Asked(since, until, **how), db.refresh)

    def change_columns(
        self, since: Since = 0, until: int | None = None, *, keyspace: str | None = None
    ) -> Iterator[ChangeColumns]:
        """Yield the changes after `since` up to `until`, many at a time, as numpy columns."""
        return read_columns(self._state, self._log_source(), Asked(since, until, keyspace=keyspace))

    def bootstrap(self) -> Bootstrap:
        """Return a consistent scan, and the sequence number from which the changes go on."""
        self._state.check_open()
        return Bootstrap(cast("DB", self))

    def _log_source(self) -> LogSource:
        self._state.check_open()
        db = cast("DB", self)
        if db._committer is not None:
            return WriterLog(self._state, db._committer)
        assert db._reader is not None
        return ReaderLog(self._state, db._reader)

    # Consumers

    def consumer(
        self,
        name: str,
        *,
        start: Since | None = "earliest",
        pin: bool = True,
        max_lag_bytes: int | str | None = None,
    ) -> Consumer:
        """Return the consumer of that name: a reader of the log whose position is durable.

        A new one begins at `start` (as `since` of `changes`; None refuses a new one); one that is known goes
        on where it was.  With `pin` the log waits for it, unless it falls more than `max_lag_bytes` behind:
        then it is dropped.  In a read-only handle the position is kept in a file of its own, and the handle
        is refreshed.
        """
        return open_consumer(cast("DB", self), name, start, pin=pin, max_lag_bytes=max_lag_bytes)

    def consumers(self) -> list[ConsumerInfo]:
        """Return all consumers by name, and how far behind they are."""
        return list_consumers(cast("DB", self))

    def drop_consumer(self, name: str) -> None:
        """Forget a consumer: the log no longer waits for it."""
        drop_consumer(cast("DB", self), name)

    # Views

    def view(
        self,
        name: str,
        *,
        version: int = 1,
        keyspace: str | None = None,
        background: bool = False,
        max_lag_bytes: int | str | None = None,
        needs_history: bool = False,
    ) -> Callable[[Fold], View]:
        """Make a function a view: a fold over the log, whose state is kept in the store, read as a mapping.

            @db.view("orders-per-user", version=1, keyspace="orders")
            def orders(change, view): ...

        The function gets a change and the state so far and returns pairs to write; see `lsm.views`, also for
        folds that are there already.  With `background` a thread keeps the view in step; else `refresh` does.
        Another `version` or `keyspace` rebuilds it.  The log is kept for it, up to `max_lag_bytes` behind.
        """
        cap = parse_size(max_lag_bytes) if isinstance(max_lag_bytes, str) else max_lag_bytes
        settings = ViewSettings(
            version=version, keyspace=keyspace, max_lag_bytes=cap, needs_history=needs_history
        )
        self._state.check_open()
        check_settings(cast("DB", self), name, settings)
        return lambda fold: self._view_registry().register(name, fold, settings, background=background)

    def open_view(self, name: str) -> ViewReader:
        """Return a view to read, in a read-only handle too; `refresh` of the handle shows what is new."""
        self._state.check_open()
        return self._view_registry().open(name)

    def views(self) -> list[ViewInfo]:
        """Return all views of the store, by name."""
        self._state.check_open()
        return self._view_registry().infos()

    def drop_view(self, name: str) -> None:
        """Remove a view with its state; the log is no longer kept for it."""
        self._state.check_open()
        self._view_registry().drop(name)

    def _view_registry(self) -> Views:
        with self._state.lock:
            if self._views is None:
                self._views = Views(cast("DB", self))
            return self._views
