"""Options of the commands that read the log."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from lsm.changes import Since as Position
from lsm.cli.exits import BadUsage
from lsm.cli.parameters import StorePath

Since: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE",
        help="Begin after this sequence number, or at a time such as 2026-01-31T12:00Z, or at the earliest "
        "change there is (as without it), or the latest.",
    ),
]
TombstoneSeconds: TypeAlias = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="Of a compacted log, leave deletions out that are older."),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="With --follow, end after so long without a change."),
]
Follow: TypeAlias = Annotated[bool, typer.Option("--follow", "-f", help="Wait for more instead of ending.")]


class FormatName(StrEnum):
    """What lines look like."""

    JSONL = "jsonl"
    DEBEZIUM = "debezium"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOf:
    """Whose log is read."""

    path: StorePath
    keyspace: Annotated[
        str | None, typer.Option("--keyspace", "-k", metavar="NAME", help="Only this keyspace, else all.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When to end."""

    follow: Follow = False
    timeout: Timeout = None
    limit: Annotated[int | None, typer.Option(min=0, metavar="N", help="End after so many changes.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which changes are meant."""

    since: Since = None
    until: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="End with this sequence number.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is told of each change, and what comes before the first."""

    before: Annotated[bool, typer.Option("--before", help="With the value that the key had before.")] = False
    compacted: Annotated[
        bool, typer.Option("--compacted", help="Only the latest change of every key, then what follows.")
    ] = False
    tombstone_seconds: TombstoneSeconds = None
    snapshot: Annotated[
        bool, typer.Option("--snapshot", help="All pairs as they are now, then what follows.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStyle:
    """How changes are written."""

    format: Annotated[FormatName, typer.Option("--format", help="Plain JSON, or Debezium events.")] = (
        FormatName.JSONL
    )
    schema: Annotated[
        bool, typer.Option("--schema", help="Debezium: wrap each part with its schema.")
    ] = False
    keys: Annotated[
        bool, typer.Option("--keys", help="Debezium: lines of key and value, as messages have them.")
    ] = False
    tombstones: Annotated[
        bool, typer.Option("--tombstones", help="Debezium: after a deletion its key with null; needs --keys.")
    ] = False
    text: Annotated[
        bool, typer.Option("--text", help="Debezium: keys and values as strings; they must be UTF-8.")
    ] = False
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Debezium: logical name; the store's directory if not given."),
    ] = None

    def check(self) -> None:
        """Raise BadUsage for options that say nothing together."""
        if self.format is not FormatName.DEBEZIUM:
            for option, is_given in (
                ("--schema", self.schema),
                ("--keys", self.keys),
                ("--tombstones", self.tombstones),
                ("--text", self.text),
                ("--name", self.name is not None),
            ):
                if is_given:
                    raise BadUsage(f"{option} is for --format debezium")
        if self.tombstones and not self.keys:
            raise BadUsage("--tombstones needs --keys: a tombstone is a key without a value")


def parse_position(text: str | None) -> Position:
    """Return what --since stands for."""
    if text is None or text == "earliest":
        return "earliest"
    if text == "latest":
        return "latest"
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadUsage(
            f"--since {text!r:.60} is neither a sequence number nor earliest, latest or a time "
            "such as 2026-01-31T12:00Z"
        ) from None
    if moment.tzinfo is None:
        raise BadUsage(f"--since {text} has no time zone; {moment.isoformat()}Z is one in UTC")
    return moment
