"""The newest writes in memory: dicts for point reads, sorted only when somebody scans.

A memtable is a stack of **layers**.  Writes go into the top layer, a plain dict from key to value: that is
all a put or a get costs.  A snapshot puts a new layer on top, so that everything below stays as it is while
the snapshot is held; when no snapshot separates two layers any more, they are merged again.  So a layer
needs no sequence numbers by entry: it lies wholly below a snapshot or wholly above it.
"""

import threading
from collections.abc import Iterator
from itertools import islice

from sortedcontainers import SortedList

from lsm.payload import Value

# Sorting and merging hold the interpreter; in steps of this many keys they do so for a few milliseconds.
_STEP_KEYS = 8192


class Layer:
    """Writes between two snapshots.  `last_seq` is the snapshot on top of it, None while it takes writes."""

    __slots__ = ("_lock", "_sorted", "entries", "last_seq")

    def __init__(self) -> None:
        self.entries: dict[bytes, Value] = {}
        self.last_seq: int | None = None
        self._sorted: SortedList[bytes] | None = None
        self._lock = threading.Lock()

    def absorb(self, newer: "Layer") -> None:
        """Take over the entries of the layer above, which is still there for whoever looks at it."""
        pairs = iter(newer.entries.items())
        while chunk := dict(islice(pairs, _STEP_KEYS)):
            with self._lock:
                self.entries.update(chunk)
        self.last_seq = newer.last_seq

    def chunk(
        self,
        start: bytes | None,
        stop: bytes | None,
        *,
        reverse: bool,
        count: int,
        after: bytes | None = None,
    ) -> tuple[list[bytes], list[Value]]:
        """Return up to `count` entries of [start, stop) in order, beyond the key `after` if given."""
        low, high = (start, after) if reverse and after is not None else (start, stop)
        if not reverse and after is not None:
            low = after
        # Beyond `after`, the bound is open; `start` is closed; `stop` is open.
        inclusive = (reverse or after is None, False)
        with self._lock:
            order = self._sorted_keys()
            keys = list(islice(order.irange(low, high, inclusive=inclusive, reverse=reverse), count))
        return keys, list(map(self.entries.__getitem__, keys))

    def _sorted_keys(self) -> "SortedList[bytes]":
        """Return all keys in order, sorting only those that came since the last call."""
        if self._sorted is None:
            self._sorted = SortedList()
        # A dict keeps insertion order and we never remove: the new keys are the last ones.
        new = list(islice(reversed(self.entries), len(self.entries) - len(self._sorted)))
        if len(new) > len(self._sorted):
            self._sorted = SortedList(_sorted_in_steps([*self._sorted, *new]))
        else:
            self._sorted.update(new)
        return self._sorted


def _sorted_in_steps(keys: list[bytes]) -> list[bytes]:
    """Sort like sorted(), in steps that each hold the interpreter briefly."""
    runs = [sorted(keys[at : at + _STEP_KEYS]) for at in range(0, len(keys), _STEP_KEYS)]
    while len(runs) > 1:
        # sorted() merges two sorted runs in linear time.
        pairs = zip(runs[::2], [*runs[1::2], []], strict=False)
        runs = [sorted(left + right) for left, right in pairs]
    return runs[0] if runs else []


class MemTable:
    """One keyspace's writes since the last seal.

    The owner serialises `freeze`, `thaw` and writes; readers take `layers` and need no lock.
    """

    __slots__ = ("layers", "top")

    def __init__(self) -> None:
        self.top = Layer()
        self.layers: tuple[Layer, ...] = (self.top,)  # newest first

    def freeze(self, seq: int) -> bool:
        """Let nothing written up to `seq` change any more; tell whether that took a new layer."""
        if not self.top.entries:
            return False
        self.top.last_seq = seq
        self.top = Layer()
        self.layers = (self.top, *self.layers)
        return True

    def seal(self, seq: int) -> None:
        """Take no more writes; the last one was `seq`."""
        if self.top.last_seq is None:
            self.top.last_seq = seq
        if not self.top.entries:
            self.layers = self.layers[1:]

    def thaw(self, snapshots: list[int]) -> bool:
        """Merge neighbouring layers that no snapshot separates; tell whether any were."""
        kept: list[Layer] = []
        for layer in reversed(self.layers):  # oldest first
            below = kept[-1] if kept else None
            if below is not None and not _separated(below, layer, snapshots):
                below.absorb(layer)
            else:
                kept.append(layer)
        merged = len(kept) < len(self.layers)
        self.layers = tuple(reversed(kept))
        self.top = self.layers[0]
        return merged

    def entries(self) -> Iterator[dict[bytes, Value]]:
        """Yield the layers' dicts, newest first."""
        return (layer.entries for layer in self.layers)


def _separated(below: Layer, above: Layer, snapshots: list[int]) -> bool:
    assert below.last_seq is not None
    upper = float("inf") if above.last_seq is None else above.last_seq
    return any(below.last_seq <= seq < upper for seq in snapshots)
