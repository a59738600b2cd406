"""`lsm stats`, `lsm verify` and `lsm keyspaces`."""

from typing import Annotated

import typer
from rich.text import Text

import lsm
from lsm.cli.asking import ask
from lsm.cli.exits import ExitCode, fail, no_store
from lsm.cli.output import console, plural, printable, show, show_json, size, tick
from lsm.cli.parameters import AsJson, Source, StorePath
from lsm.cli.progress import byte_progress
from lsm.cli.stats_tables import keyspaces_table, stats_tables
from lsm.cli.stores import store_to_read, store_to_write


def stats(source: Source, json: AsJson = False) -> None:
    """Show levels, log and memory.

    What writing costs is counted by the process that writes, as `DB.stats()`; here is what the files say.
    """
    with store_to_read(source.path) as db:
        if source.keyspace is not None:
            db.keyspace(source.keyspace, create=False)
        found = db.stats()
    if json:
        show_json(found.to_json())
        return
    console().print(*stats_tables(found, source.keyspace), sep="\n")


def verify(path: StorePath, json: AsJson = False) -> None:
    """Check every byte of every file; exit with 1 if something is wrong.

    Changes nothing, and works beside a writer.
    """
    try:
        with byte_progress("verifying") as advance:
            report = lsm.verify(path, progress=advance)
    except lsm.StoreNotFound as error:
        raise no_store(path) from error
    if json:
        _show_report_as_json(report)
    else:
        _show_report(report)
    if not report.is_sound:
        fail(f"{plural(len(report.problems), 'problem')} found in {path}", ExitCode.NO)


def keyspaces(
    path: StorePath,
    drop: Annotated[
        str | None, typer.Option(metavar="NAME", help="Remove this keyspace with everything in it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Drop without asking.")] = False,
    json: AsJson = False,
) -> None:
    """List the keyspaces, or drop one."""
    if drop is not None:
        _drop(path, drop, yes=yes, json=json)
        return
    with store_to_read(path) as db:
        found = db.stats()
    if not json:
        console().print(keyspaces_table(found.keyspaces))
        return
    for keyspace in found.keyspaces:
        show_json(
            {
                "name": keyspace.name,
                "tables": sum(level.tables for level in keyspace.levels),
                "size_bytes": sum(level.size_bytes for level in keyspace.levels),
                "entries": sum(level.entries for level in keyspace.levels),
                "memtable_entries": keyspace.memtable_entries,
            }
        )


def _drop(path: StorePath, name: str, *, yes: bool, json: bool) -> None:
    with store_to_write(path, "w", None) as db:
        db.keyspace(name, create=False)
        if not yes:
            ask(f"Drop keyspace {printable(name)} of {printable(str(path))} with everything in it?", "--drop")
        db.drop_keyspace(name)
    if json:
        show_json({"dropped": name})
    else:
        show(f"keyspace {name} dropped")


def _show_report(report: lsm.VerifyReport) -> None:
    out = console()
    for problem in report.problems:
        where = problem.file if problem.offset is None else f"{problem.file}, byte {problem.offset}"
        line = Text.assemble((printable(where), "bold"), ": ", (printable(problem.what), "red"))
        out.print(line, soft_wrap=True)
    for name in report.foreign_files:
        line = Text(f"{printable(name)}: not a file of the store, left alone", style="yellow")
        out.print(line, soft_wrap=True)
    checked = (
        f"{plural(report.tables, 'table')} of {size(report.size_bytes)} with "
        f"{plural(report.entries, 'entry')} and {plural(report.segments, 'log segment')} checked"
    )
    if report.is_sound:
        out.print(Text(f"{tick(out)} sound: {checked}", style="green"), soft_wrap=True)
    else:
        out.print(Text(checked), soft_wrap=True)


def _show_report_as_json(report: lsm.VerifyReport) -> None:
    show_json(
        {
            "is_sound": report.is_sound,
            "tables": report.tables,
            "segments": report.segments,
            "entries": report.entries,
            "size_bytes": report.size_bytes,
            "problems": [
                {"file": problem.file, "offset": problem.offset, "what": problem.what}
                for problem in report.problems
            ],
            "foreign_files": list(report.foreign_files),
        }
    )
