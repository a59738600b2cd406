"""A consumer: a reader of the log with a name, whose position is durable."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from lsm.consumers.placing import place
from lsm.consumers.record import Record, Settings, encode
from lsm.errors import (
    ClosedError,
    ConsumerDropped,
    ConsumerNotFound,
    Error,
    ForeignLog,
    InvalidArgument,
    InvalidType,
    OffsetOutOfRange,
    ReadOnlyError,
)
from lsm.log.offsets import check_seq, earliest, latest
from lsm.log.source import SEQ_MAX
from lsm.log.stream import ChangeStream, Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from lsm.batch import WriteBatch
    from lsm.changes import Change
    from lsm.consumers.registry import Registry
    from lsm.db import DB
    from lsm.fs_types import Lock
    from lsm.log.offsets import Since
    from lsm.log.source import LogSource
    from lsm.state import State

MAX_CHANGES = 1000


class Consumer:
    """Reads changes in order and remembers durably how far it has come.

    Made by `db.consumer(name)`, in the process that writes the store or beside it.  `poll` hands out what
    comes next, `commit` makes the position durable; after a crash it goes on behind the last commit.  A
    context manager.  Nobody else can use the consumer while it is open; it is for one thread.
    """

    def __init__(
        self, db: DB, registry: Registry, source: LogSource, lock: Lock, name: str, settings: Settings
    ) -> None:
        """Take over a registered consumer whose lock is held; users call `db.consumer`."""
        self._db = db  # a store that is being read must not be collected
        self._state: State = db._state
        self._registry = registry
        self._source = source
        self._lock: Lock | None = lock
        self._stream: ChangeStream | None = None
        self._rows: Iterator[Change] = iter(())
        self._joined: WriteBatch | None = None
        self._dropped: ConsumerDropped | None = None
        self.name = name
        self._settings = settings
        record = self._record()
        self._position = self._shown_seq = record.position
        self._foreign = _why_foreign(record, source)

    # Reading

    def poll(self, max_changes: int = MAX_CHANGES, timeout: float | None = 0) -> list[Change]:
        """Return the next changes, at most so many; none if none has come after `timeout` seconds.

        None waits for ever.  What is returned once is not returned again by this consumer, committed or not,
        unless `seek` goes back.
        """
        _check_limits(max_changes, timeout)
        self._check_usable()
        changes = self._take(max_changes)
        if not changes:
            # There may be writes that nobody has asked to be durable.
            self._source.settle()
            changes = self._take(max_changes)
        if not changes and timeout != 0:
            self._wait(timeout)
            changes = self._take(max_changes)
        return changes

    def _take(self, count: int) -> list[Change]:
        """Return what can be read at once."""
        if self._stream is None:
            self._stream = ChangeStream(
                self._source, self._state.tables, Span(since=self._position, until=SEQ_MAX)
            )
            self._rows = chain.from_iterable(columns.rows() for columns in self._stream.columns())
        stream = self._stream
        changes: list[Change] = []
        try:
            changes.extend(islice(self._rows, count))
        except Error as error:
            self._stop_reading()
            if not changes:
                raise self._explained(error) from error
            # What came before the damage is good; the next call meets it again.
            self._position = changes[-1].seq
        except BaseException:
            self._stop_reading()
            raise
        if len(changes) == count:
            self._position = changes[-1].seq
        elif self._stream is not None:
            # Behind the last change there may be writes to the store's own books: those are done with, too.
            self._position = max(self._position, stream.position)
            self._stop_reading()
        if changes:
            self._shown_seq = changes[-1].seq
        return changes

    def _wait(self, timeout: float | None) -> None:
        """Return when there may be a change, or after so long."""
        span = Span(since=self._position, until=SEQ_MAX, follow=True, timeout=timeout)
        columns = ChangeStream(self._source, self._state.tables, span).columns()
        try:
            next(columns, None)
        except OffsetOutOfRange as error:
            raise self._explained(error) from error
        finally:
            columns.close()  # type: ignore[attr-defined]  # it is a generator

    def _stop_reading(self) -> None:
        self._stream, self._rows = None, iter(())

    def _explained(self, error: Error) -> Error:
        """Return why what comes next cannot be read."""
        if not isinstance(error, OffsetOutOfRange) or not self._record().is_pinned:
            return error
        self._dropped = ConsumerDropped(self.name, error.requested, error.earliest, error.latest)
        return self._dropped

    # Positions

    def commit(self, seq: int | None = None, *, batch: WriteBatch | None = None) -> None:
        """Make the position durable: everything up to `seq`, or up to what was polled last, is dealt with.

        With `batch`, in the process that writes, the position becomes part of that batch, and is committed
        with it or not at all.  A number beyond what was polled skips what lies between; a number before the
        last commit is refused: `seek` goes back.
        """
        self._check_usable()
        self._check_joined(batch)
        record = self._record()
        target = self._position if seq is None else self._checked(seq, record)
        epoch = self._source.version.epoch_of(target)
        following = replace(record.after(self._state.clock.now_us()), position=target, epoch=epoch)
        if batch is not None:
            self._join(batch, following)
        elif target > record.position and (seq is not None or self._is_worth_a_commit(record.position)):
            self._registry.write(following)
        if target > self._position:
            self._go_to(target)

    def _checked(self, seq: int, record: Record) -> int:
        check_seq(seq, "seq")
        if seq < record.position:
            raise InvalidArgument(
                f"consumer {self.name!r} has committed {record.position}: only seek({seq}) goes back"
            )
        if seq > self._position and seq > (last := latest(self._source)):
            raise InvalidArgument(f"{seq} lies in the future: the log ends at {last}")
        return seq

    def _is_worth_a_commit(self, committed: int) -> bool:
        """Tell whether there was anything to deal with, or a whole segment that can go.

        A commit is a write to the store's books, and so is a reason to commit the next time; a consumer that
        polls and commits in a loop must come to rest.
        """
        return self._shown_seq > committed or any(
            meta.last_seq is not None and committed < meta.last_seq <= self._position
            for meta in self._source.version.segments
        )

    def _join(self, batch: WriteBatch, record: Record) -> None:
        if not self._registry.is_writer:
            raise ReadOnlyError(
                f"consumer {self.name!r} is not in the process that writes: it cannot commit with a batch"
            )
        if batch._store is not self._state:
            raise InvalidArgument("the batch is of another store")
        batch._put_in(self._registry.books._space.id, self.name.encode(), encode(record))
        self._joined = batch

    def _check_joined(self, batch: WriteBatch | None) -> None:
        if self._joined is not None and self._joined is not batch and not self._joined.is_done:
            raise InvalidArgument(
                f"consumer {self.name!r} has joined a batch that is neither committed nor discarded yet"
            )

    def seek(self, where: Since) -> None:
        """Go on behind a sequence number, at "earliest" or "latest", or at a moment; durable at once.

        It also takes up a consumer that was dropped, or whose position belongs to another log.
        """
        self._check_open()
        self._check_joined(None)
        following = replace(
            self._record().after(self._state.clock.now_us()), is_dropped=False, **self._settings
        )
        position = place(self._registry, self._source, following, where)
        self._registry.files.remove(self.name, "dropped")
        self._foreign = self._dropped = None
        self._shown_seq = position
        self._go_to(position)

    def _go_to(self, position: int) -> None:
        self._position = position
        self._stop_reading()

    @property
    def position(self) -> int:
        """The sequence number behind which `poll` goes on."""
        return self._position

    @property
    def committed(self) -> int:
        """The sequence number behind which it would go on after a crash."""
        self._check_open()
        return self._record().position

    @property
    def lag(self) -> int:
        """How many sequence numbers are durable and were not polled yet."""
        self._check_open()
        return max(0, latest(self._source) - self._position)

    # Life

    def _record(self) -> Record:
        record = self._registry.record(self.name)
        if record is None:
            raise ConsumerNotFound(f"consumer {self.name!r} was removed from {self._state.fs.name}")
        return record

    def _check_open(self) -> None:
        self._state.check_open()
        if self._lock is None:
            raise ClosedError(f"consumer {self.name!r} was closed")

    def _check_usable(self) -> None:
        self._check_open()
        if self._foreign is not None:
            raise ForeignLog(*self._foreign.args)
        if self._dropped is None and self._registry.files.has(self.name, "dropped"):
            record = self._record()
            if record.is_dropped:
                last = latest(self._source)  # looks again what there is
                first = earliest(self._source.version)
                self._dropped = ConsumerDropped(self.name, record.position, first, last)
        if self._dropped is not None:
            dropped = self._dropped
            raise ConsumerDropped(dropped.name, dropped.position, dropped.earliest, dropped.latest)

    def close(self) -> None:
        """Let others use the consumer; what was not committed is not lost, it comes again.

        The second call does nothing.
        """
        lock, self._lock = self._lock, None
        if lock is not None:
            self._stop_reading()
            self._source.close()
            lock.release()
            if self._registry.files.fs is not self._state.fs:
                self._registry.files.fs.close()

    def __enter__(self) -> Consumer:
        """Return the consumer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __del__(self) -> None:
        """Close a forgotten consumer, and say that it was forgotten."""
        if getattr(self, "_lock", None) is None:
            return
        if self._state.end is None:  # else it is a forked child that has none of it
            warnings.warn(f"{self!r} was never closed", ResourceWarning, stacklevel=2, source=self)
        self.close()

    def __repr__(self) -> str:
        """Say which consumer this is and where it stands."""
        return f"<lsm.Consumer {self.name!r} of {self._state.fs.name!r} at {self._position}>"


def _check_limits(max_changes: object, timeout: object) -> None:
    if isinstance(max_changes, bool) or not isinstance(max_changes, int):
        raise InvalidType(f"max_changes is a whole number, not {type(max_changes).__name__}")
    if max_changes < 1:
        raise InvalidArgument(f"max_changes must be 1 or more, not {max_changes}")
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise InvalidType(f"timeout is a number of seconds or None, not {type(timeout).__name__}")
    if not timeout >= 0:
        raise InvalidArgument(f"timeout must be 0 or more, not {timeout}")


def _why_foreign(record: Record, source: LogSource) -> ForeignLog | None:
    """Return why a position cannot be one of this log, None if it can."""
    last = latest(source)
    version = source.version
    later = [epoch.first_seq for epoch in version.epochs if epoch.number > record.epoch]
    if record.epoch > version.epoch or (later and record.position >= later[0]):
        return ForeignLog(
            f"consumer {record.name!r} stands at {record.position} of epoch {record.epoch}; this log, now in "
            f"epoch {version.epoch}, went on differently: seek() to go on here"
        )
    if record.position > last:
        return ForeignLog(
            f"consumer {record.name!r} stands at {record.position}, but the log ends at {last}: it is of a "
            "log that went on differently, such as one from before a restore; seek() to go on here"
        )
    return None
