"""One chart: a picture for a wide page and one for a narrow page, with the same figures as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from bench.report.svg import Canvas
from bench.report.theme import chart_css, colour_css

WIDE, NARROW = 720, 360
_TABLE_ROWS_MAX = 200


@dataclass(frozen=True, slots=True)
class Table:
    """The figures of a chart as text.  The first column names the row."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def shortened(self) -> "Table":
        """Return a table that a page can hold: rows are taken evenly, the first and the last always."""
        count = len(self.rows)
        if count <= _TABLE_ROWS_MAX:
            return self
        step = (count - 1) / (_TABLE_ROWS_MAX - 1)
        chosen = [self.rows[round(at * step)] for at in range(_TABLE_ROWS_MAX)]
        note = f"{_TABLE_ROWS_MAX} of {count:,} rows, taken evenly. {self.note}".strip()
        return Table(self.head, chosen, note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart that is ready to be put on a page."""

    name: str
    """For files and anchors: letters, digits and hyphens."""
    title: str
    summary: str
    """What it shows, in a sentence with its main figures: also for those who do not see it."""
    wide: str
    narrow: str
    table: Table
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """All that is said about a chart beside the picture."""

    title: str
    summary: str
    table: Table
    notes: Sequence[str] = ()


def make_chart(owner: str, name: str, words: Words, draw: Callable[[Canvas], None]) -> Chart:
    """Draw a chart of an owner (a run, or all of them) in both sizes."""
    return Chart(
        name=name,
        title=words.title,
        summary=words.summary,
        wide=_picture(Canvas(WIDE, f"{owner}-{name}-w"), words, draw),
        narrow=_picture(Canvas(NARROW, f"{owner}-{name}-n"), words, draw),
        table=words.table.shortened(),
        notes=words.notes,
    )


def _picture(canvas: Canvas, words: Words, draw: Callable[[Canvas], None]) -> str:
    draw(canvas)
    title, about = f"{canvas.prefix}-title", f"{canvas.prefix}-about"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {canvas.width:.0f} '
        f'{canvas.height:.0f}" role="img" tabindex="0" aria-labelledby="{title} {about}">'
        f'<title id="{title}">{escape(words.title)}</title><desc id="{about}">{escape(words.summary)}</desc>'
        f"{canvas.body}</svg>"
    )


def standalone(chart: Chart) -> str:
    """Return a chart as a file of its own: with its title on it, and its colours inside."""
    height = float(chart.wide.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()[1]) + 60
    size = f'width="{WIDE + 32}" height="{height:.0f}" viewBox="-16 -44 {WIDE + 32} {height:.0f}"'
    inner = chart.wide.replace("<svg ", f'<svg width="{WIDE}" height="{height - 60:.0f}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n'
        f"<style>{colour_css(':root')}{chart_css()}</style>\n"
        f'<rect x="-16" y="-44" width="100%" height="100%" style="fill:var(--ground)"/>\n'
        f'<g class="chart"><text x="0" y="-16" class="strong" style="font-size:15px">'
        f"{escape(chart.title)}</text></g>\n{inner}\n</svg>\n"
    )
