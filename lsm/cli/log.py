"""`lsm log info`, `lsm log ship`, `lsm log apply` and `lsm log promote`."""

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import lsm
from lsm import follower
from lsm.cli.asking import ask
from lsm.cli.exits import BadUsage, no_store
from lsm.cli.hangup import ending_with_the_reader
from lsm.cli.lines import standard_input
from lsm.cli.log_parameters import Follow, Timeout
from lsm.cli.log_tables import log_as_json, log_tables
from lsm.cli.output import console, data_stream, printable, say, show_json
from lsm.cli.parameters import AsJson, StorePath
from lsm.cli.stores import store_to_read

CopyPath: TypeAlias = Annotated[Path, typer.Argument(metavar="COPY", help="Directory of the copy.")]


def info(path: StorePath, json: AsJson = False) -> None:
    """Show which sequence numbers the log holds, in which segments, and how old they are."""
    with store_to_read(path) as db:
        log = db.log
    if json:
        show_json(log_as_json(log))
        return
    console().print(*log_tables(log), sep="\n")


def ship(
    path: StorePath,
    since: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Send what comes after it: what the copy has already."),
    ] = None,
    follow: Follow = False,
    timeout: Timeout = None,
) -> None:
    """Write what a copy needs to standard output, for `lsm log apply` at the other end of a pipe.

    Without --since all of the log, or a snapshot first where the log no longer begins at the beginning.
    """
    if sys.stdout is not None and sys.stdout.isatty():
        raise BadUsage("what is shipped is for a pipe or a file: bytes may command a terminal")
    with store_to_read(path) as db, ending_with_the_reader():
        follower.ship(db, data_stream(), since=since, follow=follow, timeout=timeout)


def apply(
    path: CopyPath,
    anew: Annotated[
        bool, typer.Option("--anew", help="Where the stream does not go on from the copy, make it anew.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Bring a copy of a store up to date with what `lsm log ship` writes, from standard input.

    Ends when the input does, and goes on from there when it is run again.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        raise BadUsage("what `lsm log ship` writes is expected on standard input")
    seq = follower.apply(standard_input(), path, bootstrap_again=anew)
    _report(path, "stands at", seq, json=json)


def promote(
    path: CopyPath,
    yes: Annotated[bool, typer.Option("--yes", help="Promote without asking.")] = False,
    json: AsJson = False,
) -> None:
    """Let a copy take writes, in an epoch of its own; its source's log is refused from then on."""
    if not yes:
        ask(f"Promote {printable(str(path))}? Nobody may write to its source any more.", "promoting")
    try:
        db = follower.promote(path)
    except lsm.StoreNotFound as error:
        raise no_store(path) from error
    with db:
        seq = db.seq
    _report(path, "takes writes from", seq, json=json)


def _report(path: Path, what: str, seq: int, *, json: bool) -> None:
    if json:
        show_json({"path": str(path), "seq": seq})
    else:
        say(f"{path} {what} sequence number {seq:,}")
