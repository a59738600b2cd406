"""Which of the keys that are there an operation takes.

Keys are counted in the order in which they were inserted; a distribution knows nothing of their bytes.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bench.peers.engines import UnknownName
from bench.workload.scatter import Scatter
from bench.workload.zipf import zipf_ranks

IndexArray = NDArray[np.int64]

THETA = 0.99
"""How uneven "zipf" is unless it says: the figure of YCSB."""
_THETA_MAX = 5.0
_SALT = 77


@dataclass(frozen=True, slots=True)
class Request:
    """Operations that want a key each."""

    random: np.random.Generator
    count: int
    there: IndexArray | int
    """How many keys there are when its turn comes."""
    first: int
    """How many keys there were in the beginning."""
    positions: IndexArray
    """Which operations of the whole run these are."""
    seed: int
    """Of the run: the same for all of its threads, so that they find the same keys hot."""


class Distribution(Protocol):
    """Chooses keys."""

    def draw(self, request: Request) -> IndexArray:
        """Return the place, in the order of insertion, of the key that each operation takes."""

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Uniform:
    """Each key as often as any other."""

    def draw(self, request: Request) -> IndexArray:
        """Draw evenly."""
        return request.random.integers(0, request.there, request.count)

    def __str__(self) -> str:
        return "uniform"


@dataclass(frozen=True, slots=True)
class Zipf:
    """A few keys very often, most hardly ever; which ones has nothing to do with their order."""

    theta: float = THETA

    def draw(self, request: Request) -> IndexArray:
        """Draw ranks, and find each rank's key; keys that came later are the rarest."""
        ranks = zipf_ranks(request.random, self.theta, request.there, request.count)
        is_first = ranks < request.first
        ranks[is_first] = Scatter(request.first, request.seed, _SALT)(ranks[is_first])
        return ranks

    def __str__(self) -> str:
        return f"zipf:{self.theta:g}"


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest key most often, and the older the rarer."""

    theta: float = THETA

    def draw(self, request: Request) -> IndexArray:
        """Draw the distance from the newest key."""
        newest = np.asarray(request.there, np.int64) - 1
        return newest - zipf_ranks(request.random, self.theta, request.there, request.count)

    def __str__(self) -> str:
        return "latest" if self.theta == THETA else f"latest:{self.theta:g}"


@dataclass(frozen=True, slots=True)
class Hot:
    """Evenly among the first few of the keys, and none of the others."""

    share: float = 0.01

    def draw(self, request: Request) -> IndexArray:
        """Draw evenly, below the share."""
        hot = np.maximum(1, np.ceil(np.asarray(request.there) * self.share)).astype(np.int64)
        return request.random.integers(0, hot, request.count)

    def __str__(self) -> str:
        return f"hot:{self.share:g}"


@dataclass(frozen=True, slots=True)
class Sequential:
    """One key after the other, and from the beginning again."""

    def draw(self, request: Request) -> IndexArray:
        """Count."""
        return request.positions % request.there

    def __str__(self) -> str:
        return "sequential"


NAMES = ("uniform", "zipf", "latest", "hot", "sequential")


def parse_distribution(text: str) -> Distribution:
    """Return what text such as "uniform" or "zipf:0.99" means."""
    name, colon, parameter = text.strip().partition(":")
    if name not in NAMES:
        raise UnknownName("distribution", name[:40], NAMES)
    if name in ("uniform", "sequential"):
        if colon:
            raise ValueError(f"{name} takes no number; not {text!r:.40}")
        return Uniform() if name == "uniform" else Sequential()
    if name == "hot":
        return Hot(_number(text, parameter, 1.0)) if colon else Hot()
    made = Zipf if name == "zipf" else Latest
    return made(_number(text, parameter, _THETA_MAX)) if colon else made()


def _number(text: str, parameter: str, highest: float) -> float:
    try:
        number = float(parameter)
    except ValueError:
        number = -1.0
    if not 0 < number <= highest:
        raise ValueError(f"{text!r:.40}: a number above 0, up to {highest:g}, must follow the colon")
    return number
