"""Progress of a long run: a bar on a terminal, silence anywhere else."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Shows which step of how many a run is at."""

    def __init__(self, progress: Progress | None = None) -> None:
        """Show steps on a bar of rich, or nowhere."""
        self._progress = progress
        self._task = None if progress is None else progress.add_task("", total=None)

    def start(self, steps: int) -> None:
        """Say how many steps there will be."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=steps, completed=-1)

    def step(self, what: str) -> None:
        """End the step before, and name the one that begins."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=what, advance=1)


@contextmanager
def shown_progress() -> Iterator[Bar]:
    """Show progress on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Bar()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress)
