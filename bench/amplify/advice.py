"""Why not better: what single changes of options would make of the store, as it says itself."""

from collections.abc import Mapping
from dataclasses import dataclass

import lsm


@dataclass(frozen=True, slots=True)
class Choice:
    """The store as it is, or with one option changed."""

    text: str
    how: str
    """Whether figures are "simulated", or "predicted" by formulas where the store is large."""
    figures: Mapping[str, float]

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {"text": self.text, "how": self.how, "figures": dict(self.figures)}


def choices_of(db: lsm.DB) -> list[Choice]:
    """Return the present first, then what would help on the whole, then what would help a single figure."""
    advice = db.explain().advice
    if advice is None:
        return []
    found = [Choice("as it is", advice.how, advice.present)]
    suggestions = [*filter(None, [advice.best]), *advice.others]
    return [*found, *(Choice(each.text, advice.how, each.figures) for each in suggestions)]
