"""How a run goes: looks at the store along the way, and its jobs."""

import time
from dataclasses import dataclass, field
from statistics import fmean

import lsm
from bench.amplify.moment import Moment, moment_of
from bench.counting.table_peak import TablePeak
from bench.counting.timeline import Timeline, job_rows


@dataclass(slots=True)
class Course:
    """What was seen of a run so far."""

    began: float = field(default_factory=time.monotonic)
    timeline: Timeline | None = None
    jobs: list[lsm.JobRecord] = field(default_factory=list)
    peak: TablePeak = field(default_factory=TablePeak)
    steady_from: Moment | None = None
    """When measuring began."""
    last: Moment | None = None
    _steady_at: int = 0

    def begin(self, db: lsm.DB) -> None:
        """Start with an empty store."""
        self.began = time.monotonic()
        self.timeline = Timeline(db)

    def look(self, db: lsm.DB, *, operations: int, user_bytes: int, live_bytes: int) -> None:
        """Look at the store now."""
        assert self.timeline is not None
        stats = self.timeline.add(time.monotonic() - self.began, operations, live_bytes)
        self.last = moment_of(stats, operations, user_bytes)
        new = db.jobs(self.jobs[-1].number if self.jobs else 0)
        self.jobs += new
        self.peak.add(new)

    def begin_measuring(self) -> None:
        """Count from the last look on."""
        self.steady_from = self.last
        self._steady_at = 0 if self.timeline is None else len(self.timeline.samples)
        self.peak.restart()

    @property
    def spent(self) -> Moment | None:
        """What was written since measuring began; None if nothing was."""
        if self.last is None or self.steady_from is None:
            return None
        spent = self.last - self.steady_from
        return spent if spent.user_bytes else None

    @property
    def mean_table_bytes(self) -> int:
        """Bytes of tables, on average over all looks since measuring began; 0 without any."""
        samples = [] if self.timeline is None else self.timeline.samples[self._steady_at :]
        return round(fmean(sample.table_bytes for sample in samples)) if samples else 0

    def to_json(self) -> dict[str, object]:
        """Return the parts of the result file."""
        if self.timeline is None:
            return {}
        start = {} if self.steady_from is None else {"measured_from_user_bytes": self.steady_from.user_bytes}
        return {"timeline": self.timeline.to_json(), "jobs": job_rows(self.jobs, self.began), **start}
