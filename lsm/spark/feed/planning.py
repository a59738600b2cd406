"""Where to cut a stretch of a log.  Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


class Span(NamedTuple):
    """The changes after `since` up to `until`."""

    since: int
    until: int


class Stretch(NamedTuple):
    """So many bytes hold the changes up to `last_seq`, where a commit ends, from the stretch before it on."""

    last_seq: int
    size_bytes: int


def cut(span: Span, stretches: Sequence[Stretch], parts: int) -> list[Span]:
    """Cut a span into up to `parts` spans of about equal bytes, at the ends of stretches.

    Spans are disjoint, in order, together the whole, and none is empty.
    """
    if span.until <= span.since:
        return []
    ends = list(accumulate(stretch.size_bytes for stretch in stretches))
    seqs = {span.since, span.until}
    for number in range(1, parts):
        at = bisect_left(ends, ends[-1] * number / parts) if ends else 0
        if at < len(stretches) and span.since < stretches[at].last_seq < span.until:
            seqs.add(stretches[at].last_seq)
    return [Span(since, until) for since, until in pairwise(sorted(seqs))]


def within_bytes(stretches: Sequence[Stretch], bytes_max: int) -> int | None:
    """Return the last sequence number of the stretches that fit; None if not even the first one does."""
    total, reached = 0, None
    for stretch in stretches:
        total += stretch.size_bytes
        if total > bytes_max:
            break
        reached = stretch.last_seq
    return reached


def commit_of(first_seqs: I64, counts: I64, seq: int) -> Span:
    """Return the commit that `seq` is part of; commits are given by first numbers and counts, in order."""
    at = int(np.searchsorted(first_seqs, seq, side="right")) - 1
    assert at >= 0, f"{seq} lies before {first_seqs[:1]}"
    first = int(first_seqs[at])
    return Span(first - 1, first + int(counts[at]) - 1)


def thinned(last_seqs: I64, ends: I64, every_bytes: int) -> list[Stretch]:
    """Put commits together to stretches of at least `every_bytes`; `ends` count bytes from the first one."""
    stretches: list[Stretch] = []
    total = 0
    while total < (ends[-1] if len(ends) else 0):
        at = min(int(np.searchsorted(ends, total + every_bytes)), len(ends) - 1)
        stretches.append(Stretch(int(last_seqs[at]), int(ends[at]) - total))
        total = int(ends[at])
    return stretches
