"""The same stream done to a real store: how long that takes, and what it costs.

As in the simulator, the background keeps up: it is waited for after as many writes as fill a memtable.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter

import lsm
from bench.progress import Counter
from bench.simulated_store import simulated_store
from compaction.simulate import Writes

_KEY_BYTES_MIN = 8
"""Room for the numbers of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done."""

    writes: int
    user_bytes: int
    seconds: float
    tree_write_amp: float | None
    """Of what was written after warm-up; None if nothing was flushed, or it was not done to the end."""
    space_amp: float | None
    """None if it was not done to the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a stream is to be done."""

    key_bytes: int = 16
    batch: int = 1
    """Writes that are committed together."""
    warm_bytes: int = 0
    """So much is written before anything counts."""
    seconds_max: float = inf


class _Stop(Exception):
    """The time is over."""


def do(
    stream: Iterable[Writes],
    options: lsm.Options,
    how: How,
    *,
    directory: Path | None = None,
    counter: Counter | None = None,
) -> Done:
    """Write a stream to a store of its own, as long as there is time; keys are numbers in decimal digits."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="bench-") as place:
        changed = {**options.to_json(), "sync": "os"}
        with lsm.open(Path(place, "store"), "n", **changed) as db:
            return _Doing(db, how, counter or Counter()).run(stream)


class _Doing:
    """One store that is written to."""

    def __init__(self, db: lsm.DB, how: How, counter: Counter) -> None:
        self._db, self._how, self._counter = db, how, counter
        self._settings = simulated_store(db.options, batch=how.batch)
        self._writes = self._user_bytes = 0
        self._log_bytes = 0.0
        self._before: tuple[int, int] | None = None if how.warm_bytes else (0, 0)
        self._start = perf_counter()

    def run(self, stream: Iterable[Writes]) -> Done:
        """Write until the end of the stream, or of the time."""
        is_whole = True
        try:
            for writes in stream:
                self._write(writes)
        except _Stop:
            is_whole = False
        self._db.flush()
        self._db.settle()
        seconds = perf_counter() - self._start
        return Done(
            writes=self._writes,
            user_bytes=self._user_bytes,
            seconds=seconds,
            tree_write_amp=self._tree_write_amp() if is_whole else None,
            space_amp=self._space_amp() if is_whole else None,
        )

    def _write(self, writes: Writes) -> None:
        width = max(_KEY_BYTES_MIN, self._how.key_bytes)
        keys = [b"%0*d" % (width, number) for number in writes.keys.tolist()]
        value, sizes = bytes(int(writes.sizes.max(initial=0))), writes.sizes.tolist()
        values = [
            None if is_delete else value[: max(0, size - width)]
            for size, is_delete in zip(sizes, writes.deletes.tolist(), strict=True)
        ]
        for start in range(0, len(keys), self._how.batch):
            part = slice(start, start + self._how.batch)
            self._commit(keys[part], values[part])
            # A memtable is sealed by the write that finds it full, and belongs to the next one.
            if self._log_bytes >= self._settings.shape.memtable_bytes:
                self._settle()
            self._user_bytes += sum(sizes[part])
            self._log_bytes += sum(sizes[part]) + len(sizes[part]) * self._settings.log_bytes_per_write
            self._writes += len(sizes[part])

    def _commit(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        if self._how.batch > 1:
            with self._db.batch() as batch:
                _put_all(batch, keys, values)
        else:
            _put_all(self._db, keys, values)

    def _settle(self) -> None:
        self._log_bytes = 0.0
        self._db.settle()
        self._counter.done(self._writes)
        if self._before is None and self._user_bytes >= self._how.warm_bytes:
            self._before = self._written()
        if perf_counter() - self._start >= self._how.seconds_max:
            raise _Stop

    def _written(self) -> tuple[int, int]:
        work = self._db.stats().work
        return work.flush_bytes, work.compaction_bytes

    def _tree_write_amp(self) -> float | None:
        flushed, merged = (
            now - then for now, then in zip(self._written(), self._before or (0, 0), strict=True)
        )
        return (flushed + merged) / flushed if flushed else None

    def _space_amp(self) -> float | None:
        live_bytes = sum(len(key) + len(value) for key, value in self._db.scan())
        return self._db.stats().table_bytes / live_bytes if live_bytes else None


def _put_all(target: lsm.DB | lsm.WriteBatch, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
    for key, value in zip(keys, values, strict=True):
        if value is None:
            target.delete(key)
        else:
            target.put(key, value)
