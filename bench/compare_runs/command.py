"""The command `compare-runs`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.commands import refuse
from bench.compare_runs.rules import Rule, change, check_names, parse_rule
from bench.compare_runs.runs import Run, circumstances, obstacles, short
from bench.sheet import Sheet, show


def compare_runs(
    before: Annotated[Path, typer.Argument(help="A result file.")],
    after: Annotated[Path, typer.Argument(help="Another one, of the same command and settings.")],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help='End with 1 if "write_amp>+5%", "ops_per_second<-10%", "space_amp>1.2"; repeatable.',
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compare what cannot well be compared.")] = False,
) -> None:
    """Say which figures of two runs differ; for CI and for papers."""
    try:
        rules = [parse_rule(text) for text in fail_if or []]
        runs = Run.read(before), Run.read(after)
        check_names(rules, runs[0].figures, runs[1].figures)
    except ValueError as error:
        refuse(error)
    found = list(obstacles(*runs))
    if found and not force:
        refuse(ValueError(f"these runs cannot be compared (--force does): {'; '.join(found)}"))
    failed = [
        rule for rule in rules if rule.is_met(runs[0].figures[rule.figure], runs[1].figures[rule.figure])
    ]
    show(comparison_sheet(*runs, rules, found), Console())
    if failed:
        raise typer.Exit(1)


def comparison_sheet(before: Run, after: Run, rules: Sequence[Rule], found: Sequence[str]) -> Sheet:
    """Show every figure that differs, and every one that a condition is about."""
    sheet = Sheet(
        f"{short(before.command)}: {short(before.name)}, then {short(after.name)}",
        ["figure", "before", "after", "change", "verdict"],
        is_last_text=True,
    )
    both = [name for name in before.figures if name in after.figures]
    asked = {rule.figure for rule in rules}
    differ = [name for name in both if before.figures[name] != after.figures[name]]
    for name in both:
        if name in asked or name in differ:
            sheet.rows.append(_row(name, before.figures[name], after.figures[name], rules))
    sheet.notes = [f"NOT COMPARABLE: {line}" for line in found]
    if len(both) > len(differ):
        sheet.notes.append(f"{len(both) - len(differ)} figures are the same")
    for one, other in ((before, after), (after, before)):
        if only := [short(name) for name in one.figures if name not in other.figures]:
            sheet.notes.append(f"only in {short(one.name)}: {', '.join(only)}")
    sheet.notes += circumstances(before, after)
    return sheet


def _row(name: str, before: float, after: float, rules: Sequence[Rule]) -> list[str]:
    own = [rule for rule in rules if rule.figure == name]
    met = [rule.text for rule in own if rule.is_met(before, after)]
    verdict = f"FAILED: {', '.join(met)}" if met else "ok" if own else ""
    return [short(name), f"{before:,.6g}", f"{after:,.6g}", f"{change(before, after):+.2%}", verdict]
