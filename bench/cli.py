"""The command line of the bench."""

import typer

from bench.background.command import background
from bench.compare.command import compare
from bench.log.command import log
from bench.memory.command import memory
from bench.spark.command import spark

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Benchmarks of the store.",
)

_PANELS = {
    "Beside others": (compare, spark),
    "Parts of the store": (background, memory, log),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
