"""The longest time that a put or a get takes while flush and compaction run in the background.

Puts and gets are measured one after the other, each from the only thread that is busy.  Two busy threads
would measure how CPython hands the interpreter over (every 5 ms), not the store.
"""

import itertools
import tempfile
import threading
import time
from array import array
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import lsm
from bench.background.settings import BackgroundSettings
from bench.data import Data, cut
from bench.measure import Latency
from bench.progress import Bar
from bench.settings import MIB

IDLE = "none"
"""Nothing is to be done in the background: the pauses are those of machine and interpreter alone."""
PAUSE_MODES = (IDLE, "thread", "process")
"""Who works in the background."""
PAUSE_TARGET_MS = 20.0
_BATCH = 1000
_PACE_EVERY = 100
_KEYS_MAX = 200_000
_MEMTABLE_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one thread saw."""

    rate: float
    latency: Latency
    over_target: int
    """How many operations took longer than the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """What the foreground saw of one kind of background."""

    mode: str
    puts: Seen
    gets: Seen
    flushes: int
    compactions: int
    stall_seconds: float
    """How long writers were held back on purpose, because the background was behind."""

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "target_ms": PAUSE_TARGET_MS}


def measure_pauses(settings: BackgroundSettings, data: Data, mode: str, bar: Bar) -> Pauses:
    """Load a store, then put, then get, while it flushes and compacts."""
    bar.step(f"pauses ({mode})")
    is_idle = mode == IDLE
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name:
        db = lsm.open(
            Path(name),
            "n",
            background="thread" if is_idle else mode,
            memtable_bytes_max=1024 * MIB if is_idle else _MEMTABLE_BYTES,
        )
        with db:
            _load(db, data)
            before = _work(db)
            puts = _seen(_puts(db, data, settings), settings)
            gets = _seen(_gets(db, data, settings), settings)
            flushes, compactions, stalled = (now - then for now, then in zip(_work(db), before, strict=True))
    return Pauses(
        mode=mode,
        puts=puts,
        gets=gets,
        flushes=int(flushes),
        compactions=int(compactions),
        stall_seconds=stalled,
    )


def _load(db: lsm.DB, data: Data) -> None:
    for keys, values in cut(data.pairs(data.shuffled(3)), _BATCH):
        db.update(zip(keys, values, strict=True), sync=False)
    db.compact()


def _work(db: lsm.DB) -> tuple[float, float, float]:
    stats = db.stats().background
    assert stats is not None
    return stats.flushes, stats.compactions, stats.stall_seconds


def _seen(nanoseconds: "array[int]", settings: BackgroundSettings) -> Seen:
    took = np.frombuffer(nanoseconds, np.int64)
    return Seen(
        rate=len(took) / settings.seconds,
        latency=Latency.of([took]),
        over_target=int((took > PAUSE_TARGET_MS * 1e6).sum()),
    )


class _Pace:
    """Lets a writer do so many entries a second and no more."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._done = 0
        self._started = time.perf_counter()

    def after(self, entries: int) -> None:
        """Sleep until it is time for the next ones."""
        self._done += entries
        if self._rate:
            time.sleep(max(0.0, self._started + self._done / self._rate - time.perf_counter()))


def _puts(db: lsm.DB, data: Data, settings: BackgroundSettings) -> "array[int]":
    """Put for a while, and return how long each put took; the sleep between them does not count."""
    pairs = data.pairs(data.drawn(min(data.count, _KEYS_MAX), 4), version=1)
    took, clock, put, pace = array("q"), time.perf_counter_ns, db.put, _Pace(settings.rate)
    end = time.perf_counter() + settings.seconds
    for at, (key, value) in enumerate(itertools.cycle(zip(*pairs, strict=True))):
        started = clock()
        put(key, value, sync=False)
        took.append(clock() - started)
        if at % _PACE_EVERY == _PACE_EVERY - 1:
            pace.after(_PACE_EVERY)
            if time.perf_counter() >= end:
                break
    return took


def _gets(db: lsm.DB, data: Data, settings: BackgroundSettings) -> "array[int]":
    """Get for a while, as another thread feeds the store with batches; return how long each get took."""
    keys = data.keys(data.drawn(min(data.count, _KEYS_MAX), 5))
    took, clock, get = array("q"), time.perf_counter_ns, db.get
    stop = threading.Event()
    feeder = threading.Thread(target=_feed, args=(db, data, settings, stop))
    feeder.start()
    try:
        end = clock() + int(settings.seconds * 1e9)
        before = clock()
        for key in itertools.cycle(keys):
            get(key)
            now = clock()
            took.append(now - before)
            before = now
            if now >= end:
                break
    finally:
        stop.set()
        feeder.join()
    return took


def _feed(db: lsm.DB, data: Data, settings: BackgroundSettings, stop: threading.Event) -> None:
    batches = cut(data.pairs(data.drawn(min(data.count, _KEYS_MAX), 6), version=2), _BATCH)
    pace = _Pace(settings.rate)
    for keys, values in itertools.cycle(batches):
        if stop.is_set():
            return
        db.update(zip(keys, values, strict=True), sync=False)
        pace.after(len(keys))
