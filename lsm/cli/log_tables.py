"""The log and its consumers as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.table import Table

import lsm
from lsm.cli.output import plural, printable, size
from lsm.cli.stats_tables import facts, new_table


def log_tables(log: lsm.LogInfo) -> Iterator[Table]:
    """Yield the log at a glance, and its segments."""
    yield _summary(log)
    yield _segments_table(log)


def log_as_json(log: lsm.LogInfo) -> dict[str, object]:
    """Return everything there is to know of a log."""
    return {
        "id": log.id,
        "store_id": log.store_id,
        "epoch": log.epoch,
        "earliest": log.earliest,
        "latest": log.latest,
        "segments": [
            {
                "number": segment.number,
                "first_seq": segment.first_seq,
                "last_seq": segment.last_seq,
                "size_bytes": segment.size_bytes,
                "first_time": in_utc(segment.first_time),
                "last_time": in_utc(segment.last_time),
                "is_closed": segment.is_closed,
                "is_flushed": segment.is_flushed,
            }
            for segment in log.segments
        ],
    }


def consumers_table(consumers: list[lsm.ConsumerInfo]) -> Table:
    """Return one line for each consumer."""
    table = new_table("consumers")
    for name in ("name", "position", "behind", "bytes", "cap", "pinned", "committed", "state"):
        table.add_column(name, justify="left" if name in ("name", "state") else "right")
    for one in consumers:
        table.add_row(
            printable(one.name),
            f"{one.position:,}",
            f"{one.lag:,}",
            size(one.lag_bytes),
            "–" if one.max_lag_bytes is None else size(one.max_lag_bytes),
            "yes" if one.is_pinned else "no",
            _moment(datetime.fromtimestamp(one.committed_time / 1e6, UTC)),
            _trouble(one),
        )
    return table


def consumer_as_json(one: lsm.ConsumerInfo) -> dict[str, object]:
    """Return everything there is to know of a consumer."""
    return {
        "name": one.name,
        "position": one.position,
        "lag": one.lag,
        "lag_bytes": one.lag_bytes,
        "is_pinned": one.is_pinned,
        "max_lag_bytes": one.max_lag_bytes,
        "is_dropped": one.is_dropped,
        "committed_time": one.committed_time,
        "where": one.where,
        "problem": one.problem or None,
    }


def in_utc(time: datetime | None) -> str | None:
    """Return a time in a form that --since takes."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _summary(log: lsm.LogInfo) -> Table:
    table = facts("log")
    table.add_row("store", f"{log.store_id}, epoch {log.epoch}")
    count = log.latest - log.earliest + 1
    table.add_row(
        "sequence numbers",
        f"{log.earliest:,} to {log.latest:,}" if count else f"none; the next is {log.latest + 1:,}",
    )
    table.add_row("segments", f"{plural(len(log.segments), 'segment')}, {size(log.size_bytes)}")
    return table


def _segments_table(log: lsm.LogInfo) -> Table:
    table = new_table("segments")
    for name in ("number", "first", "last", "size", "from", "to", "state"):
        table.add_column(name, justify="left" if name == "state" else "right")
    for segment in log.segments:
        table.add_row(
            f"{segment.number}",
            f"{segment.first_seq:,}",
            "–" if segment.last_seq is None else f"{segment.last_seq:,}",
            size(segment.size_bytes),
            _moment(segment.first_time),
            _moment(segment.last_time),
            _state(segment),
        )
    return table


def _moment(time: datetime | None) -> str:
    """Return a time for people, also one that --since takes, with a gap where a narrow table can break it."""
    return "–" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _state(segment: lsm.LogSegment) -> str:
    if not segment.is_closed:
        return "open"
    return "in tables" if segment.is_flushed else "closed"


def _trouble(one: lsm.ConsumerInfo) -> str:
    if one.is_dropped:
        return "dropped: it fell behind its cap"
    return printable(one.problem)
