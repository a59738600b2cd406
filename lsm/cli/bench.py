"""`lsm bench`: the same as `python -m bench`."""

import typer

PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Settings of the command: everything behind its name, --help too, is the bench's."""


def bench(context: typer.Context) -> None:
    """Measure: workloads, amplification, peers side by side, reports."""
    from bench.cli import app  # late: no other command needs it

    app(args=context.args, prog_name="lsm bench")
