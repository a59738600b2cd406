"""A consumer of the source that stands for the copy: the source keeps the log that the copy still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsm.db import DB

EVERY_SECONDS = 1.0
"""How often the position is moved while the copy is kept in step: each time costs two syncs at the source."""


class SourcePin:
    """Holds the source's log back, up to where the copy stands.

    It outlives the follower: a copy that is taken up again finds its log.  `drop_consumer` lets go of it.
    """

    def __init__(self, source: DB, name: str) -> None:
        """Register the consumer; `source` is a handle for reading, closed together with this."""
        self._source = source
        try:
            self._consumer = source.consumer(name, start="earliest")
        except BaseException:
            source.close()
            raise
        self._moved = source._state.clock.monotonic()

    def move(self, seq: int) -> None:
        """Let go of the log up to `seq`, which the copy has durably."""
        if seq > self._consumer.committed:
            self._consumer.seek(seq)
        self._moved = self._source._state.clock.monotonic()

    def move_if_due(self, seq: int) -> None:
        """As `move`, unless that was done a moment ago."""
        if self._source._state.clock.monotonic() - self._moved >= EVERY_SECONDS:
            self.move(seq)

    def close(self) -> None:
        """Stop moving; the log stays held."""
        self._consumer.close()
        self._source.close()
