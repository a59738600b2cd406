"""The page: one file of HTML that needs nothing else, runs nothing, and tells all without pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bench.report.catalogue import NoChart, Shown
from bench.report.chart import Chart, Table
from bench.report.figures import facts, figure_table, tiles
from bench.report.page_style import PAGE_COLOURS, PAGE_CSS
from bench.report.runs import Run
from bench.report.theme import chart_css, colour_css
from bench.report.values import text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: nothing at all; its style is inside."""
_NOTES_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A run with its charts."""

    run: Run
    charts: Sequence[Shown]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All that a report shows."""

    sections: Sequence[Section]
    together: Sequence[Shown] = ()
    """Charts of several runs at once."""
    unread: Sequence[str] = ()
    """What is wrong with files that are not on the page."""


def render(page: Page) -> str:
    """Return the page as text."""
    title = "Bench report"
    if len(page.sections) == 1:
        title = f"Bench report: {page.sections[0].run.label}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{colour_css(':root')}{PAGE_COLOURS}{PAGE_CSS}{chart_css()}</style>\n"
        '</head>\n<body>\n<a class="skip" href="#main">Skip to the charts</a>\n'
        f"<header><h1>{escape(title)}</h1>{_unread(page.unread)}</header>\n"
        f'<nav aria-label="Contents">{_contents(page)}</nav>\n'
        f'<main id="main" tabindex="-1">\n{_together(page)}{"".join(map(_section, page.sections))}</main>\n'
        "<footer><p>Made by <code>python -m bench report</code>. The page loads nothing and runs nothing; "
        "every chart has its figures as a table below it.</p></footer>\n</body>\n</html>\n"
    )


def _unread(files: Sequence[str]) -> str:
    return "".join(f'<p class="partial">Left out: {escape(text(line))}</p>' for line in files)


def _contents(page: Page) -> str:
    parts = []
    if page.together:
        parts.append(_entry("all", "Side by side", page.together))
    parts += [_entry(one.run.owner, one.run.label, one.charts) for one in page.sections]
    return f"<ul>{''.join(parts)}</ul>"


def _entry(owner: str, name: str, charts: Sequence[Shown]) -> str:
    links = "".join(
        f'<li><a href="#{owner}-{chart.name}">{escape(chart.title)}</a></li>'
        for chart in charts
        if isinstance(chart, Chart)
    )
    return f'<li><a href="#{owner}"><strong>{escape(name)}</strong></a><ul>{links}</ul></li>'


def _together(page: Page) -> str:
    runs = [one.run for one in page.sections]
    if len(runs) < 2:
        return ""
    table = figure_table(runs[:12])
    figures = (
        ""
        if table is None
        else _details("All figures, with the change from the first run", table, is_open=True)
    )
    return (
        '<section id="all" aria-labelledby="all-title"><h2 id="all-title">Side by side</h2>'
        f"{figures}{_charts('all', page.together)}</section>\n"
    )


def _section(section: Section) -> str:
    run = section.run
    owner = run.owner
    table = figure_table([run])
    all_figures = "" if table is None else _details("All figures", table)
    about = "".join(_details(name.capitalize(), found) for name, found in facts(run))
    return (
        f'<section id="{owner}" aria-labelledby="{owner}-title">'
        f'<h2 id="{owner}-title">{escape(run.label)}</h2>'
        f'<p class="soft">{escape(_about(run))}</p>{_state(run)}{_tiles(run)}'
        f"{_charts(owner, section.charts)}{_notes(run)}{all_figures}{about}</section>\n"
    )


def _about(run: Run) -> str:
    title, command, when = run.title, text(run.result.get("command"), 40), run.result.get("time")
    parts = [title] if title == command else [title, command]
    return " · ".join([*parts, text(when, 40)] if isinstance(when, str) else parts)


def _state(run: Run) -> str:
    """Say of a run that was stopped that it is partial."""
    if run.result.get("complete", True) is True:
        return ""
    reason = run.result.get("stopped_by")
    why = text(reason, 120) if isinstance(reason, str) else "stopped before its end"
    until = "the figures are of what was done until then"
    return f'<p class="partial"><strong>Partial result.</strong> {escape(why)}: {until}.</p>'


def _tiles(run: Run) -> str:
    found = [
        f"<div><dt>{escape(tile.title)}</dt><dd>{escape(tile.figure)}</dd>"
        + (f"<dd>{escape(tile.beside)}</dd>" if tile.beside else "")
        + "</div>"
        for tile in tiles(run)
    ]
    return f'<dl class="tiles">{"".join(found)}</dl>' if found else ""


def _notes(run: Run) -> str:
    notes = run.result.get("notes")
    if not isinstance(notes, list) or not notes:
        return ""
    lines = "".join(f"<li>{escape(text(note, 500))}</li>" for note in notes[:_NOTES_MAX])
    return f'<h3>Notes</h3><ul class="notes">{lines}</ul>'


def _charts(owner: str, charts: Sequence[Shown]) -> str:
    if not charts:
        return '<p class="soft">This result has nothing that is drawn as a chart.</p>'
    drawn = "".join(_figure(owner, chart) for chart in charts if isinstance(chart, Chart))
    missing = "".join(
        f'<p class="none"><strong>{escape(chart.title)}</strong> cannot be drawn: {escape(chart.why)}.</p>'
        for chart in charts
        if isinstance(chart, NoChart)
    )
    return f'<div class="charts">{drawn}</div>{missing}' if drawn else missing


def _figure(owner: str, chart: Chart) -> str:
    notes = "".join(f"<p>{escape(note)}</p>" for note in chart.notes)
    return (
        f'<figure id="{owner}-{chart.name}"><figcaption><h3>{escape(chart.title)}</h3>'
        f"<p>{escape(chart.summary)}</p></figcaption>"
        f'<div class="wide">{chart.wide}</div><div class="narrow">{chart.narrow}</div>'
        f"{notes}{_details(f'Figures: {chart.title}', chart.table)}</figure>\n"
    )


def _details(title: str, table: Table, *, is_open: bool = False) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(map(_cell, row[1:]))}</tr>' for row in table.rows
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{note}"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div></details>"
    )


def _cell(value: str) -> str:
    is_words = len(value) > 40
    return f'<td class="words">{escape(value)}</td>' if is_words else f"<td>{escape(value)}</td>"
