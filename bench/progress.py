"""Progress of a long run: a bar on a terminal, silence anywhere else."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_REFRESHES_PER_SECOND = 4
"""Seldom: what draws the bar takes the interpreter from what is measured."""
_RATE_WINDOW_SECONDS = 5.0


class Counter:
    """Shows how far a piece of work is."""

    def __init__(self, progress: Progress | None = None, task: TaskID | None = None) -> None:
        """Show it on a line of a bar of rich, or nowhere."""
        self._progress, self._task = progress, task

    def done(self, count: int) -> None:
        """Say how much is done by now."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=count)


class Bar:
    """Shows which step of how many a run is at, and how fast a long step goes."""

    def __init__(self, progress: Progress | None = None) -> None:
        """Show steps on a bar of rich, or nowhere."""
        self._progress = progress
        self._task: TaskID | None = None

    def start(self, steps: int) -> None:
        """Say how many steps there will be."""
        if self._progress is not None:
            if self._task is None:
                self._task = self._progress.add_task("", total=None)
            self._progress.update(self._task, total=steps, completed=-1)

    def step(self, what: str) -> None:
        """End the step before, and name the one that begins."""
        if self._progress is not None:
            if self._task is None:
                self._task = self._progress.add_task("", total=None)
            self._progress.update(self._task, description=what, advance=1)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Counter]:
        """Show one piece of work on a line of its own, with rate and remaining time, while it lasts."""
        if self._progress is None:
            yield Counter()
            return
        task = self._progress.add_task(what, total=total, has_rate=True)
        try:
            yield Counter(self._progress, task)
        finally:
            self._progress.remove_task(task)


class _Rate(ProgressColumn):
    """How much is done a second."""

    def render(self, task: Task) -> Text:
        """Return the rate of what is counted, and nothing for steps."""
        if not task.fields.get("has_rate"):
            return Text("")
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="progress.data.speed")


@contextmanager
def shown_progress() -> Iterator[Bar]:
    """Show progress on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns,
        console=console,
        transient=True,
        refresh_per_second=_REFRESHES_PER_SECOND,
        speed_estimate_period=_RATE_WINDOW_SECONDS,
    ) as progress:
        yield Bar(progress)
