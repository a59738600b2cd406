"""Tables of figures: ruled on a terminal, plain columns anywhere else."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES = {"ahead": "green", "met": "green", "ok": "green", "behind": "red", "missed": "red", "FAILED": "red"}


@dataclass(slots=True)
class Sheet:
    """A title, a head, rows of text, and notes below.

    The first column is text, the others are figures, perhaps but for the last.
    """

    title: str
    head: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_last_text: bool = False

    def is_text(self, column: int) -> bool:
        """Tell whether a column holds text, which begins at its left."""
        return column == 0 or (self.is_last_text and column == len(self.head) - 1)


def show(sheet: Sheet, console: Console) -> None:
    """Print a sheet."""
    if console.is_terminal:
        console.print(_ruled(sheet))
        for note in sheet.notes:
            console.print(f"  {note}", markup=False, highlight=False)
    else:
        # Not through rich's layout, which would fold lines to a width that nobody has.
        console.file.write(plain(sheet) + "\n")


def plain(sheet: Sheet) -> str:
    """Return a sheet as text in columns."""
    lines = [sheet.head, *sheet.rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(sheet.head))]
    text = [sheet.title]
    for line in lines:
        cells = [
            cell.ljust(width) if sheet.is_text(at) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  " + "  ".join(cells).rstrip())
    return "\n".join([*text, *(f"  {note}" for note in sheet.notes), ""])


def _ruled(sheet: Sheet) -> Table:
    table = Table(title=Text(sheet.title), title_justify="left", title_style="bold")
    for at, name in enumerate(sheet.head):
        table.add_column(name, justify="left" if sheet.is_text(at) else "right", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(_styled, row))
    return table


def _styled(cell: str) -> Text:
    """A cell as it is: what comes from a file may look like markup."""
    style = next((_STYLES[word] for word in reversed(cell.split()) if word in _STYLES), "")
    return Text(cell, style=style)
