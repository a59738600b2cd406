"""How much is read to find a place in a large log."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import lsm
from bench.data import Data
from bench.log.reading import fill
from bench.log.settings import LogSettings
from bench.measure import Spread
from bench.progress import Bar
from bench.settings import MIB

BYTES_TARGET = MIB
_CHUNK = 20_000
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeking:
    """Places of one kind, each sought and its first change taken."""

    what: str
    seeks: int
    log_bytes: int
    segments: int
    read_bytes: Spread
    """The highest is held against the target."""
    milliseconds: Spread

    @property
    def is_met(self) -> bool:
        """Whether every seek read little enough."""
        return self.read_bytes.high < BYTES_TARGET

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "bytes_target": BYTES_TARGET}


@dataclass(frozen=True, slots=True)
class _Seek:
    read_bytes: int
    milliseconds: float


def measure_seeking(settings: LogSettings, data: Data, bar: Bar) -> list[Seeking]:
    """Make a log, one half of it of batches and the other of single puts, and seek in it."""
    bar.step(f"write a log of {settings.log_bytes / MIB:,.0f} MiB")
    with _log(settings, data) as (path, writer):
        bar.step("seek")
        found = _seekings(writer, "the writer", settings, data)
        with lsm.open(path, "r") as reader:
            found += _seekings(reader, "a reader", settings, data)
        return found


@contextmanager
def _log(settings: LogSettings, data: Data) -> Iterator[tuple[Path, lsm.DB]]:
    """Write a log of the size that is wanted; the newest segment stays unfinished."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name:
        path = Path(name, "store")
        with lsm.open(path, "n", log_retention="all") as db:
            # The same keys again and again: the log grows, the tables, which are not measured, do not.
            pairs = data.pairs(data.shuffled(4)[:_CHUNK])
            while (size := db.log.size_bytes) < settings.log_bytes:
                fill(db, pairs, batched=2 * size < settings.log_bytes)
            yield path, db


def _seekings(db: lsm.DB, who: str, settings: LogSettings, data: Data) -> list[Seeking]:
    log = db.log
    random = data.random(5)
    seqs = random.integers(log.earliest - 1, log.latest, settings.seeks).tolist()
    first_us, last_us = _times(db, log)
    times = random.integers(first_us, last_us + 1, settings.seeks).tolist()
    return [
        _seeking(f"sequence number, by {who}", log, [_seek_seq(db, seq) for seq in seqs]),
        _seeking(f"time, by {who}", log, [_seek_time(db, time_us) for time_us in times]),
    ]


def _times(db: lsm.DB, log: lsm.LogInfo) -> tuple[int, int]:
    return next(db.changes(log.earliest - 1)).time, next(db.changes(log.latest - 1)).time


def _seeking(what: str, log: lsm.LogInfo, seeks: Sequence[_Seek]) -> Seeking:
    return Seeking(
        what=what,
        seeks=len(seeks),
        log_bytes=log.size_bytes,
        segments=len(log.segments),
        read_bytes=Spread.of(seek.read_bytes for seek in seeks),
        milliseconds=Spread.of(seek.milliseconds for seek in seeks),
    )


def _seek_seq(db: lsm.DB, seq: int) -> _Seek:
    change, seek = _counted(db, lambda: next(db.changes(seq)))
    assert change.seq == seq + 1
    return seek


def _seek_time(db: lsm.DB, time_us: int) -> _Seek:
    seconds, rest = divmod(time_us, _MICROSECONDS)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
    change, seek = _counted(db, lambda: next(db.changes(moment)))
    assert change.time >= time_us
    if change.seq > db.log.earliest:
        assert next(db.changes(change.seq - 2)).time < time_us
    return seek


def _counted(db: lsm.DB, find: Callable[[], lsm.Change]) -> tuple[lsm.Change, _Seek]:
    before = _read_bytes(db)
    started = time.perf_counter()
    change = find()
    milliseconds = (time.perf_counter() - started) * 1000
    return change, _Seek(_read_bytes(db) - before, milliseconds)


def _read_bytes(db: lsm.DB) -> int:
    """Return what the store has read of any file so far: finding a place may touch more than the log."""
    return sum(db.stats().read.values())
