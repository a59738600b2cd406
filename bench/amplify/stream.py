"""The writes of a run, as key numbers: everything once in random order, then overwrites."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bench.amplify.settings import AmplifySettings
from bench.workload.catalogue import find_workload
from bench.workload.distributions import Uniform, parse_distribution
from bench.workload.stream import Chunk, Size, as_writes, load, operations
from compaction.simulate import Writes

IndexArray = NDArray[np.int64]

_WORKLOAD = find_workload("overwrite")


def is_uniform(settings: AmplifySettings) -> bool:
    """Tell whether all keys are overwritten alike, which the formulas take for granted."""
    return isinstance(parse_distribution(settings.dist), Uniform)


def load_chunks(settings: AmplifySettings) -> Iterator[Chunk]:
    """Yield puts of every key once."""
    return load(_WORKLOAD, _size(settings))


def overwrite_chunks(settings: AmplifySettings) -> Iterator[Chunk]:
    """Yield puts of the warm-up, and behind them those that are measured."""
    return operations(_WORKLOAD, _size(settings))


def all_writes(settings: AmplifySettings) -> Iterator[Writes]:
    """Yield all of it for the simulator."""
    for chunks in (load_chunks(settings), overwrite_chunks(settings)):
        yield from as_writes(chunks, key_bytes=settings.key_bytes, value_bytes=settings.value_bytes)


def _size(settings: AmplifySettings) -> Size:
    return Size(
        keys=settings.keys,
        count=settings.warm_up_count + settings.overwrite_count,
        distribution=parse_distribution(settings.dist),
        seed=settings.seed,
    )


class Keys:
    """Key numbers of chunks, taken in pieces of any length."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._chunks = chunks
        self._rest: IndexArray = np.empty(0, np.int64)

    def take(self, count: int) -> IndexArray:
        """Return the next `count` numbers, fewer only at the end."""
        parts = [self._rest]
        missing = count - len(self._rest)
        while missing > 0 and (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk.keys)
            missing -= len(chunk)
        joined = np.concatenate(parts)
        self._rest = joined[count:]
        return joined[:count]
