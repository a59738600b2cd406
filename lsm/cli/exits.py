"""How a command ends: exit codes, and an error as one readable line."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer

import lsm
from lsm.cli.output import say


class ExitCode(IntEnum):
    """What the shell gets to know."""

    OK = 0
    NO = 1  # the key is not there, the check found damage, the demo lost something
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130  # 128 + SIGINT
    PIPE = 141  # 128 + SIGPIPE


class BadUsage(Exception):
    """What was asked for makes no sense; the message says why."""


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Turn every expected error into one line on standard error and an exit code."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a reader that is gone can still be handled
    except (BadUsage, lsm.InvalidArgument) as error:
        fail(describe(error), ExitCode.USAGE)
    except lsm.Error as error:
        fail(describe(error), ExitCode.STORE)
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(ExitCode.PIPE) from None
    except OSError as error:
        fail(describe(error), ExitCode.STORE)
    except KeyboardInterrupt:
        fail("interrupted", ExitCode.INTERRUPTED)


def fail(message: str, code: ExitCode) -> NoReturn:
    """Say why on standard error and end with `code`."""
    say(f"lsm: {message}", style="red")
    raise typer.Exit(code) from None


def describe(error: Exception) -> str:
    """Return what an error means for somebody at a command line, in one line."""
    match error:
        case lsm.LockedError():
            holder = error.holder or "another process"
            readers = "get, scan, export, stats, explain, verify and changes"
            return f"{error.path} is open for writing by {holder}; {readers} work beside it"
        case lsm.DiskFull():
            return f"{error.path}: no space left; free some and run this again, nothing acknowledged is lost"
        case lsm.OffsetOutOfRange() if error.requested < error.earliest:
            return f"{error}; --since earliest begins with what is there, --snapshot with what is true now"
        case OSError(strerror=str(reason), filename=None):
            return reason
        case OSError(strerror=str(reason)):
            return f"{os.fsdecode(error.filename)}: {reason}"
        case _:
            return str(error) or type(error).__name__


def no_store(path: str | os.PathLike[str]) -> lsm.StoreNotFound:
    """Return the error for a path without a store, with the advice that helps here."""
    return lsm.StoreNotFound(errno.ENOENT, f"no store at {os.fspath(path)}; `lsm put` makes one")


def _drop_output() -> None:
    """Let what is still buffered go nowhere: the interpreter flushes once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
