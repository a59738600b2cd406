"""Settings of `compare`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from bench.peers.settings import StoreSettings
from bench.settings import MIB, Shape

QUICK_KEYS = 100_000
QUICK_AMPLIFY_KEYS = 50_000
MEMTABLE_BYTES_MAX = 32 * MIB
_MEMTABLE_BYTES_MIN = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSettings(Shape):
    """Settings of `compare`."""

    peers: Annotated[str, typer.Option(help="Peers, with commas between.")] = "rocksdict,plyvel,lmdb,sqlite3"
    workloads: Annotated[
        str,
        typer.Option(
            help="Workloads, with commas between; the usual ones without.  By name also fillseq, readhot "
            "and ycsb-a to ycsb-f."
        ),
    ] = ""
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 3
    durable_operations: Annotated[
        int, typer.Option(min=1, help="Operations of the durable workloads: each waits for the disk.")
    ] = 5_000
    memtable_bytes: Annotated[
        int,
        typer.Option(min=0, help="Memtable of every engine; 0 takes a quarter of the data, up to 32 MiB."),
    ] = 0
    amplify_keys: Annotated[
        int, typer.Option(min=0, help="Entries of the part about amplification; 0 leaves it out.")
    ] = 800_000
    amplify_memtable_bytes: Annotated[
        int,
        typer.Option(
            min=0,
            max=MEMTABLE_BYTES_MAX,
            help="Memtable in that part; 0 takes a 72nd of the data: if it were larger, not the level ratio "
            "would decide, but the least size of a level.",
        ),
    ] = 0
    amplify_at_full_speed: Annotated[
        bool,
        typer.Option(
            "--amplify-at-full-speed",
            help="Do not wait in that part for compaction to keep up with the puts.",
        ),
    ] = False
    level_ratio: Annotated[int, typer.Option(min=2, max=100, help="Level ratio in that part.")] = 10
    quick: Annotated[
        bool,
        typer.Option("--quick", help=f"{QUICK_KEYS:,} keys instead, {QUICK_AMPLIFY_KEYS:,} in that part."),
    ] = False

    @property
    def store(self) -> StoreSettings:
        """What every engine is given alike."""
        memtable_bytes = self.memtable_bytes or min(
            MEMTABLE_BYTES_MAX, max(_MEMTABLE_BYTES_MIN, self.data_bytes // 4)
        )
        return StoreSettings(
            memtable_bytes=memtable_bytes,
            # Ours maps its tables, so all of them are in memory: the others' caches must hold theirs, too.
            cache_bytes=max(MIB, 2 * self.data_bytes),
            data_bytes=self.data_bytes,
        )
