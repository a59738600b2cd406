"""One run: make a store, load it, let a crew work on it, and wait until it has settled."""

import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import lsm
from bench.counting.timeline import temporary_bytes
from bench.data import cut
from bench.progress import Bar
from bench.run.calls import target_of
from bench.run.crew import Crew
from bench.run.empty import loop_cost_ns
from bench.run.settings import RunSettings
from bench.run.watch import Watch
from bench.run.worker import Worker
from bench.workload import find_workload, load, operations

_BATCH = 1000
_FOR_EVER = 1 << 40
_REMOVAL_SECONDS_MAX = 1.0
"""How long the tables that were merged last may take to go."""


class Measurement:
    """What is known of a run, at any moment of it: it may end early, and what was done is worth showing."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self.workload, self.size, self.data = settings.chosen, settings.size, settings.data()
        self.loop_ns: float | None = None
        """What an operation costs in the bench itself."""
        self.crew: Crew | None = None
        self.watch: Watch | None = None
        """Neither is there before the store is loaded."""
        self.seconds = 0.0
        """How long the operations took, without making the input."""
        self.cpu_seconds = (0.0, 0.0)
        """Of this process and of its children, meanwhile."""
        self.wall_seconds = 0.0
        self.samples_count = 0
        """How many samples are of the operations; those after them saw the store settle."""
        self.settle_seconds: float | None = None
        """How long the background went on afterwards; None if its end was not waited for."""
        self.tables: list[lsm.TableInfo] = []

    def run(self, bar: Bar) -> None:
        """Do it all.  What ends it early is raised, after everything that can still be known is."""
        self.loop_ns = loop_cost_ns(self.workload, self.size, self.data)
        with (
            tempfile.TemporaryDirectory(prefix="bench-", dir=self.settings.directory) as name,
            lsm.open(Path(name) / "db", "n", **self.settings.changes()) as db,
        ):
            self._load(db, bar)
            self.crew = self._crew(db)
            self.watch = Watch(
                db,
                self.crew,
                loaded=self.size.keys if self.workload.needs_load else 0,
                entry_bytes=self.settings.key_bytes + self.settings.value_bytes,
                interval=self.settings.interval,
            )
            try:
                self._operate(self.crew, self.watch, bar)
                self._settle(db, self.watch)
            finally:
                self.watch.look()
                self.tables = db.tables()

    def _load(self, db: lsm.DB, bar: Bar) -> None:
        if not self.workload.needs_load:
            return
        done = 0
        with bar.counting("load", self.size.keys) as counter:
            for chunk in load(self.workload, self.size):
                for keys, values in cut(self.data.pairs(chunk.keys), _BATCH):
                    db.update(zip(keys, values, strict=True), sync=False)
                    done += len(keys)
                    counter.done(done)
            db.flush()
            db.settle()

    def _crew(self, db: lsm.DB) -> Crew:
        stop, size = threading.Event(), self.size
        target = target_of(db, stop)
        streams = [operations(self.workload, replace(size, thread=thread)) for thread in range(size.threads)]
        workers = [Worker(stream, self.data, target, stop) for stream in streams]
        if not self.workload.beside:
            return Crew(workers, [], stop)
        further = replace(size, count=_FOR_EVER, thread=size.threads, threads=size.threads + 1)
        stream = operations(find_workload(self.workload.beside), further)
        return Crew(workers, [Worker(stream, self.data, target, stop)], stop)

    def _operate(self, crew: Crew, watch: Watch, bar: Bar) -> None:
        try:
            with bar.counting(self.workload.name, self.size.count) as counter:

                def look() -> None:
                    counter.done(crew.done)
                    watch.look_if_due()

                crew.work(look)
        finally:
            self.seconds, self.wall_seconds = crew.seconds, crew.wall_seconds
            self.cpu_seconds = watch.cpu_seconds
            watch.look()
            self.samples_count = len(watch.samples)

    def _settle(self, db: lsm.DB, watch: Watch) -> None:
        """Wait for the background, so that what was put off is counted, too."""
        started = time.perf_counter()
        db.flush()
        while not db.settle(self.settings.interval):
            watch.look()
        self.settle_seconds = time.perf_counter() - started
        end = time.monotonic() + _REMOVAL_SECONDS_MAX
        while temporary_bytes(db.path, db.stats()) and time.monotonic() < end:
            time.sleep(_REMOVAL_SECONDS_MAX / 50)
