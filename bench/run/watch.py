"""Looking at a store, and at the process, while a crew works on it."""

import time

import numpy as np

import lsm
from bench.counting.os_counters import OsCounters, read_os_counters
from bench.counting.processes import children_cpu_seconds, own_cpu_seconds, resident_bytes
from bench.counting.table_peak import TablePeak
from bench.counting.timeline import Sample, Timeline
from bench.run.crew import Crew


class Watch:
    """Takes a sample of a store every so many seconds, and gathers the jobs of its background."""

    def __init__(self, db: lsm.DB, crew: Crew, *, loaded: int, entry_bytes: int, interval: float) -> None:
        """Begin to count now."""
        self._db, self._crew = db, crew
        self._loaded, self._entry_bytes, self._interval = loaded, entry_bytes, interval
        self._next = interval
        self._jobs_before = max((job.number for job in db.jobs()), default=0)
        self._cpu_before = own_cpu_seconds(), children_cpu_seconds()
        self.began = time.monotonic()
        self.jobs: list[lsm.JobRecord] = []
        self.timeline = Timeline(db, self.live_bytes)
        self._walls = [0.0]
        self.last = self.first
        self._peak = TablePeak(self.first.table_bytes, self.first.table_bytes)
        self._os_before = self._os_now = read_os_counters()
        self.resident_bytes_max = resident_bytes() or 0

    @property
    def first(self) -> lsm.Stats:
        """The store in the beginning."""
        return self.timeline.first

    @property
    def samples(self) -> list[Sample]:
        """What was seen so far."""
        return self.timeline.samples

    @property
    def live_bytes(self) -> int | None:
        """Bytes of the keys and values that are there; None if nobody counts."""
        added = self._crew.added
        return None if added is None else (self._loaded + added) * self._entry_bytes

    @property
    def cpu_seconds(self) -> tuple[float, float]:
        """Processor time of this process and of its children since the beginning."""
        return own_cpu_seconds() - self._cpu_before[0], children_cpu_seconds() - self._cpu_before[1]

    @property
    def os_counters(self) -> OsCounters | None:
        """What the operating system has seen written between the beginning and the last look."""
        before, now = self._os_before, self._os_now
        return None if before is None or now is None else now - before

    @property
    def table_bytes_peak(self) -> int:
        """The most bytes of tables there were, with those that were being written."""
        seen = max(sample.table_bytes + sample.temporary_bytes for sample in self.samples)
        return max(seen, self._peak.peak_bytes)

    def run_seconds(self, wall_seconds: float) -> float:
        """Return the seconds of the timeline, whose clock stands still at times, for those on the wall."""
        return float(np.interp(wall_seconds, self._walls, [sample.seconds for sample in self.samples]))

    def look_if_due(self) -> None:
        """Take a sample if the last one is old enough."""
        if self._crew.wall_seconds >= self._next:
            self.look()

    def look(self) -> None:
        """Take a sample."""
        wall_seconds = self._crew.wall_seconds
        self._next = wall_seconds + self._interval
        self.last = self.timeline.add(self._crew.seconds, self._crew.done, self.live_bytes)
        self._walls.append(wall_seconds)
        new = self._db.jobs(self.jobs[-1].number if self.jobs else self._jobs_before)
        self.jobs += new
        self._peak.add(new)
        self._os_now = read_os_counters()
        self.resident_bytes_max = max(self.resident_bytes_max, resident_bytes() or 0)
