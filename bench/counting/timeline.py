"""A run as it went: what had been done, written and stored at one moment after the other."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lsm

_CAUSES = ("log", "flush", "manifest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Totals at one moment, counted from the beginning of the run."""

    seconds: float
    operations: int
    user_bytes: int
    written: dict[str, int]
    """By cause; what compaction wrote by the level it went to."""
    table_bytes: int
    log_bytes: int
    temporary_bytes: int
    """Tables on disk that the store does not have yet, or does not have any more."""
    live_bytes: int | None
    stall_seconds: float


class Timeline:
    """Takes samples of a store."""

    def __init__(self, db: lsm.DB, live_bytes: int | None = None) -> None:
        """Begin to count now."""
        self._db = db
        self.first = db.stats()
        """The store when the run began."""
        self.samples: list[Sample] = []
        self.add(0.0, 0, live_bytes)

    def add(self, seconds: float, operations: int, live_bytes: int | None) -> lsm.Stats:
        """Take a sample, with what the bench knows by itself, and return the statistics it was made from."""
        first, now = self.first, self._db.stats()
        before = _written(first)
        sample = Sample(
            seconds=seconds,
            operations=operations,
            user_bytes=now.write.user_bytes - first.write.user_bytes,
            written={name: count - before.get(name, 0) for name, count in _written(now).items()},
            table_bytes=now.table_bytes,
            log_bytes=now.log_bytes,
            temporary_bytes=temporary_bytes(self._db.path, now),
            live_bytes=live_bytes,
            stall_seconds=_stall_seconds(now) - _stall_seconds(first),
        )
        self.samples.append(sample)
        return now

    def to_json(self) -> dict[str, object]:
        """Return a list for each figure, all of the same length."""
        samples = self.samples
        names = sorted({name for sample in samples for name in _shown(sample.written)}, key=_cause_order)
        columns: dict[str, object] = {
            "seconds": [round(sample.seconds, 4) for sample in samples],
            "written": {name: [sample.written.get(name, 0) for sample in samples] for name in names},
            "stall_seconds": [round(sample.stall_seconds, 4) for sample in samples],
        }
        for name in ("operations", "user_bytes", "table_bytes", "log_bytes", "temporary_bytes", "live_bytes"):
            columns[name] = [getattr(sample, name) for sample in samples]
        return columns


def temporary_bytes(path: str, stats: lsm.Stats) -> int:
    """Return the bytes of tables on disk that the store does not have yet, or does not have any more."""
    return max(0, _tables_on_disk(Path(path)) - stats.table_bytes)


def worst_second(samples: Sequence[Sample]) -> float | None:
    """Return the lowest rate over a second or more; None if there was no whole second."""
    seconds = np.array([sample.seconds for sample in samples])
    operations = np.array([sample.operations for sample in samples])
    stops = np.searchsorted(seconds, seconds + 1.0)
    starts = np.flatnonzero(stops < len(samples))
    stops = stops[starts]
    if starts.size == 0:
        return None
    return float(((operations[stops] - operations[starts]) / (seconds[stops] - seconds[starts])).min())


def job_rows(
    jobs: Sequence[lsm.JobRecord], began: float, at: Callable[[float], float] = float
) -> list[dict[str, object]]:
    """Return jobs for the result file.

    They are counted from the monotonic time `began`; `at` turns that into seconds of the timeline, if its
    clock is another one.
    """
    return [
        {
            "kind": job.kind,
            "start": round(at(job.started - began), 4),
            "seconds": round(job.seconds, 4),
            "from_level": job.from_level,
            "to_level": job.to_level,
            "read_bytes": job.read_bytes,
            "written_bytes": job.written_bytes,
        }
        for job in jobs
    ]


def _written(stats: lsm.Stats) -> dict[str, int]:
    written = {cause: count for cause, count in stats.write.written.items() if cause != "compaction"}
    return written | {f"L{work.level}": work.written_bytes for work in stats.work.levels if work.merges}


def _shown(written: Mapping[str, int]) -> set[str]:
    """The causes that are worth a line: the usual ones, and whatever else has written."""
    return {*_CAUSES, *(name for name, count in written.items() if count)}


def _cause_order(name: str) -> tuple[int, str]:
    return (_CAUSES.index(name), "") if name in _CAUSES else (len(_CAUSES), name.rjust(4))


def _stall_seconds(stats: lsm.Stats) -> float:
    return 0.0 if stats.background is None else stats.background.stall_seconds


def _tables_on_disk(directory: Path) -> int:
    total = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".sst"):
                try:
                    total += entry.stat().st_size
                except FileNotFoundError:  # removed since it was listed
                    continue
    return total
