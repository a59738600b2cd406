"""An explanation as sections: a title, a table, some sentences; for whoever prints them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

WIDTH = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of the page."""

    title: str
    columns: tuple[str, ...] = ()
    """Headings of the table; of text to the left those that end in a space, all others are numbers."""
    rows: tuple[tuple[str, ...], ...] = ()
    bold_rows: int = 0
    """So many at the end sum up those before."""
    lines: tuple[str, ...] = ()
    """Sentences below the table."""


def page_text(sections: Sequence[Section]) -> str:
    """Return sections as plain text."""
    return "\n\n".join("\n".join(_section_lines(section)) for section in sections)


def without_empty_columns(section: Section) -> Section:
    """Return the same without columns in which no row has anything."""
    used = [n for n in range(len(section.columns)) if any(row[n] for row in section.rows)]
    return replace(
        section,
        columns=tuple(section.columns[n] for n in used),
        rows=tuple(tuple(row[n] for n in used) for row in section.rows),
    )


def is_text(column: str) -> bool:
    """Tell whether the cells of a column are words, which begin at the left."""
    return column.endswith(" ")


def _section_lines(section: Section) -> Iterator[str]:
    yield from wrap(section.title, WIDTH)
    if section.rows:
        yield from _table_lines(section)
    for line in section.lines:
        yield from wrap(line, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _table_lines(section: Section) -> Iterator[str]:
    """Yield a table whose last column is wrapped if it is one of words."""
    table = [tuple(column.rstrip() for column in section.columns), *section.rows]
    widths = [max(len(row[n]) for row in table) for n in range(len(section.columns))]
    *_, last = section.columns
    left = sum(widths[:-1]) + 2 * len(widths)
    for row in table:
        cells = [
            cell.ljust(width) if is_text(column) else cell.rjust(width)
            for cell, width, column in zip(row, widths, section.columns, strict=True)
        ]
        if not is_text(last):
            yield ("  " + "  ".join(cells)).rstrip()
            continue
        head = "  " + "".join(f"{cell}  " for cell in cells[:-1])
        words = wrap(row[-1], max(20, WIDTH - left)) or [""]
        yield (head + words[0]).rstrip()
        for more in words[1:]:
            yield " " * left + more
