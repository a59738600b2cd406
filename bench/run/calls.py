"""Operations of a stream as calls of a store: made ready first, then done with only a clock between."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, repeat
from operator import is_, truth
from typing import Any

import numpy as np

import lsm
from bench.data import Data
from bench.workload.stream import MISS, MODIFY, PUT, SCAN, Chunk, IndexArray

Function = Callable[..., object]
_SCAN_PIECE = 10_000
Call = tuple[Function, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Target:
    """What is called for operations."""

    put: Function
    get: Function
    delete: Function
    scan: Function
    modify: Function

    @property
    def by_kind(self) -> tuple[Function, ...]:
        """The functions, in the order of KINDS."""
        return self.put, self.get, self.get, self.delete, self.scan, self.modify


class Stopped(Exception):
    """An operation that would take long was given up."""


def target_of(db: lsm.DB, stop: threading.Event) -> Target:
    """Return the calls of a store; a long one gives up when `stop` is set."""
    get, put = db.get, db.put

    def scan(start: bytes, limit: int) -> None:
        pairs = db.scan(start, limit=limit)
        for _ in range(0, limit, _SCAN_PIECE):
            for _key, _value in islice(pairs, _SCAN_PIECE):
                pass
            if stop.is_set():
                raise Stopped

    def modify(key: bytes, value: bytes) -> None:
        get(key)
        put(key, value)

    return Target(put, get, db.delete, scan, modify)


def empty_target() -> Target:
    """Return the cheapest calls that there are: what they take is the cost of the bench."""
    return Target(is_, truth, truth, is_, is_)


def made_ready(part: Chunk, version: int, data: Data, target: Target) -> Iterable[Call]:
    """Return operations as functions with their arguments; values are those of a version."""
    keys, values = data.pairs(part.keys, version)
    missing = np.flatnonzero(part.kinds == MISS)
    for at, key in zip(missing.tolist(), data.missing(part.keys[missing]), strict=True):
        keys[at] = key
    kinds, functions = part.kinds.tolist(), target.by_kind
    arguments = {kind: _arguments(kind, keys, values, part.counts) for kind in set(kinds)}
    if len(arguments) == 1:
        # Put together as the loop goes, which costs it nothing to speak of.
        return zip(repeat(functions[kinds[0]]), arguments[kinds[0]])
    columns = {kind: list(column) for kind, column in arguments.items()}
    return [(functions[kind], columns[kind][at]) for at, kind in enumerate(kinds)]


def _arguments(
    kind: int, keys: list[bytes], values: list[bytes], counts: IndexArray
) -> Iterable[tuple[Any, ...]]:
    if kind in (PUT, MODIFY):
        return zip(keys, values, strict=True)
    return zip(keys, counts.tolist(), strict=True) if kind == SCAN else zip(keys, strict=True)


def timed(ready: Iterable[Call], stamps: list[int]) -> None:
    """Do one call after the other, and note the time before the first and after each.

    The list is the caller's, so that what was done before an error is not lost.
    """
    clock, note = time.perf_counter_ns, stamps.append
    note(clock())
    for function, arguments in ready:
        function(*arguments)
        note(clock())
