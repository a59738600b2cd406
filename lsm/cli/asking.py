"""Asking before something is lost."""

import sys

import typer

from lsm.cli.exits import BadUsage, ExitCode
from lsm.cli.output import say


def ask(question: str, doing: str) -> None:
    """Return if the answer is yes; end the command if it is no, or if nobody can be asked."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadUsage(f"{doing} needs --yes where nobody can be asked")
    if not typer.confirm(question, err=True):
        say("nothing was done")
        raise typer.Exit(ExitCode.NO)
