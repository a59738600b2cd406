"""The workloads that have a name: what each does, how often, and to which keys."""

from dataclasses import dataclass
from enum import Enum

from bench.peers.engines import UnknownName

YCSB_SCAN_PAIRS = (1, 100)
SEEK_SCAN_PAIRS = (10, 100)


class Action(Enum):
    """What an operation does, and to which key."""

    INSERT = "put a key that was not there"
    UPDATE = "put a key that is there"
    GET = "get a key that is there"
    MISS = "get a key that is not there"
    DELETE = "delete a key that may be there"
    TAKE = "delete the oldest key"
    SCAN = "walk over some pairs from a key on"
    MODIFY = "get a key that is there, then put it"


class Order(Enum):
    """Where keys come to lie that are inserted one after the other."""

    BY_KEY = "each behind the one before"
    SCATTERED = "anywhere among the others"


DRAWN = frozenset({Action.UPDATE, Action.GET, Action.MISS, Action.DELETE, Action.SCAN, Action.MODIFY})
"""What needs a key from a distribution."""
Mix = tuple[tuple[Action, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One thing to do to a store, over and over."""

    name: str
    what: str
    mix: Mix
    """Shares of all operations; they add up to 1."""
    needs_load: bool = True
    """Whether all keys are there when it begins; otherwise it makes them, each once, then again."""
    distribution: str = "uniform"
    order: Order = Order.SCATTERED
    scan_pairs: tuple[int, int] | None = None
    """Pairs of a scan, from so many to so many; None takes all there are."""
    alternates: bool = False
    """Whether actions take turns, instead of being drawn."""
    durable: bool = False
    """Whether a write waits for the disk unless another mode is asked for."""
    beside: str = ""
    """The workload that one more thread does for as long as this one takes."""
    operations_per_key: float = 1.0

    @property
    def draws(self) -> bool:
        """Whether a distribution has a say."""
        walks_all = self.scan_pairs is None
        return any(action in DRAWN and not (action is Action.SCAN and walks_all) for action, _ in self.mix)

    @property
    def inserts(self) -> bool:
        """Whether there are more keys in the end than were loaded."""
        return self.needs_load and any(action is Action.INSERT for action, _ in self.mix)

    def operations(self, keys: int) -> int:
        """Return how many operations are worth while on so many keys."""
        return max(1, round(keys * self.operations_per_key))


def _fill(name: str, what: str, **more: object) -> Workload:
    return Workload(name=name, what=what, mix=((Action.INSERT, 1.0),), needs_load=False, **more)  # type: ignore[arg-type]  # fields of the record


def _only(action: Action, name: str, what: str, **more: object) -> Workload:
    return Workload(name=name, what=what, mix=((action, 1.0),), **more)  # type: ignore[arg-type]  # fields of the record


def _ycsb(letter: str, what: str, *mix: tuple[Action, float], distribution: str = "zipf:0.99") -> Workload:
    return Workload(
        name=f"ycsb-{letter}", what=what, mix=mix, distribution=distribution, scan_pairs=YCSB_SCAN_PAIRS
    )


WORKLOADS = (
    _fill("fillseq", "put every key once, in key order", order=Order.BY_KEY),
    _fill("fillrandom", "put every key once, in random order"),
    _fill("fillsync", "put in random order, each write durable", durable=True, operations_per_key=0.005),
    _only(Action.UPDATE, "overwrite", "put keys that are there"),
    _only(Action.GET, "readrandom", "get keys that are there"),
    _only(Action.MISS, "readmissing", "get keys that are not there, between those that are"),
    _only(Action.GET, "readhot", "get keys of one hundredth of the key range", distribution="hot:0.01"),
    _only(Action.SCAN, "scan", "walk over all pairs, in key order", operations_per_key=3e-6),
    _only(
        Action.SCAN,
        "seekscan",
        "walk over 10 to 100 pairs from a key on",
        scan_pairs=SEEK_SCAN_PAIRS,
        operations_per_key=0.02,
    ),
    _only(Action.DELETE, "deleterandom", "delete keys, the same one more than once perhaps"),
    Workload(
        name="queue",
        what="put a key behind all others, delete the first, in turn",
        mix=((Action.INSERT, 0.5), (Action.TAKE, 0.5)),
        order=Order.BY_KEY,
        alternates=True,
    ),
    _only(
        Action.GET,
        "readwhilewriting",
        "get keys that are there while one more thread overwrites",
        beside="overwrite",
    ),
    _ycsb("a", "update heavy: half gets, half updates", (Action.GET, 0.5), (Action.UPDATE, 0.5)),
    _ycsb("b", "read mostly: 95 % gets, 5 % updates", (Action.GET, 0.95), (Action.UPDATE, 0.05)),
    _ycsb("c", "read only", (Action.GET, 1.0)),
    _ycsb(
        "d",
        "read latest: 95 % gets of new keys, 5 % inserts",
        (Action.GET, 0.95),
        (Action.INSERT, 0.05),
        distribution="latest",
    ),
    _ycsb(
        "e",
        "short ranges: 95 % scans of 1 to 100 pairs, 5 % inserts",
        (Action.SCAN, 0.95),
        (Action.INSERT, 0.05),
    ),
    _ycsb("f", "half gets, half read-modify-writes", (Action.GET, 0.5), (Action.MODIFY, 0.5)),
)
_BY_NAME = {workload.name: workload for workload in WORKLOADS}


def find_workload(name: str) -> Workload:
    """Return the workload of a name; an unknown one is an error that suggests the nearest."""
    found = _BY_NAME.get(name)
    if found is None:
        raise UnknownName("workload", name, _BY_NAME)
    return found
