"""How the demo tells its story: sections, findings, tables."""

from itertools import count

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from lsm.cli.output import console, printable, tick

_PROSE_COLUMNS = 100


class Stage:
    """Says what happens, on standard output."""

    def __init__(self) -> None:
        self.console: Console = console()
        self._numbers = count(1)

    def title(self, text: str) -> None:
        """Say what all of this is."""
        self.console.print(Text(printable(text), style="bold"), soft_wrap=True)

    def end(self, text: str) -> None:
        """Say what has come of it."""
        self.console.print()
        self.console.print(Text(text, style="bold green"))

    def more(self, text: str) -> None:
        """Say what can be done next."""
        self.console.print(Text(printable(text)), soft_wrap=True)

    def section(self, title: str, about: str) -> None:
        """Begin the next part."""
        self.console.print()
        self.console.print(Text(f"{next(self._numbers)}. {title}", style="bold cyan"))
        self.console.print(Text(about, style="dim"), width=min(self.console.width, _PROSE_COLUMNS))

    def found(self, text: str, *more: str) -> None:
        """Say what was checked and found right, and below it what else there is to say."""
        self._line(tick(self.console), text, "green")
        for line in more:
            self._line(" " * len(tick(self.console)), line, "")

    def failed(self, text: str) -> None:
        """Say what is wrong."""
        self._line("FAILED", text, "bold red")

    def show(self, renderable: RenderableType) -> None:
        """Show a table."""
        self.console.print(renderable)

    def _line(self, sign: str, text: str, style: str) -> None:
        if not self.console.is_terminal:
            self.console.print(Text(f"{sign} {printable(text)}"), soft_wrap=True)
            return
        line = Table.grid(padding=(0, 1, 0, 0))  # on a terminal, what is too long goes on under itself
        line.add_row(Text(sign, style=style), Text(printable(text)))
        self.console.print(line)
