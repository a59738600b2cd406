"""Rebuilding a view: a new state is folded beside the one that readers see, then takes its place at once.

What is half built survives a crash and is gone on with, except for a bootstrap that was not wholly in: the
moment it showed is gone with the process, so it is begun again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from lsm.errors import InvalidArgument, OffsetOutOfRange
from lsm.views import source
from lsm.views.entry import Entry, Phase
from lsm.views.folding import chunks

if TYPE_CHECKING:
    from lsm.views.view import View

Source: TypeAlias = Literal["earliest", "bootstrap"]


def check_source(name: object) -> Source | None:
    """Return where a rebuild begins, or raise what is wrong with it."""
    if name is None or name == "earliest" or name == "bootstrap":
        return name
    raise InvalidArgument(f'a view is rebuilt from "earliest" or from a "bootstrap", not from {name!r:.40}')


def rebuild(view: View, entry: Entry, wanted: Source | None) -> int:
    """Build the state anew and let readers see it; return how many changes were folded.

    Without a wish the log is folded from its first change, or, where it no longer reaches back to that, a
    bootstrap: unless the fold needs the whole history, then OffsetOutOfRange says so.
    """
    first = source.earliest(view._db)
    if wanted is None and first > 1:
        check_bootstrap(view, since=0)
    if wanted == "bootstrap" or (wanted is None and first > 1):
        return _from_bootstrap(view, entry)
    phase = _new_phase(view, origin="log", position=first - 1)
    return resume(view, _begun(view, entry, phase))


def resume(view: View, entry: Entry) -> int:
    """Go on with what is half built."""
    assert entry.building is not None
    try:
        count = view._advance(entry, entry.building)
    except OffsetOutOfRange:  # the log was faster than the pin, or than its cap
        check_bootstrap(view, since=entry.building.position)
        return _from_bootstrap(view, entry)
    view._books.drop_states(view._books.read())
    return count


def check_bootstrap(view: View, since: int) -> None:
    """Raise OffsetOutOfRange if the view can only be made from the history that is gone."""
    if view.needs_history:
        raise OffsetOutOfRange(since, source.earliest(view._db), view._db.seq)


def _from_bootstrap(view: View, entry: Entry) -> int:
    with source.seeds(view._db, view.keyspace) as seeds:
        phase = replace(_new_phase(view, origin="bootstrap", position=seeds.position), is_seeding=True)
        entry = _begun(view, entry, phase)
        base, count = view._books.state(phase), 0
        for chunk in chunks(view.name, view._fold, seeds, base, view._check_going):
            view._check_going()
            view._books.add(phase, chunk.pending.writes)
            count += chunk.count
        phase = replace(phase, position=seeds.position, since=seeds.position, is_seeding=False)
        entry = view._books.commit(replace(entry, building=phase))
    return count + resume(view, entry)


def _new_phase(view: View, *, origin: Literal["log", "bootstrap"], position: int) -> Phase:
    return Phase(
        generation=view._books.next_generation(),
        version=view.version,
        source=view.keyspace,
        origin=origin,
        since=position,
        position=position,
    )


def _begun(view: View, entry: Entry, phase: Phase) -> Entry:
    """Note what is being built, so that the log is kept for it, and let go of what was built before."""
    view._books.state(phase, create=True)
    # Durable before another half-built state goes, as the entry that is in force may speak of that.
    entry = view._books.commit(replace(entry, building=phase), sync=True)
    view._books.drop_states(entry)
    return entry
