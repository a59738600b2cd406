"""`lsm consumers`."""

from typing import Annotated

import typer

from lsm.cli.asking import ask
from lsm.cli.log_tables import consumer_as_json, consumers_table
from lsm.cli.output import console, printable, say, show, show_json
from lsm.cli.parameters import AsJson, StorePath
from lsm.cli.stores import store_to_read


def consumers(
    path: StorePath,
    drop: Annotated[
        str | None, typer.Option(metavar="NAME", help="Forget this consumer; the log no longer waits for it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Drop without asking.")] = False,
    json: AsJson = False,
) -> None:
    """List who reads the log, how far each has come and how far it is behind; or drop one."""
    if drop is not None:
        _drop(path, drop, yes=yes, json=json)
        return
    with store_to_read(path) as db:
        found = db.consumers()
    if json:
        for one in found:
            show_json(consumer_as_json(one))
    elif found:
        console().print(consumers_table(found))
    else:
        say("no consumers")


def _drop(path: StorePath, name: str, *, yes: bool, json: bool) -> None:
    # Read-only is enough, and works beside the writer: a removal is a file that the writer takes up.
    with store_to_read(path) as db:
        if not yes:
            ask(f"Drop consumer {printable(name)} of {printable(str(path))}?", "--drop")
        db.drop_consumer(name)
    if json:
        show_json({"dropped": name})
    else:
        show(f"consumer {name} dropped")
