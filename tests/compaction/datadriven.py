"""Runs text tables: a command, its input, four dashes, what must come out, an empty line.

    retain snapshots=4 bottom
    a@9 put x
    ----
    a@9 put x

`#` starts a comment between cases.  With DATADRIVEN_REWRITE=1 the files are rewritten with what
does come out: read the difference before believing it.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TESTDATA = Path(__file__).parent / "testdata"
SEPARATOR = "----"


@dataclass(frozen=True)
class Case:
    where: str
    head: str
    lines: tuple[str, ...]
    expected: str

    @property
    def command(self) -> str:
        return self.head.split()[0]

    @property
    def arguments(self) -> dict[str, str]:
        """`name=value` as it stands; a bare `name` has the value ""."""
        return dict(argument.partition("=")[::2] for argument in self.head.split()[1:])


def run_file(name: str, handle: Callable[[Case], str]) -> None:
    """Run all cases of a file in order; the handler may keep state between them."""
    path = TESTDATA / name
    text = path.read_text(encoding="utf-8")
    rewritten = []
    for part in parts(name, text):
        if isinstance(part, str):
            rewritten.append(part)
            continue
        actual = handle(part).rstrip("\n")
        if not os.environ.get("DATADRIVEN_REWRITE"):
            assert actual == part.expected, f"{part.where}: {part.head}\n{actual}"
        output = [actual] if actual else []
        rewritten.append("\n".join([part.head, *part.lines, SEPARATOR, *output]) + "\n\n")
    if os.environ.get("DATADRIVEN_REWRITE"):
        path.write_text("".join(rewritten).rstrip("\n") + "\n", encoding="utf-8")


def parts(name: str, text: str) -> Iterator[Case | str]:
    """Yield the cases, and the comments between them as they are."""
    lines = iter(enumerate(text.split("\n"), start=1))
    for number, line in lines:
        if line.startswith("#"):
            yield f"{line}\n"
        if not line or line.startswith("#"):
            continue
        body = list(until(SEPARATOR, lines))
        expected = list(until("", lines))
        yield Case(f"{name}:{number}", line, tuple(body), "\n".join(expected))


def until(end: str, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line == end:
            return
        yield line
