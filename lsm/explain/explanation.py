"""The explanation of a whole store, as values; how it comes about is `store`, how it reads is `sections`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from lsm.explain.page import Section, page_text

if TYPE_CHECKING:
    from lsm.explain.advice import AdviceExplanation
    from lsm.explain.reads import ReadExplanation
    from lsm.explain.space import SpaceExplanation
    from lsm.explain.writing import WriteExplanation


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelExplanation:
    """One level of one keyspace: how large it is and what its entries are good for."""

    keyspace: str
    level: int
    tables: int
    size_bytes: int
    target_bytes: float | None
    """How large it should be; None for the last level and where the policy has no such target."""
    entries: int
    live: int
    overwritten: int
    tombstones: int
    why: str
    """What the level is for, and when it is merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why write amplification, disk use and read cost are what they are.  `str()` is a page of text."""

    path: str
    settings: dict[str, int | float | str | bool]
    """The options that decide over it."""
    writing: WriteExplanation
    space: SpaceExplanation
    levels: tuple[LevelExplanation, ...]
    reads: ReadExplanation
    advice: AdviceExplanation | None
    """None if it was not asked for, or there is nothing to go by."""

    def sections(self) -> tuple[Section, ...]:
        """Return it as parts to print."""
        from lsm.explain.sections import sections_of  # brings the simulator along, which few programs need

        return sections_of(self)

    def to_json(self) -> dict[str, object]:
        """Return the same as plain dicts and lists."""
        return asdict(self)

    def __str__(self) -> str:
        return page_text(self.sections())
