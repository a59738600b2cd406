"""The figures of a run, from what was measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from bench.counting.levels import level_rows
from bench.counting.timeline import job_rows, worst_second
from bench.counting.written import Written
from bench.run.latency import Latencies
from bench.run.measure import Measurement
from bench.run.watch import Watch
from bench.run.worker import Worker


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that has ended, at its end or before."""

    measured: Measurement

    @property
    def workers(self) -> list[Worker]:
        """Everybody who has worked."""
        return [] if self.measured.crew is None else self.measured.crew.everybody

    @property
    def done(self) -> int:
        """Operations, without those of a workload beside."""
        return 0 if self.measured.crew is None else self.measured.crew.done

    @property
    def latencies(self) -> dict[str, Latencies]:
        """Of each kind of operation that there was."""
        kinds = dict.fromkeys(kind for worker in self.workers for kind in worker.latencies)
        return {kind: _joined(worker.latencies.get(kind) for worker in self.workers) for kind in kinds}

    @property
    def written(self) -> Written | None:
        """What went to storage; None if nothing was measured."""
        watch = self.measured.watch
        return None if watch is None else Written.between(watch.first, watch.last)

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.done / self.measured.seconds if self.measured.seconds else 0.0

    def figures(self) -> dict[str, float]:
        """Return the figures under the names that all commands use; what was not measured is left out."""
        loop_ns, watch = self.measured.loop_ns, self.measured.watch
        found: dict[str, float] = {} if loop_ns is None else {"empty_loop_ns": loop_ns}
        if watch is None or not self.done:
            return found
        found["ops_per_second"] = self.rate
        worst = worst_second(watch.samples[: self.measured.samples_count])
        if worst is not None:
            found["worst_second_ops"] = worst
        found |= self._times()
        found["stall_share"] = watch.samples[-1].stall_seconds / max(self.measured.wall_seconds, 1e-9)
        if watch.resident_bytes_max:
            found["rss_max_bytes"] = watch.resident_bytes_max
        return found | self._write_amp(watch) | self._space(watch)

    def to_json(self) -> dict[str, object]:
        """Return everything for the result file."""
        found: dict[str, object] = {
            "title": title(self.measured),
            "figures": self.figures(),
            "operations_done": self.done,
            "seconds": self.measured.seconds,
            "settle_seconds": self.measured.settle_seconds,
            "store_options": self.measured.settings.store_options().to_json(),
        }
        watch = self.measured.watch
        if watch is None or self.written is None:
            return found
        return found | {
            "timeline": watch.timeline.to_json(),
            "jobs": job_rows(watch.jobs, watch.began, watch.run_seconds),
            "latency_us": {kind: latencies.to_json() for kind, latencies in self.latencies.items()},
            "write_amp_rows": self.written.rows(),
            "levels": level_rows(self.measured.tables),
            "syncs": self.syncs(),
        }

    def syncs(self) -> int:
        """How often the log was made durable."""
        watch = self.measured.watch
        if watch is None:
            return 0
        return watch.last.write.syncs.get("log", 0) - watch.first.write.syncs.get("log", 0)

    def _times(self) -> dict[str, float]:
        """Latencies of the operations that the rate is of."""
        assert self.measured.crew is not None
        workers = self.measured.crew.workers
        everything = _joined(latencies for worker in workers for latencies in worker.latencies.values())
        return {
            "p50_us": everything.microseconds(0.5),
            "p99_us": everything.microseconds(0.99),
            "p99_9_us": everything.microseconds(0.999),
            "max_us": everything.microseconds(1.0),
        }

    def _write_amp(self, watch: Watch) -> dict[str, float]:
        written, counters = Written.between(watch.first, watch.last), watch.os_counters
        found = written.figures()
        if found and counters is not None:
            found["os_write_amp"] = counters.best_bytes / written.user_bytes
        return found

    def _space(self, watch: Watch) -> dict[str, float]:
        last = watch.samples[-1]
        if not last.live_bytes or self.measured.settle_seconds is None:
            return {}
        return {
            "space_amp": last.table_bytes / last.live_bytes,
            "space_amp_with_log": (last.table_bytes + last.log_bytes) / last.live_bytes,
            "space_amp_peak": watch.table_bytes_peak / last.live_bytes,
        }


def title(measured: Measurement) -> str:
    """Return one line that says what was run."""
    settings = measured.settings
    keys = f", {settings.distribution}" if measured.workload.draws else ""
    threads = f", {settings.threads} threads" if settings.threads > 1 else ""
    count = measured.size.count
    return (
        f"{measured.workload.name}: {count:,} operation{'' if count == 1 else 's'}, {settings.keys:,} keys, "
        f"key {settings.key_bytes} B, value {settings.value_bytes} B{keys}{threads}, "
        f"sync {settings.store_options().sync}, seed {settings.seed}"
    )


def _joined(latencies: Iterable[Latencies | None]) -> Latencies:
    return reduce(Latencies.plus, filter(None, latencies), Latencies())
