"""How fast changes come out of a log that is in the page cache, beside a full scan by RocksDB."""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import lsm
from bench.compare.settings import MEMTABLE_BYTES_MAX
from bench.data import Data, Pairs, cut
from bench.log.settings import LogSettings
from bench.log.writer import BATCH
from bench.measure import Spread
from bench.peers.engines import Store, find_peers
from bench.peers.settings import StoreSettings
from bench.progress import Bar
from bench.settings import MIB
from bench.settle import settle

PEER = "rocksdict"
SCAN = "full scan by RocksDB (rocksdict)"
ROW_TARGET, COLUMN_TARGET = 1_000_000, 5_000_000
_WRITTEN = ("single puts", f"batches of {BATCH}")

Read = Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Entries a second of one way to read all of them."""

    what: str
    entries: int
    rate: Spread
    cpu_rate: Spread
    """Entries a second of processor time."""
    target: int | None

    @property
    def is_met(self) -> bool:
        """Whether it is fast enough; by processor time, which other programs hardly change."""
        return self.target is None or self.cpu_rate.median >= self.target

    @property
    def is_met_by_clock(self) -> bool:
        """Whether it was fast enough by the clock, too, beside whatever else the machine did."""
        return self.target is None or self.rate.median >= self.target

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "is_met": self.is_met, "is_met_by_clock": self.is_met_by_clock}


def measure_reading(settings: LogSettings, data: Data, bar: Bar) -> tuple[list[Reading], dict[str, str]]:
    """Read everything in every way, in rounds; return figures, and which peer is missing and why."""
    bar.step("write what is read")
    peers, missing = find_peers([PEER])
    with ExitStack() as stack:
        place = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory))
        )
        reads: dict[str, tuple[Read, int | None]] = {}
        for number, written in enumerate(_WRITTEN):
            db = stack.enter_context(lsm.open(place / f"lsm-{number}", "n", log_retention="all"))
            fill(db, data.pairs(data.shuffled(1)), batched=number == 1)
            db.flush()
            reads[f"changes() of {written}"] = rows_of(db), ROW_TARGET
            reads[f"change_columns() of {written}"] = columns_of(db), COLUMN_TARGET
        for peer in peers:
            store = peer.open(place / PEER, _sizes(settings), False)
            stack.callback(store.close)
            for batch in cut(data.pairs(data.shuffled(1)), BATCH):
                store.write_batch(batch)
            store.compact()
            reads[SCAN] = scan_of(store), None
        for directory in place.iterdir():
            settle(directory)
        return _measure(reads, data.count, settings, bar), missing


def _sizes(settings: LogSettings) -> StoreSettings:
    size = settings.data_bytes
    return StoreSettings(memtable_bytes=MEMTABLE_BYTES_MAX, cache_bytes=max(MIB, 2 * size), data_bytes=size)


def fill(db: lsm.DB, pairs: Pairs, *, batched: bool) -> None:
    """Write pairs, not synced one by one; all are durable in the end."""
    if batched:
        for keys, values in cut(pairs, BATCH):
            db.update(zip(keys, values, strict=True), sync=False)
    else:
        for key, value in zip(*pairs, strict=True):
            db.put(key, value, sync=False)
    db.sync()


def rows_of(db: lsm.DB) -> Read:
    """Return what walks over all changes."""

    def read() -> int:
        count = 0
        for _change in db.changes():
            count += 1
        return count

    return read


def columns_of(db: lsm.DB) -> Read:
    """Return what reads all changes as columns."""
    return lambda: sum(map(len, db.change_columns()))


def scan_of(store: Store) -> Read:
    """Return what walks over all pairs."""

    def read() -> int:
        count = 0
        for _pair in store.scan():
            count += 1
        return count

    return read


def _measure(
    reads: dict[str, tuple[Read, int | None]], entries: int, settings: LogSettings, bar: Bar
) -> list[Reading]:
    figures: dict[str, list[tuple[float, float]]] = {what: [] for what in reads}
    for number in range(settings.repeats):
        bar.step(f"read, round {number + 1}")
        for what in _turned(list(reads), number):
            figures[what].append(_timed(reads[what][0], entries))
    return [
        Reading(
            what=what,
            entries=entries,
            rate=Spread.of(entries / seconds for seconds, _ in found),
            cpu_rate=Spread.of(entries / seconds for _, seconds in found),
            target=reads[what][1],
        )
        for what, found in figures.items()
    ]


def _turned(names: Sequence[str], number: int) -> Sequence[str]:
    return names if number % 2 == 0 else names[::-1]


def _timed(read: Read, entries: int) -> tuple[float, float]:
    cpu_started, started = time.process_time(), time.perf_counter()
    count = read()
    seconds = time.perf_counter() - started, time.process_time() - cpu_started
    assert count == entries, f"{count} were read where {entries} were written"
    return seconds[0], max(1e-9, seconds[1])
