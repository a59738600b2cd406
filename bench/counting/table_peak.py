"""The most bytes of tables that a store had at a time, from the jobs of its background."""

from collections.abc import Iterable
from dataclasses import dataclass

import lsm


@dataclass(slots=True)
class TablePeak:
    """The most bytes of tables at a time: those there were before a job, and its outputs beside them."""

    now_bytes: int = 0
    peak_bytes: int = 0

    def add(self, jobs: Iterable[lsm.JobRecord]) -> None:
        """Count jobs in the order in which they ended."""
        for job in jobs:
            self.now_bytes += job.written_bytes
            self.peak_bytes = max(self.peak_bytes, self.now_bytes)
            if job.kind == "merge":
                self.now_bytes -= job.read_bytes

    def restart(self) -> None:
        """Forget what was highest so far."""
        self.peak_bytes = self.now_bytes
