"""Checking a view: everything is folded once more, in memory, and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsm.errors import InvalidArgument, OffsetOutOfRange
from lsm.views import source
from lsm.views.entry import Phase
from lsm.views.folding import Chunk
from lsm.views.layout import NOTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.views.source import Stretch
    from lsm.views.view import View


@dataclass(frozen=True, slots=True)
class Difference:
    """One key whose value is not what folding leads to; None where there is none."""

    key: bytes
    expected: bytes | None
    found: bytes | None
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class ViewReport:
    """What checking a view has found."""

    view: str
    version: int
    position: int
    changes: int
    """How many changes were folded to compare."""
    origin: str
    """What was folded: the "log" from where the view began, or a "bootstrap" of this moment."""
    differences: tuple[Difference, ...]

    @property
    def is_sound(self) -> bool:
        """Tell whether the view is what its fold leads to."""
        return not self.differences


def verify(view: View) -> ViewReport:
    """Fold again and compare; the caller keeps the view from moving."""
    entry = view._entry()
    phase = entry.serving
    if phase is None:
        return ViewReport(view.name, view.version, 0, 0, "log", ())
    if not phase.is_made_by(view.version, view.keyspace):
        raise InvalidArgument(
            f"view {view.name!r} was built by version {phase.version} from other changes than this version"
            f" {view.version} would: refresh() first"
        )
    first = source.earliest(view._db)
    if phase.origin == "log" and phase.since >= first - 1:
        log = source.LogStretch(view._db, phase.since, phase.position, phase.source)
        return _compared(view, phase, _folded(view, log), "log")
    if view.needs_history or (phase.origin == "log" and phase.since):
        raise OffsetOutOfRange(phase.since, first, view._db.seq)
    return _with_bootstrap(view)


def _with_bootstrap(view: View) -> ViewReport:
    """Compare with what a rebuild would give now; a view that may be rebuilt so must be equal to that."""
    with source.seeds(view._db, view.keyspace) as seeds:
        folded = _folded(view, seeds)
        entry = view._entry()
        assert entry.serving is not None
        view._advance(entry, entry.serving, until=seeds.position)
    phase = view._entry().serving
    assert phase is not None
    return _compared(view, phase, folded, "bootstrap")


def _folded(view: View, stretch: Stretch) -> Chunk:
    """Fold a stretch into memory."""
    folded = Chunk(None)
    for change in stretch:
        view._check_going()
        folded.add(view.name, view._fold, change)
    return folded


def _compared(view: View, phase: Phase, folded: Chunk, origin: str) -> ViewReport:
    expected = ((key, value) for key, value in folded.pending.writes.items() if value is not None)
    found = view._books.state(phase).scan()
    differences = tuple(_differences(expected, found))
    return ViewReport(view.name, phase.version, phase.position, folded.count, origin, differences)


def _differences(
    expected: Iterator[tuple[bytes, bytes]], found: Iterator[tuple[bytes, bytes]]
) -> Iterator[Difference]:
    """Yield where two sorted runs of pairs are not the same."""
    mine, stored = next(expected, None), next(found, None)
    while mine is not None or stored is not None:
        if stored is None or (mine is not None and mine[0] < stored[0]):
            assert mine is not None
            yield _difference(mine[0], mine[1], None)
            mine = next(expected, None)
        elif mine is None or stored[0] < mine[0]:
            yield _difference(stored[0], None, stored[1])
            stored = next(found, None)
        else:
            if mine[1] != stored[1]:
                yield _difference(mine[0], mine[1], stored[1])
            mine, stored = next(expected, None), next(found, None)


def _difference(stored_key: bytes, expected: bytes | None, found: bytes | None) -> Difference:
    return Difference(stored_key[1:], expected, found, stored_key[:1] == NOTE)
