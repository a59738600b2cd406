"""What can be set on the command line: one frozen record a command, whose fields are its options."""

import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

MIB = 1024 * 1024
QUICK_KEYS = 100_000
QUICK_AMPLIFY_KEYS = 50_000
MEMTABLE_BYTES_MAX = 32 * MIB
_MEMTABLE_BYTES_MIN = 64 * 1024
_PLACES = ("directory", "out")  # of this machine, and nobody else's business

Directory = Annotated[
    Path | None, typer.Option(help="Where stores are made; a temporary directory otherwise.")
]
Out = Annotated[Path | None, typer.Option(help="Write every figure to this JSON file.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The data that a run works on, and where."""

    keys: Annotated[int, typer.Option(min=10, help="Entries in the store.")] = 1_000_000
    key_bytes: Annotated[int, typer.Option(min=8, max=1024, help="Bytes a key.")] = 16
    value_bytes: Annotated[int, typer.Option(min=1, max=MIB, help="Bytes a value.")] = 100
    seed: Annotated[int, typer.Option(min=0, help="Keys, values and their order come from this.")] = 1
    directory: Directory = None
    out: Out = None

    @property
    def data_bytes(self) -> int:
        """Bytes of all keys and values."""
        return self.keys * (self.key_bytes + self.value_bytes)

    @property
    def place(self) -> Path:
        """The directory that stores are made in."""
        return self.directory or Path(tempfile.gettempdir())

    def to_json(self) -> dict[str, object]:
        """Return the settings without places of this machine."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _PLACES}


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
    def store(self) -> "StoreSettings":
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundSettings(Shape):
    """Settings of `background`."""

    seconds: Annotated[float, typer.Option(min=0.1, help="How long each measurement of pauses lasts.")] = 10.0
    rate: Annotated[
        int, typer.Option(min=0, help="Puts a second while pauses are measured; 0 is as fast as it goes.")
    ] = 50_000
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings(Shape):
    """Settings of `memory`."""

    keys: Annotated[int, typer.Option(min=10, help="Entries in the store.")] = 10_000_000
    reads: Annotated[int, typer.Option(min=1, help="Random reads after which memory is measured again.")] = (
        100_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings(Shape):
    """Settings of `spark`."""

    keys: Annotated[int, typer.Option(min=1000, help="Rows in the stores.")] = 5_000_000
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 5
    warm_ups: Annotated[int, typer.Option(min=1, max=100, help="Rounds that are not counted.")] = 2
    rocks_rows: Annotated[int, typer.Option(min=1000, help="Rows of RocksDB, which is slower.")] = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings(Shape):
    """Settings of `log`."""

    log_bytes: Annotated[int, typer.Option(min=64 * 1024, help="Size of the log that is sought in.")] = (
        1024 * MIB
    )
    seeks: Annotated[int, typer.Option(min=1, help="How often each kind of place is sought.")] = 200
    seconds: Annotated[
        float, typer.Option(min=0.05, help="How long a writer writes beside readers or a follower.")
    ] = 3.0
    readers: Annotated[int, typer.Option(min=1, max=100, help="Readers that wait for more of the log.")] = 10
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """What every engine is given alike, as far as it has the notion.  Compression is off everywhere."""

    memtable_bytes: int
    cache_bytes: int
    data_bytes: int
    """What the workloads will store: LMDB must know its largest size beforehand."""
    memtable_log_bytes: int = 0
    """The same memtable for an engine that counts the log of its puts; 0 takes the bytes as they are."""
    bloom_bits: int = 10
    table_bytes: int = 32 * MIB
    level_ratio: int = 10
    base_bytes: int = 0
    """The level that L0 is merged into, where it can be set; 0 leaves it to the engine."""
    counts_work: bool = False
    """Whether an engine whose account of its work costs something keeps it all the same."""
