"""The state that a fold reads: what is stored, and on top of it what the chunk has written so far."""

from collections.abc import Iterable, Iterator

from sortedcontainers import SortedDict

from lsm.reading import Pair, Readable
from lsm.views.fold import StoredWrite
from lsm.views.layout import NOTE, SHOWN, Part


class Pending(Readable):
    """Writes that are not committed yet, over a stored state or over nothing."""

    def __init__(self, base: Readable | None) -> None:
        self.writes: SortedDict[bytes, bytes | None] = SortedDict()
        self.size_bytes = 0
        self._base = base

    def apply(self, writes: Iterable[StoredWrite]) -> None:
        """Add the writes of one change."""
        for key, value in writes:
            self.size_bytes += len(key) + len(value or b"")
            self.writes[key] = value

    def _find(self, key: bytes) -> bytes | None:
        if key in self.writes:
            value: bytes | None = self.writes[key]
            return value
        return None if self._base is None else self._base._find(key)

    def _pairs(self, start: bytes | None, stop: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        keys = self.writes.irange(start, stop, inclusive=(True, False), reverse=reverse)
        mine = [(key, self.writes[key]) for key in keys]
        if self._base is None:
            return ((key, value) for key, value in mine if value is not None)
        return _merged(mine, self._base._pairs(start, stop, reverse=reverse), reverse=reverse)


class FoldState(Part):
    """What a fold is handed as `view`: the entries that readers see; `notes` are the fold's own."""

    __slots__ = ("notes",)

    def __init__(self, stored: Readable) -> None:
        super().__init__(stored, SHOWN)
        self.notes = Part(stored, NOTE)


def _merged(mine: list[StoredWrite], base: Iterator[Pair], *, reverse: bool) -> Iterator[Pair]:
    """Merge writes over stored pairs; both come in the same order, and a write hides what is stored."""
    waiting = iter(mine)
    write = next(waiting, None)
    for key, value in base:
        while write is not None and (write[0] > key if reverse else write[0] < key):
            if write[1] is not None:
                yield write[0], write[1]
            write = next(waiting, None)
        if write is None or write[0] != key:
            yield key, value
    while write is not None:
        if write[1] is not None:
            yield write[0], write[1]
        write = next(waiting, None)
