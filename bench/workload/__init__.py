"""The workload language that the commands of the bench share: names, mixes, distributions, streams.

`find_workload` returns what a name means, `operations` its stream of operations on key numbers, and `writes`
the writes of the same stream, as the simulator takes them.
"""

from bench.workload.catalogue import WORKLOADS, Action, Order, Workload, find_workload
from bench.workload.distributions import Distribution, parse_distribution
from bench.workload.stream import KINDS, Chunk, Size, as_writes, capacity, load, operations, writes

__all__ = [
    "KINDS",
    "WORKLOADS",
    "Action",
    "Chunk",
    "Distribution",
    "Order",
    "Size",
    "Workload",
    "as_writes",
    "capacity",
    "find_workload",
    "load",
    "operations",
    "parse_distribution",
    "writes",
]
