"""`lsm changes` and `lsm log compact`: the log as lines for other programs."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import lsm
from lsm.cdc import Debezium, Format, JsonLines, Origin, Row, Shape
from lsm.changes import Since
from lsm.cli.exits import BadUsage
from lsm.cli.hangup import ending_with_the_reader
from lsm.cli.log_parameters import (
    Content,
    FormatName,
    LineStyle,
    LogOf,
    Pace,
    TombstoneSeconds,
    Window,
    parse_position,
)
from lsm.cli.output import data_stream
from lsm.cli.stores import store_to_read

EachLines: TypeAlias = Generator[tuple[bytes, ...]]
"""The lines of one change after the other."""


def changes(source: LogOf, window: Window, content: Content, pace: Pace, style: LineStyle) -> None:
    """Print every change of the log, one a line, in the order of commits.

    Only what is durable is shown, each change exactly once.  Works beside a writer.  The number of the last
    line seen is where --since goes on.
    """
    style.check()
    if content.snapshot and (window.since is not None or content.compacted):
        raise BadUsage("--snapshot begins with what is there now: neither --since nor --compacted go with it")
    _print_changes(source, window, content, pace, style)


def compact(
    source: LogOf,
    window: Window,
    pace: Pace,
    style: LineStyle,
    tombstone_seconds: TombstoneSeconds = None,
) -> None:
    """Print the latest change of every key, in the order of commits: what seeds a new copy of the state."""
    style.check()
    content = Content(compacted=True, tombstone_seconds=tombstone_seconds)
    _print_changes(source, window, content, pace, style)


def _print_changes(source: LogOf, window: Window, content: Content, pace: Pace, style: LineStyle) -> None:
    since = 0 if content.compacted and window.since is None else parse_position(window.since)
    with store_to_read(source.path) as db, ending_with_the_reader():
        if source.keyspace is not None:
            db.keyspace(source.keyspace, create=False)
        reading = _Reading(db, source.keyspace, window, content, pace)
        with closing(reading.each_lines(_new_format(db, source.path, content, style), since)) as each:
            _write(islice(each, pace.limit), is_live=pace.follow)


def _write(each: Iterable[tuple[bytes, ...]], *, is_live: bool) -> None:
    out = data_stream()
    for lines in each:
        for line in lines:
            out.write(line + b"\n")
        if is_live:  # somebody waits for it at the other end
            out.flush()


def _new_format(db: lsm.DB, path: Path, content: Content, style: LineStyle) -> Format:
    if style.format is FormatName.JSONL:
        return JsonLines(before=content.before)
    directory = path.resolve().name
    log = db.log
    return Debezium(
        Origin(name=style.name or directory, db=directory, store_id=log.store_id, epoch=log.epoch),
        Shape(
            before=content.before,
            schema=style.schema,
            keys=style.keys,
            tombstones=style.tombstones,
            text=style.text,
            batches=not content.compacted,  # of a compacted log, batches are not whole
        ),
    )


class _Reading:
    """One pass over a log, as the options ask for it."""

    def __init__(
        self, db: lsm.DB, keyspace: str | None, window: Window, content: Content, pace: Pace
    ) -> None:
        self._db = db
        self._keyspace = keyspace
        self._window = window
        self._content = content
        self._pace = pace

    def each_lines(self, format_: Format, since: Since) -> EachLines:
        """Yield the lines of the snapshot, if one is asked for, and of every change."""
        if self._content.snapshot:
            with self._db.bootstrap() as start:
                yield from _snapshot_lines(format_, self._rows(start))
                since = start.seq
        yield from self._change_lines(format_, since)

    def _change_lines(self, format_: Format, since: Since) -> EachLines:
        changes = self._db.changes(
            since,
            self._window.until,
            follow=self._pace.follow,
            timeout=self._pace.timeout,
            keyspace=self._keyspace,
            before=self._content.before,
            compacted=self._content.compacted,
            tombstone_seconds=self._content.tombstone_seconds,
        )
        is_first = True
        for change in changes:
            if is_first and isinstance(format_, Debezium) and not self._content.compacted:
                self._count_what_came_before(format_, change)
            is_first = False
            yield format_.change(change)

    def _count_what_came_before(self, format_: Debezium, change: lsm.Change) -> None:
        """Let the places in a batch be right though reading begins in the middle of it."""
        if change.seq > change.batch_first_seq:
            since, until = change.batch_first_seq - 1, change.seq - 1
            for earlier in self._db.changes(since, until, keyspace=self._keyspace):
                format_.count(earlier)

    def _rows(self, start: lsm.Bootstrap) -> Iterator[Row]:
        now_us = time.time_ns() // 1000
        for name in start.keyspaces if self._keyspace is None else [self._keyspace]:
            for key, value in start.scan(name):
                yield Row(start.seq, now_us, key, value, name)


def _snapshot_lines(format_: Format, rows: Iterator[Row]) -> EachLines:
    """Yield the lines of rows; the last is marked, so that the end of the snapshot is known at once."""
    waiting = next(rows, None)
    for row in rows:
        assert waiting is not None
        yield format_.row(waiting, is_last=False)
        waiting = row
    if waiting is not None:
        yield format_.row(waiting, is_last=True)
