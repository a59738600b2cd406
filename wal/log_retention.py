"""How long a log keeps its segments: a decision about names, sizes and times, without touching a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wal.writer import SEGMENT_BYTES_MAX

SEGMENT_BYTES = 16 * 1024 * 1024
_SEGMENT_BYTES_LEAST = 1024
_SEGMENT_BYTES_MOST = SEGMENT_BYTES_MAX // 4
"""Far from the format's limit: a segment may be longer than asked for by one record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What can be set when a log is opened for writing; nothing of it is stored."""

    segment_bytes: int = SEGMENT_BYTES
    retention_bytes: int | None = None
    retention_seconds: float | None = None
    sync: bool = True

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not _SEGMENT_BYTES_LEAST <= self.segment_bytes <= _SEGMENT_BYTES_MOST:
            limits = f"{_SEGMENT_BYTES_LEAST} to {_SEGMENT_BYTES_MOST}"
            raise ValueError(f"segment_bytes must be {limits}, not {self.segment_bytes}")
        for name in ("retention_bytes", "retention_seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must not be negative, not {value}")


def trimmed(firsts: Sequence[int], before: int) -> Sequence[int]:
    """Return the segments, of those that begin with `firsts`, that hold only offsets before `before`."""
    return [first for first, following in pairwise(firsts) if following <= before]


def expired(
    firsts: Sequence[int],
    settings: LogSettings,
    now_us: int,
    *,
    size_of: Callable[[int], int],
    begun_us: Callable[[int], int],
) -> Sequence[int]:
    """Return the oldest segments that are beyond a limit; never the newest.

    A segment is as old as its last entry, and that is no younger than the segment after it.
    """
    gone = 0
    if settings.retention_bytes is not None:
        sizes = [size_of(first) for first in firsts]
        while gone < len(firsts) - 1 and sum(sizes[gone:]) > settings.retention_bytes:
            gone += 1
    if settings.retention_seconds is not None:
        oldest_us = now_us - int(settings.retention_seconds * 1_000_000)
        while gone < len(firsts) - 1 and begun_us(firsts[gone + 1]) < oldest_us:
            gone += 1
    return firsts[:gone]
