"""The commands put together."""

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from typing import Annotated

import typer

from lsm.cli.bench import PASSED_ON, bench
from lsm.cli.changes import changes
from lsm.cli.changes import compact as log_compact
from lsm.cli.consumers import consumers
from lsm.cli.demo.command import demo
from lsm.cli.explain import explain
from lsm.cli.inspecting import keyspaces, stats, verify
from lsm.cli.log import apply, info, promote, ship
from lsm.cli.maintaining import checkpoint, compact
from lsm.cli.output import show
from lsm.cli.parameters import as_command
from lsm.cli.reading import get, scan
from lsm.cli.spark_sql import spark_sql
from lsm.cli.transfer import export, import_
from lsm.cli.writing import delete, put

_BYTES_HELP = (
    r"Keys and values are text, taken as UTF-8, in which \xNN \n \t \r \\ stand for one byte each; or "
    r"hex:00ff, or base64:AP8= as a whole. Printed are ASCII and these escapes, so that what is printed can "
    r"be typed again. Write -- before a key or value that begins with a hyphen."
)
_JSON_HELP = 'In JSON a string is UTF-8 text; all other bytes are {"base64": "..."}.'
_EXIT_HELP = (
    "Exit codes: 0 done, 1 not found or damaged, 2 wrong usage, 3 the store or the system refused, "
    "130 interrupted, 141 output closed."
)

app = typer.Typer(
    name="lsm",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback with local variables would show keys and values
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n\n".join((_BYTES_HELP, _JSON_HELP, _EXIT_HELP)),
)

_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Data": (put, get, delete, scan),
    "Files": (export, import_, spark_sql),
    "Store": (stats, explain, verify, compact, checkpoint, keyspaces),
    "Log": (changes, consumers),
    "Tour": (demo,),
}
for _panel, _functions in _COMMANDS.items():
    for _function in _functions:
        _epilog = f"{_BYTES_HELP}\n\n{_JSON_HELP}" if _panel == "Data" else None
        _name = _function.__name__.rstrip("_").replace("_", "-")  # import is a word of Python
        app.command(name=_name, rich_help_panel=_panel, epilog=_epilog)(as_command(_function))

app.command(rich_help_panel="Measuring", context_settings=PASSED_ON, add_help_option=False)(bench)

_log_app = typer.Typer(no_args_is_help=True, help="Look at the log, compact it, ship it to a copy.")
for _function in (info, log_compact, ship, apply, promote):
    _log_app.command(name=_function.__name__)(as_command(_function))
app.add_typer(_log_app, name="log", rich_help_panel="Log")


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        try:
            show(f"lsm {version('lsmlog')}")
        except PackageNotFoundError:  # run from a source tree that was never installed
            show("lsm, not installed")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """An embedded key-value store: look into one, change it, check it."""


def run() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Where a terminal has no sign for a tick or a dash, an escape is better than a traceback.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="lsm")
