"""How a table is written; readers need none of this."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Compression: TypeAlias = Literal["none", "zlib", "lz4", "zstd"]

BLOCK_BYTES_MIN = 64
BLOCK_BYTES_MAX = 64 * 1024 * 1024
BLOOM_BITS_PER_KEY_MAX = 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """Settings of one table."""

    block_bytes: int = 64 * 1024
    """A block is cut at the first key change after this many bytes of keys and values."""
    compression: Compression = "none"
    bloom_bits_per_key: float = 10.0
    """0 leaves the filter out."""
    hash_index: bool = True
    """Point reads by one probe of an array; about 7 bytes a key."""

    def __post_init__(self) -> None:
        if not BLOCK_BYTES_MIN <= self.block_bytes <= BLOCK_BYTES_MAX:
            raise ValueError(
                f"block_bytes must be {BLOCK_BYTES_MIN} to {BLOCK_BYTES_MAX}, not {self.block_bytes}"
            )
        if self.compression not in get_args(Compression):
            raise ValueError(f"compression must be one of {get_args(Compression)}, not {self.compression!r}")
        if not 0 <= self.bloom_bits_per_key <= BLOOM_BITS_PER_KEY_MAX:
            raise ValueError(
                f"bloom_bits_per_key must be 0 to {BLOOM_BITS_PER_KEY_MAX}, not {self.bloom_bits_per_key}"
            )
