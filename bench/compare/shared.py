"""Workloads of the shared catalogue on any engine: operations that are made beforehand, and one loop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from bench.data import Data, Pairs
from bench.peers.engines import Mixes, Store
from bench.workload import Size, capacity, find_workload, load, operations
from bench.workload.stream import GET, MODIFY, PUT, SCAN

NAMES = ("fillseq", "readhot", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f")
"""Those that are not among the usual ones of `compare`, and that every engine can do."""

Operation = tuple[int, tuple[bytes, bytes | int] | tuple[bytes]]


@dataclass(frozen=True, slots=True)
class Shared:
    """A workload of the catalogue for so much data; draws are those of a seed."""

    name: str
    data: Data
    seed: int

    @property
    def size(self) -> Size:
        """As many operations as suit the workload."""
        keys = self.data.count
        return Size(keys=keys, count=find_workload(self.name).operations(keys), seed=self.seed)

    def loaded(self) -> Iterator[Pairs]:
        """Yield the pairs that must be there before it begins."""
        data = self._data()
        for chunk in load(find_workload(self.name), self.size):
            yield data.pairs(chunk.keys)

    def operations(self) -> list[Operation]:
        """Return what is to be done, in order."""
        data, made = self._data(), list[Operation]()
        for version, chunk in enumerate(operations(find_workload(self.name), self.size), start=1):
            keys, values = data.pairs(chunk.keys, version)
            more = {PUT: values, MODIFY: values, SCAN: chunk.counts.tolist()}
            for at, kind in enumerate(chunk.kinds.tolist()):
                made.append((kind, (keys[at], more[kind][at]) if kind in more else (keys[at],)))
        return made

    def _data(self) -> Data:
        """The data with the keys that are inserted on the way."""
        return replace(self.data, count=capacity(find_workload(self.name), self.size))


def do_operations(store: Store, made: Sequence[Operation]) -> int:
    """Do one operation after the other."""
    get, put = store.mixed() if isinstance(store, Mixes) else (store.getter(), store.putter())

    def scan(start: bytes, limit: int) -> None:
        for _key, _value in store.scan_from(start, limit):
            pass

    def modify(key: bytes, value: bytes) -> None:
        get(key)
        put(key, value)

    functions: dict[int, Callable[..., object]] = {PUT: put, GET: get, SCAN: scan, MODIFY: modify}
    for kind, arguments in made:
        functions[kind](*arguments)
    return len(made)
