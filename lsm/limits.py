"""How much log a store keeps for its own sake."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much log is kept though nobody asks for it; a segment is kept while any of them covers it."""

    size_bytes: int = 0
    seconds: int = 0
    keeps_all: bool = False
