"""Folding a stream of changes chunk by chunk; each chunk is committed as a whole by whoever asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsm.errors import ViewFailed
from lsm.views.fold import Fold, writes_of
from lsm.views.overlay import FoldState, Pending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lsm.changes import Change
    from lsm.reading import Readable
    from lsm.views.source import Stretch

CHUNK_CHANGES = 1000
CHUNK_BYTES = 4 * 1024 * 1024
CHUNK_BYTES_MAX = 64 * 1024 * 1024
"""Beyond this a chunk ends even in the middle of a batch."""


class Chunk:
    """Some changes that were folded together: what to write, and how far that leads."""

    def __init__(self, base: Readable | None) -> None:
        self.pending = Pending(base)
        self.state = FoldState(self.pending)
        self.count = 0
        self.position = 0
        self.is_last = False
        self._batch = 0  # the first sequence number of the batch that was folded last

    def may_end_before(self, change: Change) -> bool:
        """Tell whether it is large enough, and whether no batch would be cut in two."""
        size = self.pending.size_bytes
        if change.batch_first_seq == self._batch:
            return size >= CHUNK_BYTES_MAX
        return self.count >= CHUNK_CHANGES or size >= CHUNK_BYTES

    def add(self, view: str, fold: Fold, change: Change) -> None:
        """Fold one change; if the fold raises, nothing of it is kept."""
        self.pending.apply(writes_of(view, fold, change, self.state))
        self.count += 1
        self.position = change.seq
        self._batch = change.batch_first_seq


def chunks(
    view: str,
    fold: Fold,
    stretch: Stretch,
    base: Readable | None,
    check: Callable[[], None],
) -> Iterator[Chunk]:
    """Yield chunk after chunk; the caller commits each to `base` before it asks for the next.

    The last one reaches to the end of the stretch, whether or not there was a change to fold.  If the fold
    raises, what came before is yielded first, then ViewFailed is raised.  `check` raises to end it all.
    """
    chunk = Chunk(base)
    for change in stretch:
        check()
        if chunk.may_end_before(change):
            chunk.position = change.seq - 1
            yield chunk
            chunk = Chunk(base)
        try:
            chunk.add(view, fold, change)
        except ViewFailed:
            if chunk.count:
                chunk.position = change.seq - 1
                yield chunk
            raise
    chunk.position, chunk.is_last = stretch.position, True
    yield chunk
