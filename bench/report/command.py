"""The command `report`."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.commands import refuse
from bench.report.catalogue import charts_of, charts_of_all
from bench.report.chart import Chart, standalone
from bench.report.page import Page, Section, render
from bench.report.runs import make_runs
from bench.report.units import show_bytes
from bench.result import BadResult, read_result

_Results = Annotated[list[Path], typer.Argument(help="Result files that a command of the bench wrote.")]
_Out = Annotated[Path, typer.Option(help="The page to write.")]
_Charts = Annotated[
    Path | None, typer.Option(help="Also write every chart as an SVG file, in this directory.")
]


_HALF = ".half"  # behind the name of a file until it is whole


def report(results: _Results, out: _Out = Path("report.html"), charts: _Charts = None) -> None:
    """Draw results as one page of HTML that needs no network and runs no script."""
    named, unread = _read(results)
    if not named:
        refuse(BadResult("; ".join(unread)))
    if any(out.exists() and path.exists() and out.samefile(path) for path in results):
        refuse(ValueError(f"{out}: the page would take the place of a result"))
    page = make_page(named, unread)
    try:
        written = _write(out, render(page))
        count = 0 if charts is None else write_charts(page, charts)
    except OSError as error:
        name = str(error.filename or out).removesuffix(_HALF)
        _say(f"{name}: {error.strerror}; not written")
        raise typer.Exit(3) from error
    _tell(page, out, written, count)
    if unread:
        for line in unread:
            _say(f"{line}; left out")
        raise typer.Exit(1)


def make_page(named: list[tuple[str, dict[str, Any]]], unread: list[str]) -> Page:
    """Return the page of results, which come with their names."""
    runs = make_runs(named)
    return Page(
        sections=[Section(run=run, charts=charts_of(run)) for run in runs],
        together=charts_of_all(runs) if len(runs) > 1 else [],
        unread=unread,
    )


def write_charts(page: Page, directory: Path) -> int:
    """Write one SVG file for every chart, and return how many."""
    directory.mkdir(parents=True, exist_ok=True)
    named = [("all", page.together), *((one.run.slug, one.charts) for one in page.sections)]
    drawn = [(name, chart) for name, charts in named for chart in charts if isinstance(chart, Chart)]
    for name, chart in drawn:
        _write(directory / f"{name}-{chart.name}.svg", standalone(chart))
    return len(drawn)


def _read(paths: list[Path]) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    named, unread = [], []
    for path in paths:
        try:
            named.append((path.stem, read_result(path)))
        except BadResult as error:
            unread.append(str(error))
    return named, unread


def _write(path: Path, text: str) -> int:
    """Write a file whole or not at all, and return its size."""
    half = path.with_name(f"{path.name}{_HALF}")
    try:
        half.write_text(text, encoding="utf-8")
        os.replace(half, path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    return path.stat().st_size


def _tell(page: Page, out: Path, size: int, files: int) -> None:
    shown = [chart for one in page.sections for chart in one.charts] + list(page.together)
    drawn = sum(isinstance(chart, Chart) for chart in shown)
    runs = "1 run" if len(page.sections) == 1 else f"{len(page.sections)} runs"
    said = f"{out}: {runs}, {drawn} charts, {show_bytes(size)}"
    said += f"; {len(shown) - drawn} could not be drawn, the page says why" if drawn < len(shown) else ""
    said += f"; {files} SVG files" if files else ""
    Console().print(said, markup=False, highlight=False, soft_wrap=True)


def _say(message: str) -> None:
    Console(stderr=True).print(f"bench: {message}", markup=False, highlight=False, soft_wrap=True)
