"""Which log segments may go: a pure decision over the manifest's facts.

A segment goes when its entries are in tables, when no limit of retention covers it, and when no pin holds
it.  Segments go from the old end only, so what is retained is always one unbroken range.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsm.limits import Limits
from lsm.version import SegmentMeta

_MICROSECONDS = 1_000_000
_SEGMENTS_MAX = 1000
"""Segments kept for their size: a store that is flushed often would else keep very many small files."""


@dataclass(frozen=True, slots=True)
class Pin:
    """Somebody who still needs everything after `seq`, unless that is more than `max_lag_bytes` of log."""

    name: str
    seq: int
    max_lag_bytes: int | None = None


def outside_limits(
    segments: Sequence[SegmentMeta], *, flushed_seq: int, limits: Limits, now_us: int
) -> list[SegmentMeta]:
    """Return the segments, oldest first, that could go if nobody had pinned them."""
    if limits.keeps_all:
        return []
    kept_bytes = sum(meta.size_bytes or 0 for meta in segments)
    gone: list[SegmentMeta] = []
    for meta in segments:
        if meta.last_seq is None or meta.last_seq > flushed_seq:
            break
        is_young = (meta.last_time_us or 0) > now_us - limits.seconds * _MICROSECONDS
        is_covered = kept_bytes <= limits.size_bytes and len(segments) - len(gone) <= _SEGMENTS_MAX
        if is_covered or (limits.seconds and is_young):
            break
        gone.append(meta)
        kept_bytes -= meta.size_bytes or 0
    return gone


def lag_bytes(segments: Sequence[SegmentMeta], seq: int, open_bytes: int) -> int:
    """Return how much log there is from the segment that holds what comes after `seq` to the end.

    `open_bytes` is the size of the segment that is being written.
    """
    return sum(
        open_bytes if meta.size_bytes is None else meta.size_bytes
        for meta in segments
        if meta.last_seq is None or meta.last_seq > seq
    )


def lagging(
    segments: Sequence[SegmentMeta], candidates: Sequence[SegmentMeta], pins: Iterable[Pin], open_bytes: int
) -> list[Pin]:
    """Return the pins that hold one of the candidates back and are further behind than their cap."""
    return [
        pin
        for pin in pins
        if pin.max_lag_bytes is not None
        and any(_is_held(meta, pin) for meta in candidates)
        and lag_bytes(segments, pin.seq, open_bytes) > pin.max_lag_bytes
    ]


def unpinned(candidates: Sequence[SegmentMeta], pins: Iterable[Pin]) -> list[SegmentMeta]:
    """Return the candidates, oldest first, up to the first that somebody holds."""
    held_from = min((pin.seq for pin in pins), default=None)
    if held_from is None:
        return list(candidates)
    return [meta for meta in candidates if meta.last_seq is not None and meta.last_seq <= held_from]


def _is_held(meta: SegmentMeta, pin: Pin) -> bool:
    return meta.last_seq is not None and meta.last_seq > pin.seq
