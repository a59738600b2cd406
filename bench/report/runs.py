"""The results that a report is about, each with a name that no other has."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.report.values import Unusable, maybe_amount, text

ALL_RUNS = "all"
"""What the names of charts of several runs begin with."""
_LABEL_LENGTH_MAX = 28
_LEVELS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One result file."""

    number: int
    """From 1, in the order they were given."""
    label: str
    """Short, for legends."""
    result: dict[str, Any]

    @property
    def owner(self) -> str:
        """What the names of its charts begin with."""
        return f"run{self.number}"

    @property
    def slug(self) -> str:
        """Its name for files: small letters, digits and hyphens."""
        plain = re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")
        return f"{self.number}-{plain}" if plain else str(self.number)

    @property
    def title(self) -> str:
        """One line about the run."""
        return text(self.result.get("title") or self.result.get("command") or "result", 160)

    @property
    def first_level(self) -> int:
        """The shallowest level below L0: the tree grows from the deepest, so it may be L5."""
        written = self.result.get("timeline")
        written = written.get("written") if isinstance(written, dict) else None
        names = list(written)[:_LEVELS_MAX] if isinstance(written, dict) else []
        levels = self.result.get("levels")
        rows = levels[:_LEVELS_MAX] if isinstance(levels, list) else []
        found = [int(name[1:]) for name in names if re.fullmatch("L[0-9]{1,3}", name)]
        found += [row["level"] for row in rows if isinstance(row, dict) and type(row.get("level")) is int]
        return min((level for level in found if level > 0), default=1)

    def figure(self, name: str) -> float | None:
        """Return one of its figures, if it has it and it can be one."""
        figures = self.result.get("figures")
        return maybe_amount(figures.get(name)) if isinstance(figures, dict) else None


def make_runs(named: Sequence[tuple[str, dict[str, Any]]]) -> list[Run]:
    """Return runs from names of files and their results."""
    taken: set[str] = set()
    runs = []
    for number, (name, result) in enumerate(named, start=1):
        label = base = text(name, _LABEL_LENGTH_MAX) or "result"
        again = 2
        while label in taken:
            label, again = f"{base} ({again})", again + 1
        taken.add(label)
        runs.append(Run(number=number, label=label, result=result))
    return runs


def require(count: int, least: int, what: str) -> None:
    """Refuse to draw what has too few items."""
    if count < least:
        raise Unusable(f"{what}: {count} where at least {least} are needed")
