"""Progress on a terminal, and silence elsewhere."""

import io

from rich.console import Console
from rich.progress import Progress

from bench.progress import Bar, Counter, shown_progress


def test_a_bar_without_a_terminal_says_nothing(capsys):
    with shown_progress() as bar:
        bar.start(2)
        bar.step("one")
        with bar.counting("work", 10) as counter:
            counter.done(5)

    assert capsys.readouterr() == ("", "")


def test_work_that_is_counted_has_a_line_of_its_own_while_it_lasts():
    progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))
    bar = Bar(progress)
    bar.start(3)
    bar.step("one")

    with bar.counting("work", 10) as counter:
        counter.done(4)
        steps, work = progress.tasks
        assert (steps.description, steps.completed, steps.total) == ("one", 0, 3)
        assert (work.description, work.completed, work.total) == ("work", 4, 10)
    bar.step("two")

    (steps,) = progress.tasks
    assert (steps.description, steps.completed) == ("two", 1)


def test_a_bar_that_only_counts_shows_no_steps():
    progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))

    with Bar(progress).counting("work", 10):
        assert [task.description for task in progress.tasks] == ["work"]


def test_a_counter_without_a_bar_is_silent():
    Counter().done(3)
