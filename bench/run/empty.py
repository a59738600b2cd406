"""What the bench itself costs: the same loop on a store that does nothing."""

import threading
from dataclasses import replace
from itertools import islice

from bench.data import Data
from bench.run.calls import empty_target
from bench.run.worker import Worker
from bench.workload import Size, Workload, operations

_CHUNKS_MAX = 4
_PASSES = 3


def loop_cost_ns(workload: Workload, size: Size, data: Data) -> float:
    """Return the nanoseconds an operation that a thread of a run spends in the bench, clock included."""
    costs = []
    for _ in range(_PASSES):
        stream = islice(operations(workload, replace(size, thread=0, threads=1)), _CHUNKS_MAX)
        worker = Worker(stream, data, empty_target(), threading.Event())
        worker.run()
        if worker.failure is not None:
            raise worker.failure
        costs.append(worker.busy_seconds / max(1, worker.done))
    return min(costs) * 1e9  # whatever was slower than this was not the loop
