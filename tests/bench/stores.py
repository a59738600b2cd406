"""What the tests of the bench share: tiny settings, and every engine that is installed."""

from bench.compare.comparison import Comparison
from bench.compare.settings import CompareSettings
from bench.compare.workloads import WORKLOADS
from bench.data import Data
from bench.peers.engines import PEERS, Engine, find_peers, ours

# SQLite is always there; the others are measured where they are installed.
INSTALLED: list[Engine] = [ours(), *find_peers(PEERS)[0]]


def tiny_data(seed: int, count: int = 300) -> Data:
    return Data.make(count, key_bytes=16, value_bytes=20, seed=seed)


def tiny_comparison(directory, seed, engines, workloads=WORKLOADS, *, repeats=1, announce=None) -> Comparison:
    settings = CompareSettings(
        keys=300, value_bytes=20, seed=seed, repeats=repeats, durable_operations=16, directory=directory
    )
    return Comparison(
        settings=settings,
        engines=engines,
        workloads=workloads,
        data=tiny_data(seed),
        announce=announce or (lambda _: None),
        quiet_seconds=0.02,
    )
