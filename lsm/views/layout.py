"""How the state of a view lies in its keyspace: one byte before every key says whom it is for."""

from collections.abc import Iterator

from lsm.reading import Pair, Readable

# On disk: changing a line below makes every view that exists unreadable.
NOTE = b"\x00"
"""What the fold keeps for itself."""
SHOWN = b"\x01"
"""What readers of the view see."""


class Part(Readable):
    """The shown entries, or the notes, of a state."""

    __slots__ = ("_stored", "_tag")

    def __init__(self, stored: Readable, tag: bytes) -> None:
        self._stored = stored
        self._tag = tag

    def _find(self, key: bytes) -> bytes | None:
        return self._stored._find(self._tag + key)

    def _pairs(self, start: bytes | None, stop: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        low, high = stored_bounds(self._tag, start, stop)
        return without_tag(self._stored._pairs(low, high, reverse=reverse))


def stored_bounds(tag: bytes, start: bytes | None, stop: bytes | None) -> tuple[bytes, bytes]:
    """Return where a range of keys lies in the keyspace."""
    return tag + (start or b""), bytes([tag[0] + 1]) if stop is None else tag + stop


def without_tag(pairs: Iterator[Pair]) -> Iterator[Pair]:
    """Yield pairs as readers know them."""
    return ((key[1:], value) for key, value in pairs)
