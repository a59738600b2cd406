"""The facts of a table that are known without opening it; the manifest keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from sstable.kind import MAX_SEQ

_U32_MAX = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMeta:
    """Identity, bounds and counts of one table.

    `min_seq` and `max_seq` are as stored in the file; readers add `seq_base` to every sequence
    number, so that a table written elsewhere can be adopted without rewriting it.
    """

    number: int
    size_bytes: int
    entries: int
    tombstones: int
    distinct_keys: int
    smallest: bytes
    largest: bytes
    min_seq: int
    max_seq: int
    seq_base: int = 0
    key_bytes: int
    value_bytes: int
    oldest_tombstone_time: int = 0
    """Microseconds since the epoch; 0 where there is no tombstone."""
    crc: int
    """Checksum in the footer, which covers the checksums of all sections: it stands for the whole file."""

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_field(field.name, getattr(self, field.name))
        if self.smallest > self.largest:
            raise ValueError("smallest key of a table is above its largest")
        if not self.min_seq <= self.max_seq <= MAX_SEQ - self.seq_base:
            raise ValueError(
                f"seqs {self.min_seq}..{self.max_seq} + {self.seq_base} are not a range below 2^63"
            )
        if not 1 <= self.distinct_keys <= self.entries or self.tombstones > self.entries:
            raise ValueError(
                f"{self.entries} entries cannot have {self.distinct_keys} distinct keys"
                f" and {self.tombstones} tombstones"
            )
        if self.crc > _U32_MAX:
            raise ValueError(f"crc {self.crc} is not a 32-bit number")

    def to_json(self) -> dict[str, int | str]:
        """Plain numbers and strings; keys in hexadecimal."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_json(cls, facts: Mapping[str, object]) -> "TableMeta":
        """Inverse of `to_json`; ValueError on anything that `to_json` cannot have made."""
        names = {field.name for field in fields(cls)}
        if set(facts) != names:
            raise ValueError(f"facts of a table differ from the known ones in {sorted(set(facts) ^ names)}")
        numbers = {name: _number(name, facts[name]) for name in names - {"smallest", "largest"}}
        return cls(
            smallest=_key("smallest", facts["smallest"]), largest=_key("largest", facts["largest"]), **numbers
        )


def _check_field(name: str, value: object) -> None:
    if name in ("smallest", "largest"):
        if not isinstance(value, bytes):
            raise ValueError(f"{name} must be bytes, not {type(value).__name__}")
    else:
        _number(name, value)


def _number(name: str, value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_SEQ:
        raise ValueError(f"{name} must be a whole number from 0 to 2^63-1, not {value!r:.40}")
    return value


def _key(name: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be hexadecimal text, not {type(value).__name__}")
    return bytes.fromhex(value)


def _plain(value: int | bytes) -> int | str:
    return value.hex() if isinstance(value, bytes) else value
