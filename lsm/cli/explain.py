"""`lsm explain`: why a store costs what it costs, or how one key is found."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lsm.cli.exits import BadUsage
from lsm.cli.output import console, show_json
from lsm.cli.parameters import AsJson, Source, key_option
from lsm.cli.progress import spinner
from lsm.cli.stats_tables import new_table
from lsm.cli.stores import keyspace_to_read, store_to_read
from lsm.cli.text import shortened
from lsm.explain.page import Section, is_text


def explain(
    source: Source,
    key: Annotated[
        bytes | None, key_option("Show every probe of the lookup of this key instead of the whole store.")
    ] = None,
    no_advice: Annotated[
        bool, typer.Option("--no-advice", help="Do not try other settings by the simulator.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Say why write amplification, disk use and read cost are what they are.

    Measured beside what formulas say, by level; and which single change of settings would help most.
    """
    if key is not None:
        _explain_key(source, key, json=json)
        return
    if source.keyspace is not None:
        raise BadUsage("--keyspace goes with --key: settings and costs are those of the whole store")
    with store_to_read(source.path) as db, spinner("looking at tables", str):
        found = db.explain(advice=not no_advice)
    if json:
        show_json(found.to_json())
        return
    out = console()
    for number, section in enumerate(found.sections()):
        if number:
            out.print()
        _show_section(out, section)


def _explain_key(source: Source, key: bytes, *, json: bool) -> None:
    with keyspace_to_read(source) as keyspace:
        found = keyspace.explain_get(key)
    if json:
        show_json(found.to_json())
    else:
        _show_section(console(), found.section(shortened))


def _show_section(out: Console, section: Section) -> None:
    out.print(Text(section.title, style="bold cyan"))
    if section.rows:
        out.print(_table(section))
    for line in section.lines:
        out.print(Text(line, style="dim"))


def _table(section: Section) -> Table:
    table = new_table("")
    table.title = None
    table.padding = (0, 1, 0, 0)  # closer than elsewhere, so that the last column has room for sentences
    for column in section.columns:
        if is_text(column):
            table.add_column(column.rstrip(), overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    first_bold = len(section.rows) - section.bold_rows
    for number, row in enumerate(section.rows):
        if section.bold_rows and number == first_bold:
            table.add_section()
        table.add_row(*map(Text, row), style="bold" if section.bold_rows and number >= first_bold else None)
    return table
