"""What every engine is given alike."""

from dataclasses import dataclass

from bench.settings import MIB


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
