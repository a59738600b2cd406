"""The threads of a run: started together, watched from time to time, and stopped together."""

import threading
import time
from collections.abc import Callable, Sequence

from bench.run.worker import Worker

_LOOK_SECONDS = 0.1


class Crew:
    """Workers that share a run, and perhaps others that work for as long as those do."""

    def __init__(self, workers: Sequence[Worker], beside: Sequence[Worker], stop: threading.Event) -> None:
        self.workers, self.beside, self._stop = workers, beside, stop
        self._started: float | None = None
        self._seconds = 0.0

    @property
    def everybody(self) -> list[Worker]:
        """All workers."""
        return [*self.workers, *self.beside]

    @property
    def done(self) -> int:
        """Operations, without those beside."""
        return sum(worker.done for worker in self.workers)

    @property
    def added(self) -> int | None:
        """Keys that were added, less those that were taken; None if nobody counts."""
        counts = [worker.added for worker in self.workers]
        return None if None in counts else sum(filter(None, counts))

    @property
    def wall_seconds(self) -> float:
        """How long ago it began to work."""
        return 0.0 if self._started is None else time.perf_counter() - self._started

    @property
    def seconds(self) -> float:
        """The same on a clock that stands still while input is made; with threads, their mean."""
        idle = sum(worker.idle_seconds for worker in self.workers) / max(1, len(self.workers))
        # Threads go on while they are asked, so a sum may be off by a moment; a clock must not go back.
        self._seconds = max(self._seconds, self.wall_seconds - idle)
        return self._seconds

    def work(self, look: Callable[[], None]) -> None:
        """Work until all is done, and look again and again; what has gone wrong for a worker is raised.

        The calling thread only waits, so an interrupt hits nothing that the store is at.
        """
        threads = [threading.Thread(target=worker.run, daemon=True) for worker in self.everybody]
        self._started = time.perf_counter()
        for thread in reversed(threads):  # whoever works beside them is there before the others
            thread.start()
        try:
            for thread in threads[: len(self.workers)]:
                while thread.is_alive():
                    thread.join(_LOOK_SECONDS)
                    look()
            look()
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
        for worker in self.everybody:
            if worker.failure is not None:
                raise worker.failure
