"""The syncs that the product asks for, told apart by who asks: the raw material of mutants.

One line of `wal` serves the log, the manifest and recovery, so a site is the line and its callers.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from tests.reliability.story import Story
from tests.support.mutants import SyncCall, SyncPredicate

_PRODUCT = ("lsm", "wal", "sstable", "compaction")
_FILES = ("lsm.fs", "lsm.fs_files", "lsm.fs_types")
_CALLERS = 3
Play = Callable[[SyncPredicate | None], Story]


@dataclass(frozen=True, slots=True)
class SyncSite:
    """A sync by its kind and the innermost frames of the product, each as function and line."""

    kind: str
    frames: tuple[tuple[str, int], ...]

    @property
    def functions(self) -> str:
        """The frames without their lines, which change with every edit."""
        return f"{self.kind}: " + " < ".join(function for function, _ in self.frames)


def site_of(call: SyncCall) -> SyncSite:
    """Return the site of a sync; to be called by a predicate, while the sync is being asked for."""
    frames: list[tuple[str, int]] = []
    frame: FrameType | None = sys._getframe(1)
    callers = 0
    while frame is not None and callers < _CALLERS:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in _PRODUCT and module not in _FILES:
            frames.append((f"{module}.{frame.f_code.co_qualname}", frame.f_lineno))
            # The writer of segments only passes the wish on.
            callers += module != "wal.writer"
        frame = frame.f_back
    return SyncSite(call.kind, tuple(frames))


def skipping(site: SyncSite) -> SyncPredicate:
    """Return a mutant that leaves the syncs of one site out."""
    return lambda call: site_of(call) == site


def skipping_functions(kind: str, *functions: str) -> SyncPredicate:
    """Return a mutant that leaves out syncs asked for by these functions, innermost first."""

    def is_skipped(call: SyncCall) -> bool:
        asked = [name for name, _ in site_of(call).frames]
        return call.kind == kind and any(
            asked[at : at + len(functions)] == list(functions) for at in range(len(asked))
        )

    return is_skipped


def _noting(seen: set[SyncSite]) -> SyncPredicate:
    """Return a predicate that skips nothing and remembers the sites."""

    def note(call: SyncCall) -> bool:
        seen.add(site_of(call))
        return False

    return note


def sites_of(plays: dict[str, Play]) -> dict[SyncSite, list[str]]:
    """Return every site, with the stories that reach it, shortest first."""
    found: dict[SyncSite, dict[str, int]] = {}
    for name, play in plays.items():
        seen: set[SyncSite] = set()
        story = play(_noting(seen))
        for site in seen:
            found.setdefault(site, {})[name] = len(story.log)
    return {site: sorted(stories, key=stories.__getitem__) for site, stories in found.items()}


def labels(sites: dict[SyncSite, list[str]]) -> dict[str, SyncSite]:
    """Name the sites by their functions, numbered where one function asks more than once."""
    named: dict[str, SyncSite] = {}
    for site in sorted(sites, key=lambda site: [line for _, line in site.frames]):
        number = 1
        while f"{site.functions} #{number}" in named:
            number += 1
        named[f"{site.functions} #{number}"] = site
    return named
