"""Where output goes: data as bytes to standard output, words and tables through rich."""

import errno
import json
import os
import sys
from typing import BinaryIO

from rich.console import Console
from rich.text import Text

# Wide enough that no table is cut where nobody looks at a screen.
_PIPED_COLUMNS = 160
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def console(*, stderr: bool = False) -> Console:
    """Return a console on the standard stream of this moment: colours on a terminal, plain text elsewhere."""
    stream = sys.stderr if stderr else sys.stdout
    is_screen = stream is not None and stream.isatty()
    width = None if is_screen or "COLUMNS" in os.environ else _PIPED_COLUMNS
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def say(message: str, *, style: str = "") -> None:
    """Put one line on standard error."""
    console(stderr=True).print(Text(printable(message), style=style), soft_wrap=True)


def show(message: str, *, style: str = "") -> None:
    """Put one line on standard output."""
    console().print(Text(printable(message), style=style), soft_wrap=True)


def show_json(value: object) -> None:
    """Put one JSON object on a line of standard output."""
    data_stream().write(json.dumps(value).encode() + b"\n")


def data_stream() -> BinaryIO:
    """Return standard output for bytes."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    return sys.stdout.buffer


def printable(text: str) -> str:
    """Return text in which nothing can command a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def tick(console: Console) -> str:
    """Return the sign of success that this console can show."""
    return "✔" if console.encoding.lower().startswith("utf") else "ok"


def size(count: float) -> str:
    """Return a number of bytes for people."""
    if count < 1024:
        return f"{count:.0f} B"
    power = min((int(count).bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:.1f} {_UNITS[power - 1]}"


def share(part: float, whole: float) -> str:
    """Return a part of a whole in per cent."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun.removesuffix('y')}ies" if noun.endswith("try") else f"{count:,} {noun}s"
