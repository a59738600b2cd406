"""Speed of flush and compaction, by who does them."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import lsm
from bench.background.pauses import PAUSE_MODES, Pauses, measure_pauses
from bench.background.settings import BackgroundSettings
from bench.data import Data, cut
from bench.measure import Spread
from bench.progress import Bar
from bench.settings import MIB

MODES = ("manual", "thread", "process")
"""Values of the store's option `background`; with "manual", the caller does the work itself."""
RATE_TARGET = 1_000_000
_RUNS = 4
_BATCH = 1000
_WARM_UP_ENTRIES = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRate:
    """Entries a second that one kind of job got through."""

    job: str
    mode: str
    entries: int
    rate: Spread
    cpu_rate: Spread | None
    """Entries a second of processor time; unknown for work in another process."""

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundResult:
    """All that `background` measures."""

    rates: list[JobRate]
    pauses: list[Pauses]

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "rates": [rate.to_json() for rate in self.rates],
            "rate_target": RATE_TARGET,
            "pauses": [pauses.to_json() for pauses in self.pauses],
        }


@dataclass(frozen=True, slots=True)
class _Job:
    entries: int
    seconds: float
    cpu_seconds: float


def measure_background(settings: BackgroundSettings, data: Data, bar: Bar) -> BackgroundResult:
    """Measure everything."""
    bar.start(settings.repeats * len(MODES) * 2 + len(PAUSE_MODES))
    jobs: dict[tuple[str, str], list[_Job]] = {}
    for number in range(settings.repeats):
        for mode in MODES if number % 2 == 0 else MODES[::-1]:
            for name, job in _jobs(settings, data, mode, bar):
                jobs.setdefault((name, mode), []).append(job)
    rates = [_rate(name, mode, jobs[name, mode]) for name, mode in sorted(jobs)]
    return BackgroundResult(
        rates=rates, pauses=[measure_pauses(settings, data, mode, bar) for mode in PAUSE_MODES]
    )


def _rate(name: str, mode: str, jobs: list[_Job]) -> JobRate:
    return JobRate(
        job=name,
        mode=mode,
        entries=jobs[0].entries,
        rate=Spread.of(job.entries / job.seconds for job in jobs),
        cpu_rate=None if mode == "process" else Spread.of(job.entries / job.cpu_seconds for job in jobs),
    )


def _jobs(settings: BackgroundSettings, data: Data, mode: str, bar: Bar) -> Iterator[tuple[str, _Job]]:
    """Yield one measurement of each kind of job."""
    bar.step(f"flush, and compaction of {_RUNS} runs ({mode})")
    with _store(settings, mode) as db:
        for numbers in np.array_split(data.shuffled(1), _RUNS):
            yield "flush", _flush(db, data, numbers)
        yield f"compact {_RUNS} equal runs", _compact(db)
    bar.step(f"compaction of two runs, 1:10 ({mode})")
    with _store(settings, mode) as db:
        numbers = data.shuffled(2)
        small = max(1, data.count // 11)
        _flush(db, data, numbers[small:])
        _flush(db, data, numbers[:small])
        yield "compact 2 runs, 1:10", _compact(db)


@contextmanager
def _store(settings: BackgroundSettings, mode: str) -> Iterator[lsm.DB]:
    """Make a store that flushes and compacts only when told to, its worker, if any, already running."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name:
        options = {"l0_tables_max": 100, "l0_tables_slow": 200, "l0_tables_stop": 300}
        with lsm.open(Path(name), "n", background=mode, memtable_bytes_max=1024 * MIB, **options) as db:
            warm = db.keyspace("warm")
            warm.update((b"%08d" % number, bytes(100)) for number in range(_WARM_UP_ENTRIES))
            db.flush()
            db.drop_keyspace("warm")
            yield db


def _flush(db: lsm.DB, data: Data, numbers: NDArray[np.int64]) -> _Job:
    for keys, values in cut(data.pairs(numbers), _BATCH):
        db.update(zip(keys, values, strict=True), sync=False)
    db.sync()  # the log's own sync is not what is measured
    return _timed(len(numbers), db.flush)


def _compact(db: lsm.DB) -> _Job:
    before = _entries_in(db)
    job = _timed(0, db.compact)
    return _Job(_entries_in(db) - before, job.seconds, job.cpu_seconds)


def _entries_in(db: lsm.DB) -> int:
    stats = db.stats().background
    assert stats is not None
    return stats.entries_in


def _timed(entries: int, work: Callable[[], object]) -> _Job:
    started, cpu_started = time.perf_counter(), time.process_time()
    work()
    return _Job(entries, time.perf_counter() - started, max(1e-9, time.process_time() - cpu_started))
