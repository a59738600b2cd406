"""Finding a crash that shows what a mutant broke."""

from collections.abc import Iterable
from functools import partial

from tests.reliability.explorer import Explorer
from tests.reliability.histories import WRITTEN, pairs, play
from tests.reliability.sync_sites import Play
from tests.support.mutants import SyncPredicate

# A quick look at some images of many stories, then at all images of few: most mutants die of the first.
LOOKS = ((40, 4), (40, 16), (6, 4), (1, 4))


def all_stories() -> dict[str, Play]:
    """Return every story by name."""
    return {**_pairs(1), **WRITTEN}


def some_stories() -> dict[str, Play]:
    """Return stories that together reach every sync: all written ones, and some pairs of steps."""
    return {**_pairs(5), **WRITTEN}


def _pairs(every: int) -> dict[str, Play]:
    return {", ".join(steps): partial(play, steps) for steps in pairs()[::every]}


def killed_by(skip: SyncPredicate | None, names: Iterable[str]) -> str:
    """Return what a mutant leads to in one of the stories, or "" if it survives them all."""
    names, plays = list(names), all_stories()
    for one_in, stories_max in LOOKS:
        for name in names[:stories_max]:
            try:
                Explorer(depth=1, one_in=one_in).explore(plays[name](skip), name)
            except (AssertionError, OSError) as error:
                # A violation, or the story itself did not come to its end.
                return str(error) or repr(error)
    return ""
