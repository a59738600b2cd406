"""Settings of a store.  They are kept with the store; what is given to `open` replaces what was kept."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, get_args

from compaction.shape import PolicyName, Shape
from lsm.errors import InvalidArgument
from lsm.limits import Limits
from sstable import TableOptions

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
AUTO_LOG_BYTES_MIN = 32 * KIB
AUTO_LOG_BYTES_MAX = 64 * MIB

SyncMode: TypeAlias = Literal["always", "interval", "os"]
Background: TypeAlias = Literal["process", "thread", "manual"]
LogRetention: TypeAlias = Literal["limits", "all"]
BloomSharing: TypeAlias = Literal["uniform", "monkey"]
OptionValue: TypeAlias = int | float | str | bool | None

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(B|KiB|MiB|GiB|KB|MB|GB)?\s*", re.IGNORECASE)
_UNITS = {"b": 1, "kib": KIB, "mib": MIB, "gib": GIB, "kb": 1000, "mb": 1000**2, "gb": 1000**3}


_TABLE_BYTES = 32 * MIB
_TABLE_BYTES_MIN = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All settings.  Sizes take numbers of bytes or text such as "64MiB"."""

    sync: SyncMode = "always"
    """A write is durable: "always" when it returns, "interval" soon after, "os" when the system likes."""
    sync_interval_ms: int = 100
    """With sync="interval": a write is durable at most about this long after it returned."""
    memory_limit: int = 256 * MIB
    """Memory for memtables and caches together."""
    memtable_bytes_max: int = 0
    """Log bytes after which memtables are sealed and flushed; 0 takes a sixteenth of memory_limit.

    In memory they take about twice as much, and up to sealed_max of them wait beside the one that is written.
    """
    block_bytes: int = 64 * KIB
    compression: Literal["none", "zlib", "lz4", "zstd"] = "none"
    bloom_bits_per_key: float = 10.0
    bloom_sharing: BloomSharing = "uniform"
    """"uniform" gives every table these bits a key; "monkey" shares them out, more for small levels."""
    hash_index: bool = True
    table_bytes_max: int = 0
    """Size at which tables are cut; 0 takes twice a memtable, at most 32 MiB.

    Much larger ones would make every merge rewrite much more than comes.
    """
    policy: PolicyName = "leveled"
    """"leveled" keeps few runs and little garbage; "tiered" writes least; "lazy" is between the two."""
    level_ratio: int = 10
    """How much larger a level is than the one above; in tiers, how many runs are merged into one."""
    levels_max: int = 7
    """How many levels there may be, or tiers, each of which has a level for every run."""
    l0_tables_max: int = 4
    """L0 is compacted from this many tables on."""
    l0_tables_slow: int = 12
    """Writes are slowed down from this many L0 tables on, the more the nearer to the stop."""
    l0_tables_stop: int = 24
    """Writes wait while L0 has this many tables."""
    sealed_max: int = 4
    """Writes wait while this many sealed memtables are not flushed; they are slowed down before."""
    tombstone_age_seconds: int = 24 * 3600
    """Tables whose oldest tombstone is older than this are compacted even when their level is small."""
    log_retention_bytes: int | None = None
    """The newest finished segments up to this size stay after their entries are in tables.

    None keeps as much log as there are bytes in tables, at least 32 KiB and at most 64 MiB.
    """
    log_retention_seconds: int = 0
    """Finished segments stay at least this long, whatever their size."""
    log_retention: LogRetention = "limits"
    """"limits" keeps what one of the two above covers or a consumer has pinned; "all" keeps everything."""
    log_history: bool = False
    """Let tables keep what previous values, and reading at an earlier sequence number, need of the past.

    It covers the retained log from when this was set, and takes about as much space again as that log.
    """
    background: Background = "process"
    """Who flushes and compacts: a worker process, a thread of this process, or only explicit calls."""
    mmap: bool = True
    """Map tables into memory; False reads them through the block cache."""
    verify_checksums: bool = True

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            _check_range(name, getattr(self, name), low, high)
        if self.log_retention_bytes is not None:
            _check_range("log_retention_bytes", self.log_retention_bytes, 0, 1024 * 1024 * GIB)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices or isinstance(getattr(self, name), bool) != (
                True in choices
            ):
                raise InvalidArgument(
                    f"{name} must be one of {', '.join(map(str, choices))}; not {getattr(self, name)!r}"
                )
        if isinstance(self.bloom_bits_per_key, bool) or not isinstance(self.bloom_bits_per_key, int | float):
            raise InvalidArgument(f"bloom_bits_per_key must be a number; not {self.bloom_bits_per_key!r:.40}")
        if 0 < self.table_bytes_max < _TABLE_BYTES_MIN:
            raise InvalidArgument(f"table_bytes_max must be 0 or at least {_TABLE_BYTES_MIN}")
        if not self.l0_tables_max <= self.l0_tables_slow < self.l0_tables_stop:
            raise InvalidArgument("l0_tables_max <= l0_tables_slow < l0_tables_stop must hold")
        self.table_options()

    @property
    def seal_bytes(self) -> int:
        """Log bytes after which memtables are sealed."""
        return self.memtable_bytes_max or max(64 * KIB, self.memory_limit // 16)

    @property
    def table_bytes(self) -> int:
        """Size at which tables are cut."""
        # Where only memory is short, small memtables must not mean thousands of tables.
        least = _TABLE_BYTES_MIN if self.memtable_bytes_max else MIB
        return self.table_bytes_max or min(_TABLE_BYTES, max(least, 2 * self.seal_bytes))

    @property
    def cache_bytes(self) -> int:
        """What the block cache may hold."""
        return self.memory_limit // 4

    def log_limits(self, table_bytes: int) -> Limits:
        """Return how much log a store with so large tables keeps though nobody asks for it."""
        size_bytes = self.log_retention_bytes
        if size_bytes is None:
            size_bytes = min(max(table_bytes, AUTO_LOG_BYTES_MIN), AUTO_LOG_BYTES_MAX)
        return Limits(size_bytes, self.log_retention_seconds, self.log_retention == "all")

    def shape(self) -> Shape:
        """Return the part that decides over the tree."""
        return Shape(
            policy=self.policy,
            level_ratio=self.level_ratio,
            levels_max=self.levels_max,
            l0_tables_max=self.l0_tables_max,
            memtable_bytes=self.seal_bytes,
            table_bytes_max=self.table_bytes,
            tombstone_age_seconds=self.tombstone_age_seconds,
        )

    def table_options(self) -> TableOptions:
        """Return the part that concerns one table."""
        try:
            return TableOptions(
                block_bytes=self.block_bytes,
                compression=self.compression,
                bloom_bits_per_key=self.bloom_bits_per_key,
                hash_index=self.hash_index,
            )
        except ValueError as error:
            raise InvalidArgument(str(error)) from error

    def to_json(self) -> dict[str, OptionValue]:
        """Return plain values, for the manifest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_changes(self, changes: Mapping[str, OptionValue]) -> "Options":
        """Return these options with some replaced; an unknown name is an error that suggests the nearest."""
        known = {field.name for field in fields(self)}
        for name in changes:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
                raise InvalidArgument(f"unknown option {name}{hint}")
        return replace(self, **{name: _plain(name, value) for name, value in changes.items()})  # type: ignore[arg-type]  # __post_init__ checks the types


def options_from_json(stored: Mapping[str, OptionValue]) -> Options:
    """Return options as kept in a manifest; names this version does not know any more are passed over."""
    known = {field.name for field in fields(Options)}
    return Options().with_changes({name: value for name, value in stored.items() if name in known})


_RANGES: tuple[tuple[str, int, int], ...] = (
    ("sync_interval_ms", 1, 60_000),
    ("memory_limit", MIB, 1024 * GIB),
    ("memtable_bytes_max", 0, GIB),
    ("block_bytes", 64, 64 * MIB),
    ("table_bytes_max", 0, 2 * GIB),
    ("level_ratio", 2, 100),
    ("levels_max", 2, 16),
    ("l0_tables_max", 1, 1000),
    ("l0_tables_slow", 1, 10_000),
    ("l0_tables_stop", 2, 10_000),
    ("sealed_max", 1, 64),
    ("tombstone_age_seconds", 0, 10**9),
    ("log_retention_seconds", 0, 10**9),
)
_CHOICES: dict[str, tuple[object, ...]] = {
    "sync": get_args(SyncMode),
    "background": get_args(Background),
    "log_retention": get_args(LogRetention),
    "policy": get_args(PolicyName),
    "bloom_sharing": get_args(BloomSharing),
    "log_history": (True, False),
    "hash_index": (True, False),
    "mmap": (True, False),
    "verify_checksums": (True, False),
}
_SIZES = {"memory_limit", "memtable_bytes_max", "block_bytes", "table_bytes_max", "log_retention_bytes"}


def _check_range(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidArgument(f"{name} must be a whole number from {low:,} to {high:,}; not {value!r:.40}")


def _plain(name: str, value: OptionValue) -> OptionValue:
    if name in _SIZES and isinstance(value, str):
        return parse_size(value, name=name)
    return value


def parse_size(text: str, *, name: str = "size") -> int:
    """Return the bytes that text such as "64MiB" means."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidArgument(f'{name} must be bytes or text such as "64MiB"; not {text!r:.40}')
    return int(float(match[1]) * _UNITS[(match[2] or "b").lower()])
