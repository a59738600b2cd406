"""What an open store says of itself: statistics, its tables, what the background has done."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lsm.stats import Stats, collect_stats
from lsm.tables import TableInfo, list_tables

if TYPE_CHECKING:
    from lsm.db import DB
    from lsm.explain.explanation import Explanation
    from lsm.history import JobRecord
    from lsm.state import State


class SightFace:
    """The part of a `DB` that looks at the store instead of its data."""

    _state: State

    def stats(self) -> Stats:
        """Return what there is to know about the store, as values."""
        db = cast("DB", self)
        db._check_open()
        with db._typed("looking at files"):
            return collect_stats(self._state, db._committer, db._background)

    def tables(self) -> list[TableInfo]:
        """Return the tables of all keyspaces, by keyspace, level and key."""
        db = cast("DB", self)
        db._check_open()
        with db._typed("looking at tables"):
            return list_tables(self._state)

    def jobs(self, since: int = 0) -> list[JobRecord]:
        """Return what the background has done since the store was opened, after job number `since`.

        The last 4,096 jobs are kept.
        """
        db = cast("DB", self)
        db._writable()
        assert db._background is not None
        return db._background.jobs.history.since(since)

    def explain(self, *, advice: bool = True) -> Explanation:
        """Say why write amplification, disk use and read cost are what they are, and what would help.

        Reads some of the tables, and tries other settings by the simulator unless `advice` is false: seconds.
        """
        from lsm.explain.store import explain_store  # brings the simulator along, which few programs need

        db = cast("DB", self)
        db._check_open()
        with db._typed("looking at tables"):
            return explain_store(self._state, advice=advice)
