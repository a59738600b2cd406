"""A store that does nothing: what the loops of the bench cost by themselves."""

import time
from collections.abc import Callable, Iterable, Sequence
from operator import is_, truth
from typing import cast

from bench.compare.workloads import Round, Workload
from bench.data import Data, Pairs
from bench.peers.engines import Pair

_PASSES = 3


class EmptyStore:
    """Calls the cheapest functions that there are; gives back pairs that it has beforehand."""

    def __init__(self, data: Data) -> None:
        keys, values = data.pairs(data.shuffled())
        self._pairs = list(zip(keys, values, strict=True))

    def putter(self) -> Callable[[bytes, bytes], object]:
        """Return a function of two arguments."""
        return is_

    def getter(self) -> Callable[[bytes], bytes | None]:
        """Return a function of one argument."""
        return cast("Callable[[bytes], bytes | None]", truth)

    def write_batch(self, batch: Pairs) -> None:
        """Walk over the pairs."""
        put = self.putter()
        for key, value in zip(*batch, strict=True):
            put(key, value)

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Do nothing."""

    def scan(self) -> Iterable[Pair]:
        """Return as many pairs as there would be."""
        return self._pairs

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return as many pairs as are asked for."""
        return self._pairs[:limit]

    def compact(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def loop_costs(workloads: Sequence[Workload], data: Data) -> dict[str, float]:
    """Return the nanoseconds that each workload's loop costs an operation when the store does nothing."""
    store, round_ = EmptyStore(data), Round(data, data.count, 0)
    return {workload.name: _loop_cost(workload, store, round_) for workload in workloads}


def _loop_cost(workload: Workload, store: EmptyStore, round_: Round) -> float:
    made = workload.make(round_)
    costs = []
    for _ in range(_PASSES):
        started = time.perf_counter_ns()
        operations = workload.loop(store, made)
        costs.append((time.perf_counter_ns() - started) / operations)
    return min(costs)  # whatever was slower than this was not the loop
