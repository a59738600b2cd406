"""One thread of a run: makes a piece of its stream ready, does it, counts it, and takes the next."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from bench.data import Data
from bench.measure import between
from bench.run.calls import Call, Stopped, Target, made_ready, timed
from bench.run.latency import Latencies
from bench.workload.stream import KINDS, Chunk

_PIECE_SECONDS = 0.02
"""How long a piece should take: within one, nobody counts or stops."""
_PIECE_MAX = 4096


class Worker:
    """Does a stream of operations until it ends, fails, or is told to stop."""

    def __init__(self, stream: Iterable[Chunk], data: Data, target: Target, stop: threading.Event) -> None:
        self._stream, self._data, self._target, self._stop = stream, data, target, stop
        self._piece = 1
        self.done = 0
        self.busy_seconds = 0.0
        self._idle_seconds = 0.0
        self._idle_since: float | None = None
        self.added: int | None = 0
        """Keys that its chunks so far have added, less those they have taken; None if nobody counts."""
        self.latencies: defaultdict[str, Latencies] = defaultdict(Latencies)
        self.failure: BaseException | None = None

    @property
    def idle_seconds(self) -> float:
        """Time between pieces up to now, which went into making input and counting."""
        total, since = self._idle_seconds, self._idle_since
        return total if since is None else total + time.perf_counter() - since

    def run(self) -> None:
        """Work; what goes wrong is kept for whoever waits, and stops the others."""
        try:
            self._work()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001  # raised again by whoever has started this thread
            self.failure = error
            self._stop.set()
        finally:
            self._begin_piece()

    def _work(self) -> None:
        self._idle_since = time.perf_counter()
        for version, chunk in enumerate(self._stream, start=1):
            at = 0
            while at < len(chunk):
                if self._stop.is_set():
                    return
                part = chunk.part(at, at + self._piece)
                ready = made_ready(part, version, self._data, self._target)
                self._do(part, ready)
                at += len(part)
            self.added = chunk.added

    def _do(self, part: Chunk, ready: Iterable[Call]) -> None:
        stamps: list[int] = []
        started = self._begin_piece()
        try:
            timed(ready, stamps)
        finally:
            self._idle_since = ended = time.perf_counter()
            self.busy_seconds += ended - started
            self._count(part, stamps)
        self._choose_piece(ended - started)

    def _begin_piece(self) -> float:
        """End the time between pieces, and return the time."""
        now = time.perf_counter()
        if self._idle_since is not None:
            self._idle_seconds += now - self._idle_since
            self._idle_since = None
        return now

    def _choose_piece(self, seconds: float) -> None:
        if seconds < _PIECE_SECONDS:
            self._piece = min(_PIECE_MAX, 2 * self._piece)
        elif seconds > 2 * _PIECE_SECONDS:
            self._piece = max(1, self._piece // 2)

    def _count(self, part: Chunk, stamps: list[int]) -> None:
        took = between(stamps)
        kinds = part.kinds[: len(took)]
        for kind in set(kinds.tolist()):
            self.latencies[KINDS[kind]].add(took[kinds == kind])
        self.done += len(took)
