"""Conditions under which a comparison fails: "write_amp>+5%", "ops_per_second<-10%", "space_amp>1.2"."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from bench.peers.engines import UnknownName

_RULE = re.compile(r"\s*([A-Za-z][\w.]*)\s*([<>])\s*([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", re.ASCII)
_HELP = 'a condition such as "write_amp>+5%", "ops_per_second<-10%" or "space_amp>1.2"'


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition; a comparison that meets it has failed."""

    text: str
    figure: str
    side: Literal["<", ">"]
    limit: float
    """A share, a difference, or a value."""
    kind: Literal["share", "difference", "value"]

    def is_met(self, before: float, after: float) -> bool:
        """Tell whether the second run fails by this condition."""
        found = {"share": change(before, after), "difference": after - before, "value": after}[self.kind]
        return found > self.limit if self.side == ">" else found < self.limit


def parse_rule(text: str) -> Rule:
    """Return what a condition means: with a sign it is about the change, without it about the second run."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"--fail-if takes {_HELP}; not {text!r:.60}")
    figure, side, sign, number, percent = match.groups()
    if percent and not sign:
        raise ValueError(
            f"--fail-if {text.strip()!r:.60}: a share is of the first run, so it has a sign: +5%"
        )
    limit = float(f"{sign}{number}") / (100 if percent else 1)
    if not isfinite(limit):
        raise ValueError(f"--fail-if {text.strip()!r:.60}: no such number")
    return Rule(
        text=text.strip(),
        figure=figure,
        side="<" if side == "<" else ">",
        limit=limit,
        kind="share" if percent else "difference" if sign else "value",
    )


def change(before: float, after: float) -> float:
    """Return how much more the second is, as a share of the first."""
    if before == after:
        return 0.0
    return (after - before) / abs(before) if before else inf if after > 0 else -inf


def check_names(rules: Sequence[Rule], before: Mapping[str, float], after: Mapping[str, float]) -> None:
    """Raise ValueError for a condition about a figure that one of the runs does not have."""
    for rule in rules:
        if rule.figure not in before.keys() | after.keys():
            raise UnknownName("figure", rule.figure[:60], sorted(before.keys() & after.keys()))
        for figures, which in ((before, "first"), (after, "second")):
            if rule.figure not in figures:
                raise ValueError(f"the {which} run has not measured {rule.figure}")
