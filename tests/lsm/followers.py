"""Stores and their copies on one disk in memory, and what must be the same in both."""

from __future__ import annotations

import io
from typing import NamedTuple

import lsm
from lsm.adoption import Adopted, Load, adopt, stage_columns
from lsm.db import DB
from lsm.follower.api import apply_on, ship_on
from lsm.follower.follower import Follower, follow_on
from lsm.options import OptionValue
from sstable import Columns, Kind, TableMeta, TableOptions
from tests.reliability.tiny import StepClock, open_tiny
from tests.support.memfs import MemFS

KEEP: dict[str, OptionValue] = {"log_retention": "all"}


class Contents(NamedTuple):
    """All that a store holds and all that its log tells, but for where the log begins."""

    seq: int
    keyspaces: dict[int, str]
    pairs: dict[str, dict[bytes, bytes]]
    changes: list[lsm.Change]


def contents(db: DB, since: int = 0) -> Contents:
    """Read everything, hidden keyspaces too; changes are those after `since`."""
    metas = db._state.version.keyspaces.values()
    return Contents(
        db.seq,
        {meta.id: meta.name for meta in metas},
        {meta.name: dict(db._keyspace(meta.name, create=False).scan()) for meta in metas},
        list(db.changes(since)),
    )


def assert_same(copy: DB, source: DB) -> None:
    """The copy holds what the source holds, and their logs are one where both have it."""
    since = max(copy.log.earliest, source.log.earliest) - 1
    assert contents(copy, since) == contents(source, since)


class Pair:
    """A source and the directory of its copy, on one disk with one clock."""

    def __init__(self, **options: OptionValue) -> None:
        self.clock = StepClock()
        self.fs = MemFS(directory="source")
        self.options = {**KEEP, **options}
        self.db = open_tiny(self.fs, clock=self.clock, **self.options)

    def dir(self, name: str = "copy") -> MemFS:
        return self.fs.sibling(name)

    def open(self, name: str = "source", flag: str = "w", **options: OptionValue) -> DB:
        return open_tiny(self.dir(name), flag, clock=self.clock, **options)

    def reopen(self) -> None:
        self.db.close()
        self.db = self.open()

    def tables(self) -> dict[int, TableMeta]:
        return self.db._state.version.tables()

    def write(self, count: int = 20, start: int = 0) -> None:
        """Do all kinds of writes, enough to flush and compact several times."""
        second = self.db.keyspace("second")
        books = self.db._system_keyspace("lsm:books")
        for number in range(start, start + count):
            self.db.put(b"key-%d" % (number % 7), b"value %d" % number)
            if number % 3 == 0:
                second.put(b"other-%d" % (number % 5), b"%d" % number)
            if number % 4 == 0:
                self.db.delete(b"key-%d" % (number % 5))
            if number % 5 == 0:
                with self.db.batch() as batch:
                    batch.put(b"a", b"%d" % number)
                    batch.delete(b"key-1")
                    batch.put(b"b", b"%d" % number, keyspace="second")
            if number % 6 == 0:
                books.put(b"position", b"%d" % number)

    def load(self, rows: dict[bytes, bytes], **how: object) -> Adopted:
        """Let the source adopt a table with these rows."""
        stage, version = self.dir("stage"), self.db._state.version
        name = f"part-{len(stage.list())}"
        columns = Columns.from_lists(list(rows), [0] * len(rows), [Kind.PUT] * len(rows), list(rows.values()))
        options = TableOptions(block_bytes=256)
        stage_columns(stage, name, [columns], options, store_id=version.store_id, time_us=1)
        load = Load(source=stage, names=(name,), keyspace=0, **how)
        return adopt(self.db._state, self.db._committer, self.db._background, load)

    def follow(self, source: str = "source", target: str = "copy", **how: object) -> Follower:
        options = how.pop("options", {})
        return follow_on(self.dir(source), self.dir(target), clock=self.clock, options=options, **how)

    def ship(self, since: int | None = None, source: str = "source") -> bytes:
        out = io.BytesIO()
        ship_on(self.dir(source), out, since, clock=self.clock)
        return out.getvalue()

    def apply(self, stream: bytes, target: str = "copy", **how: object) -> int:
        return apply_on(io.BytesIO(stream), self.dir(target), clock=self.clock, **how)

    def promoted(self, name: str = "copy") -> DB:
        follower = self.follow(target=name)
        follower.catch_up()
        return follower.promote()
