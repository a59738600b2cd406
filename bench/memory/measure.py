"""Time and memory to open a large store, measured in a process that has done nothing else."""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lsm
from bench.child import environment
from bench.data import Data, cut
from bench.memory.settings import MemorySettings
from bench.progress import Bar
from bench.settings import MIB
from bench.sheet import Sheet

OPEN_SECONDS_TARGET = 2.0
OPEN_BYTES_TARGET = 300_000_000
TARGET_KEYS = 10_000_000
"""The targets are for so many entries; they are said of other sizes too, but mean less."""
_BATCH = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """Memory of a process, in bytes: all, what is its own, and what is pages of mapped files."""

    total: int
    own: int
    mapped: int

    def minus(self, other: "Resident") -> "Resident":
        """Return what this is above another."""
        return Resident(
            total=self.total - other.total, own=self.own - other.own, mapped=self.mapped - other.mapped
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResult:
    """All that `memory` measures.  Memory is what lies above an interpreter that has imported numpy."""

    build_seconds: float
    table_bytes: int
    tables: int
    open_seconds: float
    first_get_seconds: float
    imported: Resident
    opened: Resident
    after_reads: Resident
    read_rate: float

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            **asdict(self),
            "open_seconds_target": OPEN_SECONDS_TARGET,
            "open_bytes_target": OPEN_BYTES_TARGET,
        }


def measure_memory(settings: MemorySettings, data: Data, bar: Bar) -> MemoryResult:
    """Build a store, then open it in a new process."""
    bar.start(2)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=settings.directory) as name:
        bar.step("build")
        started = time.perf_counter()
        table_bytes, tables = _build(Path(name), data)
        build_seconds = time.perf_counter() - started
        bar.step("open in a new process")
        seen = _in_child(name, settings)
    bare = Resident(**seen["bare"])
    return MemoryResult(
        build_seconds=build_seconds,
        table_bytes=table_bytes,
        tables=tables,
        open_seconds=seen["open_seconds"],
        first_get_seconds=seen["first_get_seconds"],
        imported=Resident(**seen["imported"]).minus(bare),
        opened=Resident(**seen["opened"]).minus(bare),
        after_reads=Resident(**seen["after_reads"]).minus(bare),
        read_rate=seen["read_rate"],
    )


def _build(path: Path, data: Data) -> tuple[int, int]:
    """Fill a store in key order, the fastest way; return the size and number of its tables."""
    with lsm.open(path, "n") as db:
        for numbers in np.array_split(np.arange(data.count), max(1, data.count // 100_000)):
            for keys, values in cut(data.pairs(numbers), _BATCH):
                db.update(zip(keys, values, strict=True), sync=False)
        db.compact()
        stats = db.stats()
        return stats.table_bytes, sum(level.tables for space in stats.keyspaces for level in space.levels)


def _in_child(path: str, settings: MemorySettings) -> dict[str, Any]:
    arguments = [path, settings.keys, settings.key_bytes, settings.value_bytes, settings.seed, settings.reads]
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory.child", *map(str, arguments)],
        env=environment(),
        stdout=subprocess.PIPE,
        check=True,
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def memory_sheet(result: MemoryResult, settings: MemorySettings) -> Sheet:
    """Show time and memory beside their targets."""
    is_fast = result.open_seconds < OPEN_SECONDS_TARGET
    is_small = result.opened.total < OPEN_BYTES_TARGET
    return Sheet(
        f"A store of {settings.keys:,} entries of {settings.key_bytes} + {settings.value_bytes} bytes "
        f"({result.table_bytes / MIB:,.0f} MiB in {result.tables} tables), opened in a new process",
        ["figure", "measured", "target", "verdict"],
        [
            ["time to open", f"{result.open_seconds:.3f} s", f"{OPEN_SECONDS_TARGET:g} s", _said(is_fast)],
            [
                "memory after opening",
                _megabytes(result.opened),
                f"{OPEN_BYTES_TARGET / 1e6:.0f} MB",
                _said(is_small),
            ],
            ["memory after import", _megabytes(result.imported), "–", "–"],
            [f"memory after {settings.reads:,} random gets", _megabytes(result.after_reads), "–", "–"],
            ["first get", f"{result.first_get_seconds * 1000:.2f} ms", "–", "–"],
            ["random gets", f"{result.read_rate:,.0f} a second", "–", "–"],
        ],
        [
            "memory: resident, above an interpreter that has imported numpy (own + pages of mapped files)",
            "pages of mapped files are the page cache's: the system takes them back when it needs them",
            f"the targets are for {TARGET_KEYS:,} entries; building took {result.build_seconds:.1f} s",
        ],
    )


def _said(is_met: bool) -> str:
    return "met" if is_met else "missed"


def _megabytes(resident: Resident) -> str:
    return f"{resident.total / 1e6:.1f} MB ({resident.own / 1e6:.1f} + {resident.mapped / 1e6:.1f})"
