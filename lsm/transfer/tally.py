"""How far a transfer is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

Progress: TypeAlias = Callable[[int, int | None], None]
"""Told how many bytes are done, and of how many if that is known."""
_EVERY_BYTES: Final = 256 * 1024


class Tally:
    """Counts rows, and tells from time to time how many bytes have passed."""

    __slots__ = ("_done_bytes", "_progress", "_told_bytes", "rows", "total_bytes")

    def __init__(self, progress: Progress | None, total_bytes: int | None = None) -> None:
        self.rows = 0
        self.total_bytes = total_bytes
        self._progress = progress
        self._done_bytes = 0
        self._told_bytes = 0

    def add(self, rows: int, size_bytes: int) -> None:
        """Count rows, and the bytes that they took."""
        self.rows += rows
        self._done_bytes += size_bytes
        if self._done_bytes - self._told_bytes >= _EVERY_BYTES and self._progress is not None:
            self._told_bytes = self._done_bytes
            self._progress(self._done_bytes, self.total_bytes)
