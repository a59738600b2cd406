"""What the same stream of writes makes each engine write, and how much space it takes in the end."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.compare.settings import CompareSettings
from bench.data import Data, Pairs
from bench.peers.settings import StoreSettings
from bench.peers.work import TreeWork
from bench.settings import MIB

OVERWRITES = 3
"""How often the whole is overwritten, by keys drawn evenly: enough for a steady state."""
_CHUNK = 100_000
_TABLE_BYTES = 2 * MIB
_SKIP_LIST_BYTES = 31  # what an entry of RocksDB's and LevelDB's memtables has beside key and value, about
_LOG_BYTES = 48  # and a put in our log
_MEMTABLE_ENTRY_BYTES = 64  # more than any of them adds to keys and values
_BASE_MEMTABLES = 8  # twice what L0 holds when it is merged
_MEMTABLES = 72
_MEMTABLE_BYTES_MIN = 64 * 1024


def _memtable_bytes(settings: CompareSettings) -> int:
    """Return a memtable in proportion to the data."""
    live_bytes = settings.amplify_keys * (settings.key_bytes + settings.value_bytes)
    return max(_MEMTABLE_BYTES_MIN, live_bytes // _MEMTABLES)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplifyTask:
    """The stream, and what every engine is given alike."""

    keys: int
    key_bytes: int
    value_bytes: int
    seed: int
    memtable_bytes: int
    level_ratio: int
    is_paced: bool = True
    """Whether the stream waits for an engine to settle, again and again."""

    @classmethod
    def of(cls, settings: CompareSettings) -> "AmplifyTask":
        """Return what the settings ask for."""
        return cls(
            keys=settings.amplify_keys,
            key_bytes=settings.key_bytes,
            value_bytes=settings.value_bytes,
            seed=settings.seed,
            memtable_bytes=settings.amplify_memtable_bytes or _memtable_bytes(settings),
            level_ratio=settings.level_ratio,
            is_paced=not settings.amplify_at_full_speed,
        )

    @property
    def live_bytes(self) -> int:
        """Keys and values that are there in the end."""
        return self.keys * (self.key_bytes + self.value_bytes)

    @property
    def user_bytes(self) -> int:
        """Keys and values of all writes."""
        return self.live_bytes * (1 + OVERWRITES)

    @property
    def memtable_log_bytes(self) -> int:
        """What the puts of a memtable take in our log: the same memtable is one of as many puts."""
        entry_bytes = self.key_bytes + self.value_bytes
        return self.memtable_bytes // (entry_bytes + _SKIP_LIST_BYTES) * (entry_bytes + _LOG_BYTES)

    @property
    def puts_a_step(self) -> int:
        """How many puts come between two waits: not quite a memtable of any engine."""
        return max(1, self.memtable_bytes // (self.key_bytes + self.value_bytes + _MEMTABLE_ENTRY_BYTES))

    @property
    def store(self) -> StoreSettings:
        """What every engine is given, as far as it has the notion."""
        return StoreSettings(
            memtable_bytes=self.memtable_bytes,
            memtable_log_bytes=self.memtable_log_bytes,
            cache_bytes=max(MIB, 2 * self.live_bytes),
            data_bytes=self.live_bytes,
            table_bytes=_TABLE_BYTES,
            level_ratio=self.level_ratio,
            base_bytes=_BASE_MEMTABLES * self.memtable_bytes,
            counts_work=True,
        )

    def data(self) -> Data:
        """Return what the stream is made of; ValueError if the keys do not fit."""
        return Data.make(self.keys, key_bytes=self.key_bytes, value_bytes=self.value_bytes, seed=self.seed)

    def writes(self, data: Data) -> Iterator[Pairs]:
        """Yield the stream, piece by piece: all keys in random order, then keys drawn evenly."""
        for version, numbers in enumerate(self._passes(data)):
            for start in range(0, len(numbers), _CHUNK):
                yield data.pairs(numbers[start : start + _CHUNK], version)

    def last_versions(self, data: Data) -> NDArray[np.int64]:
        """Return which version of each entry is written last."""
        last = np.zeros(data.count, np.int64)
        for version, numbers in enumerate(self._passes(data)):
            last[numbers] = version
        return last

    def _passes(self, data: Data) -> Iterator[NDArray[np.int64]]:
        yield data.shuffled(11)
        for version in range(1, 1 + OVERWRITES):
            yield data.drawn(data.count, version, 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplified:
    """One engine after the stream, settled."""

    engine: str
    user_bytes: int
    live_bytes: int
    work: TreeWork | None
    """What its tree has written, if it has one and says so."""
    passed_bytes: int | None
    """What the process and its workers handed to the operating system (`wchar`); None if nobody counts."""
    stored_bytes: int | None
    """Pages that they made it write to disk (`write_bytes`)."""
    data_bytes: int
    log_bytes: int
    other_bytes: int
    """Manifests and diaries."""
    seconds: float

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Amplified":
        """Inverse of `to_json_of_child`."""
        work = found["work"]
        return cls(**{**found, "work": None if work is None else TreeWork(**work)})

    def to_json_of_child(self) -> dict[str, Any]:
        """Return what a child process answers: plain values, without what follows from them."""
        return asdict(self)

    @property
    def tree_write_amp(self) -> float | None:
        """Flushed and compacted bytes over flushed ones, by the engine's own account."""
        return None if self.work is None else self.work.tree_write_amp

    @property
    def write_amp(self) -> float | None:
        """Everything that was written, over keys and values of all writes."""
        return None if self.passed_bytes is None else self.passed_bytes / self.user_bytes

    @property
    def os_write_amp(self) -> float | None:
        """The same, as the operating system counts pages for the disk."""
        return None if self.stored_bytes is None else self.stored_bytes / self.user_bytes

    @property
    def space_amp(self) -> float:
        """Tables, or what there is instead, over live keys and values."""
        return self.data_bytes / self.live_bytes

    @property
    def space_amp_with_log(self) -> float:
        """All files over live keys and values."""
        return (self.data_bytes + self.log_bytes + self.other_bytes) / self.live_bytes

    def figures(self) -> dict[str, float]:
        """Return the figures that there are."""
        found = {
            "tree_write_amp": self.tree_write_amp,
            "write_amp": self.write_amp,
            "os_write_amp": self.os_write_amp,
            "space_amp": self.space_amp,
            "space_amp_with_log": self.space_amp_with_log,
        }
        return {name: figure for name, figure in found.items() if figure is not None}

    def to_json(self) -> dict[str, Any]:
        """Return plain values, figures included."""
        work = self.work
        return {
            **self.to_json_of_child(),
            "tree_write_amp": None,
            "write_amp": None,
            "os_write_amp": None,
            **self.figures(),
            "flush_bytes": None if work is None else work.flush_bytes,
            "compaction_bytes": None if work is None else work.compaction_bytes,
            "how": "no tree: counters of the operating system" if work is None else work.how,
        }


def is_no_higher(ours: Amplified, theirs: Amplified) -> bool | None:
    """Whether our tree writes no more for a flushed byte than theirs; None if one of them cannot say."""
    if ours.tree_write_amp is None or theirs.tree_write_amp is None:
        return None
    return ours.tree_write_amp <= theirs.tree_write_amp
