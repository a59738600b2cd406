"""The command line of the bench."""

import typer

from bench.amplify.command import amplify
from bench.background.command import background
from bench.compare.command import compare
from bench.compare_runs.command import compare_runs
from bench.log.command import log
from bench.memory.command import memory
from bench.report.command import report
from bench.run.command import run
from bench.simulate.command import simulate
from bench.spark.command import spark
from bench.sweep.command import sweep

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Benchmarks of the store.",
)

_PANELS = {
    "Amplification": (
        amplify,
        sweep,
        simulate,
    ),
    "One workload": (run,),
    "Beside others": (compare, spark),
    "Results": (report, compare_runs),
    "Parts of the store": (background, memory, log),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
