"""Runs the workloads on all engines: interleaved, repeated, each engine with the same input.

In every round, each workload runs on one engine after the other before the next workload begins, and every
second round goes through the engines backwards (ours, peer, peer, ours): what slows the machine down for a
while hits all of them alike.
"""

import gc
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.compare.settings import CompareSettings
from bench.compare.workloads import LOAD, On, Round, Workload
from bench.data import Data
from bench.measure import Nanoseconds, Timing
from bench.peers.engines import Engine, Store
from bench.settle import QUIET_SECONDS, settle

_SAMPLE = 200


class WrongAnswer(Exception):
    """A store did not give back what was put into it: its figures mean nothing."""


@dataclass(slots=True)
class Figures:
    """All that was measured, by (workload, engine), one item a round."""

    timings: defaultdict[tuple[str, str], list[Timing]] = field(default_factory=lambda: defaultdict(list))
    traces: defaultdict[tuple[str, str], list[Nanoseconds]] = field(default_factory=lambda: defaultdict(list))
    compactions: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds of a full compaction after overwrite, by engine."""
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class _Opened:
    engine: Engine
    store: Store
    directory: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run of `compare`."""

    settings: CompareSettings
    engines: Sequence[Engine]
    workloads: Sequence[Workload]
    data: Data
    announce: Callable[[str], None] = lambda _: None
    """Told what comes next, once for each of `steps`."""
    quiet_seconds: float = QUIET_SECONDS
    figures: Figures = field(default_factory=Figures)

    @property
    def steps(self) -> int:
        """How often `announce` will be called."""
        passes = sum(1 if workload.trace is None else 2 for workload in self.workloads)
        passes += self._needs_loaded and LOAD not in self.workloads
        return self.settings.repeats * len(self.engines) * passes

    @property
    def _needs_loaded(self) -> bool:
        loaded = On.LOADED, On.COMPACTED
        return LOAD in self.workloads or any(workload.on in loaded for workload in self.workloads)

    def run(self) -> Figures:
        """Measure everything; the figures so far are there even if it is interrupted."""
        durable_operations = min(self.settings.durable_operations, self.data.count)
        for number in range(self.settings.repeats):
            order = self.engines if number % 2 == 0 else self.engines[::-1]
            round_ = Round(self.data, durable_operations, number)
            self._run_fresh(round_, order)
            if self._needs_loaded:
                self._run_loaded(round_, order)
            self._run_own(round_, order)
        self.figures.is_complete = True
        return self.figures

    def _run_fresh(self, round_: Round, order: Sequence[Engine]) -> None:
        """Run what needs an empty store, the latencies on another one."""
        for workload in self._those(On.FRESH):
            for engine in order if workload is not LOAD else ():
                with self._opened(engine, durable=workload.durable) as opened:
                    self._time(workload, opened, round_)
            for engine in order if workload.trace is not None else ():
                with self._opened(engine, durable=workload.durable) as opened:
                    self._trace(workload, opened, round_)

    def _run_own(self, round_: Round, order: Sequence[Engine]) -> None:
        """Run what loads a store of its own."""
        for workload in self._those(On.OWN):
            for engine in order:
                with self._opened(engine, durable=False) as opened:
                    for pairs in () if workload.load is None else workload.load(round_):
                        opened.store.write_batch(pairs)
                    if engine.has_background:
                        settle(opened.directory, self.quiet_seconds)
                    self._time(workload, opened, round_)

    def _run_loaded(self, round_: Round, order: Sequence[Engine]) -> None:
        """Load a store of each engine, then run what needs one; all stay open, one works at a time."""
        with ExitStack() as stack:
            stores = [stack.enter_context(self._opened(engine, durable=False)) for engine in order]
            for opened in stores:
                self._time(LOAD, opened, round_)
                self._check(opened.store, opened.engine)
            self._run_on(stores, On.LOADED, round_)
            if self._those(On.COMPACTED):
                for opened in stores:
                    self._compact(opened)
                self._run_on(stores, On.COMPACTED, round_)

    def _run_on(self, stores: Sequence[_Opened], on: On, round_: Round) -> None:
        for workload in self._those(on):
            for opened in stores:
                self._time(workload, opened, round_)
            for opened in stores if workload.trace is not None else ():
                self._trace(workload, opened, round_)

    def _those(self, on: On) -> list[Workload]:
        return [workload for workload in self.workloads if workload.on is on]

    def _time(self, workload: Workload, opened: _Opened, round_: Round) -> None:
        """Run a workload once, and note its time."""
        engine = opened.engine
        self.announce(f"round {round_.number + 1}: {workload.name} on {engine.name}")
        made = workload.make(round_)
        gc.collect()
        started, cpu_started = time.perf_counter(), time.thread_time()
        operations = workload.loop(opened.store, made)
        seconds, cpu_seconds = time.perf_counter() - started, time.thread_time() - cpu_started
        if workload.is_whole and operations != round_.data.count:
            raise WrongAnswer(
                f"{engine.name}: {workload.name} met {operations} of {round_.data.count} entries"
            )
        del made
        later = 0.0
        if workload.writes and not workload.durable and engine.has_background:
            later = settle(opened.directory, self.quiet_seconds)
        timing = Timing(
            operations=operations,
            seconds=seconds,
            cpu_seconds=cpu_seconds if workload.threads == 1 else None,
            settle_seconds=later,
        )
        self.figures.timings[workload.name, engine.name].append(timing)

    def _trace(self, workload: Workload, opened: _Opened, round_: Round) -> None:
        """Run a workload once more, with a clock inside."""
        assert workload.trace is not None
        self.announce(f"round {round_.number + 1}: {workload.name} on {opened.engine.name}, latencies")
        made = workload.make(round_)
        gc.collect()
        took = workload.trace(opened.store, made)
        self.figures.traces[workload.name, opened.engine.name].append(took)

    def _compact(self, opened: _Opened) -> None:
        if not opened.engine.has_background:
            return
        started = time.perf_counter()
        opened.store.compact()
        self.figures.compactions[opened.engine.name].append(time.perf_counter() - started)
        settle(opened.directory, self.quiet_seconds)

    def _check(self, store: Store, engine: Engine) -> None:
        """Look whether a loaded store gives back what it was given."""
        get = store.getter()
        for number in self.data.drawn(_SAMPLE, 0).tolist():
            if get(self.data.key(number)) != self.data.value(number):
                raise WrongAnswer(f"{engine.name} lost or changed entry {number}")
            if get(self.data.key(number)[:-1] + b"x") is not None:
                raise WrongAnswer(f"{engine.name} has a key that was never put")

    @contextmanager
    def _opened(self, engine: Engine, *, durable: bool) -> Iterator[_Opened]:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=self.settings.directory) as name:
            directory = Path(name)
            if hasattr(os, "sync"):
                os.sync()  # what others have left to be written must not be waited for by this engine's syncs
            store = engine.open(directory, self.settings.store, durable)
            try:
                yield _Opened(engine, store, directory)
            finally:
                store.close()
