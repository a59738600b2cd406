"""A view: a state that a fold keeps in step with the log."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lsm.errors import ClosedError, InvalidArgument, OffsetOutOfRange
from lsm.views import source
from lsm.views.entry import Entry, Phase
from lsm.views.folding import chunks
from lsm.views.reader import ViewReader
from lsm.views.rebuild import Source, check_bootstrap, check_source, rebuild, resume
from lsm.views.verify import ViewReport, verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.db import DB
    from lsm.views.fold import Fold

HEARTBEAT_BYTES = 1024 * 1024
"""A position is also committed when so much log went by without anything to fold, to let that go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSettings:
    """What a view is registered with."""

    version: int = 1
    keyspace: str | None = None
    max_lag_bytes: int | None = None
    needs_history: bool = False


class View(ViewReader):
    """A named fold over the log and the state it has led to, readable as a mapping.

    Made by `db.view`.  State and position are committed together, so after a crash the state is what the
    fold makes of the log up to the position, exactly.  Safe to share between threads.
    """

    def __init__(self, db: DB, name: str, fold: Fold, settings: ViewSettings, turn: threading.RLock) -> None:
        super().__init__(db, name)
        self._fold = fold
        self._settings = settings
        self._turn = turn  # whoever has it may write the view's entry
        self._is_folding = False
        self._seen = 0  # up to here there is nothing to fold, though the position says less
        self._end = threading.Event()
        self.error: Exception | None = None
        """Why the view stands still, if it does: what the last refresh raised."""
        with self._turn:
            self._register()

    @property
    def version(self) -> int:
        """The version of the fold; state that another version made is rebuilt by the next refresh."""
        return self._settings.version

    @property
    def keyspace(self) -> str | None:
        """The keyspace that is folded, None for all."""
        return self._settings.keyspace

    @property
    def needs_history(self) -> bool:
        """Whether only the whole log will do: such a view is never made from a bootstrap by itself."""
        return self._settings.needs_history or bool(getattr(self._fold, "needs_history", False))

    @property
    def lag(self) -> int:
        """How many changes the view does not hold yet; from a thousand on, the store's own count as well."""
        return self._lag_after(max(self.position, self._seen), self.keyspace)

    def refresh(self) -> int:
        """Fold everything that was written before this call; return how many changes were folded.

        The first refresh, and the first with another version, builds the state anew; until it is done readers
        see the old one.  If the fold raises, ViewFailed says at which sequence number; what came before is
        kept, and the next refresh goes on from there.
        """
        with self._folding():
            return self._catch_up()

    def rebuild(self, source: Source | None = None) -> int:
        """Fold everything anew, then replace the state at once; return how many changes were folded.

        From the "earliest" change that the log still holds, or from a "bootstrap": what the store holds now,
        as if each key had been put once, in the order of the last puts.  Without a choice it is the log if
        that reaches back to the first change, else a bootstrap; a fold that needs the whole history gets
        OffsetOutOfRange then.
        """
        wanted = check_source(source)
        with self._folding():
            self._seen = 0
            return rebuild(self, self._entry(), wanted)

    def verify(self) -> ViewReport:
        """Fold everything once more, in memory, and compare it with the state.

        It folds the same changes as the view did; where the log does not hold them any more, a bootstrap of
        this moment, to which the view is brought first.
        """
        with self._folding():
            return verify(self)

    def close(self) -> None:
        """End refreshing, also in the background; what is there stays readable."""
        self._end.set()

    @contextmanager
    def _folding(self) -> Iterator[None]:
        """Let one thread at a time fold, and keep what it raised."""
        self._check_going()  # before the turn: in a forked child it may be held by nobody
        with self._turn:
            if self._is_folding:
                raise InvalidArgument(f"the fold of view {self.name!r} must not refresh it")
            self._check_going()
            self._is_folding = True
            try:
                yield
            except Exception as error:
                self.error = error
                raise
            finally:
                self._is_folding = False
            self.error = None

    def _check_going(self) -> None:
        self._db._check_open()
        if self._end.is_set():
            raise ClosedError(f"view {self.name!r} was closed, or registered again")

    def _register(self) -> None:
        """Make the entry if there is none, so that the log is kept from now on; tidy up what is left over."""
        entry = self._books.read()
        settings = self._settings
        if entry is None:
            floor = source.earliest(self._db) - 1
            entry = self._books.commit(Entry(max_lag_bytes=settings.max_lag_bytes, floor=floor))
        building = entry.building
        is_foreign = building is not None and not building.is_made_by(settings.version, settings.keyspace)
        if is_foreign or entry.max_lag_bytes != settings.max_lag_bytes:
            entry = replace(entry, max_lag_bytes=settings.max_lag_bytes)
            # Durable before a state goes that the entry on disk may still speak of.
            entry = self._books.commit(replace(entry, building=None) if is_foreign else entry, sync=True)
        self._books.drop_states(entry)

    def _catch_up(self) -> int:
        entry = self._entry()
        building = entry.building
        if building is not None and building.is_made_by(self.version, self.keyspace):
            return rebuild(self, entry, "bootstrap") if building.is_seeding else resume(self, entry)
        serving = entry.serving
        if serving is None or not serving.is_made_by(self.version, self.keyspace):
            return rebuild(self, entry, None)
        try:
            return self._advance(entry, serving)
        except OffsetOutOfRange:
            check_bootstrap(self, since=serving.position)
            return rebuild(self, entry, "bootstrap")

    def _advance(self, entry: Entry, phase: Phase, until: int | None = None) -> int:
        """Fold on into one state, chunk by chunk; one that was being built is served at the end."""
        until = source.settled(self._db) if until is None else until
        is_new = phase is entry.building
        since = phase.position if is_new else max(phase.position, self._seen)
        stretch = source.LogStretch(self._db, since, until, phase.source)
        base, count = self._books.state(phase), 0
        for chunk in chunks(self.name, self._fold, stretch, base, self._check_going):
            self._check_going()
            count += chunk.count
            moved = replace(phase, position=chunk.position)
            if is_new and chunk.is_last:
                # Durable before the old state goes: the entry on disk must never speak of one that is gone.
                entry = self._books.commit(entry.switched(moved), moved, chunk.pending.writes, sync=True)
            elif chunk.count or self._wants_heartbeat(phase, until):
                entry = self._books.commit(entry.advanced(moved), moved, chunk.pending.writes)
        self._seen = stretch.position
        return count

    def _wants_heartbeat(self, phase: Phase, until: int) -> bool:
        return source.finished_bytes(self._db, phase.position, until) >= HEARTBEAT_BYTES
