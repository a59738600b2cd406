"""Progress of long work, on standard error and only on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

import lsm
from lsm.cli.output import console

Advance = Callable[[int, int | None], None]
"""Told how many bytes are done, and of how many if that is known."""


@contextmanager
def byte_progress(description: str) -> Iterator[Advance]:
    """Show a bar of bytes while the block runs."""
    terminal = console(stderr=True)
    if not terminal.is_terminal:
        yield _ignore
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=terminal,
        transient=True,
    ) as progress:
        task = progress.add_task(description, total=None)

        def advance(done_bytes: int, total_bytes: int | None) -> None:
            progress.update(task, completed=done_bytes, total=total_bytes)

        yield advance


@contextmanager
def spinner(description: str, status: Callable[[], str]) -> Iterator[None]:
    """Show that work goes on, for how long, and what `status` says, while the block runs."""
    terminal = console(stderr=True)
    if not terminal.is_terminal:
        yield
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        _StatusColumn(status),
        console=terminal,
        transient=True,
    ) as progress:
        progress.add_task(description, total=None)
        yield


def _ignore(done_bytes: int, total_bytes: int | None) -> None:
    """Show nothing."""


class _StatusColumn(ProgressColumn):
    """Asks for the text when it is drawn, so that work can stay in the main thread, where Ctrl-C lands."""

    max_refresh = 0.2

    def __init__(self, status: Callable[[], str]) -> None:
        super().__init__()
        self._status = status
        self._last = ""

    def render(self, task: Task) -> Text:
        """Return the text of this moment."""
        with suppress(lsm.Error, OSError):  # while a store opens or closes there is nothing new to say
            self._last = self._status()
        return Text(self._last, style="dim")
