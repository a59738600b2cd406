"""The steps of a lookup: what was asked, and what it answered."""

from dataclasses import asdict, dataclass, field
from typing import TypeAlias

from lsm.cdc.json_bytes import to_json
from lsm.explain.text import ShowKey, plural
from sstable import Deleted
from sstable.explain import FilterAnswer, Probe

COLUMNS = ("asked ", "filter, bits ", "hash index ", "block ", "answer ")
"""Of a lookup's steps as lines."""
_PLACES = {"map": "in place", "cache": "from the cache", "file": "from the file"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerProbe:
    """A layer of a memtable was asked."""

    keys: int
    last_seq: int | None
    """The last write it can hold; None while it takes writes."""
    value: bytes | Deleted | None = field(repr=False)

    @property
    def is_found(self) -> bool:
        """Whether the lookup ended here."""
        return self.value is not None

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values; of a value, its length."""
        found = _found_json(self.value, None)
        return {"step": "memtable", "keys": self.keys, "last_seq": self.last_seq, "found": found}

    def cells(self, _: ShowKey) -> tuple[str, ...]:
        """Return it as the cells of a line."""
        name = "memtable" if self.last_seq is None else "older memtable"
        return f"{name}, {plural(self.keys, 'key')}", "", "", "", _verdict(self.value, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProbe:
    """A table was asked."""

    level: int
    number: int
    smallest: bytes
    largest: bytes
    covers_key: bool
    """Whether the key lies between the two; where it does not, the table is asked all the same."""
    probe: Probe = field(repr=False)

    @property
    def is_found(self) -> bool:
        """Whether the lookup ended here."""
        return self.probe.found is not None

    @property
    def value(self) -> bytes | Deleted | None:
        """What was found."""
        return None if self.probe.found is None else self.probe.found.value

    @property
    def filter(self) -> FilterAnswer | None:
        """What the filter says; None without one."""
        return self.probe.filter

    @property
    def is_false_positive(self) -> bool:
        """Whether the filter lets the key pass though the table does not have it, asked or not."""
        return self.probe.is_false_positive

    @property
    def block_reads(self) -> int:
        """How many blocks were looked into."""
        return len(self.probe.blocks)

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values; of a value, its length."""
        probe, found = self.probe, self.probe.found
        return {
            "step": "table",
            "level": self.level,
            "table": self.number,
            "smallest": to_json(self.smallest),
            "largest": to_json(self.largest),
            "covers_key": self.covers_key,
            "filter": None if probe.filter is None else asdict(probe.filter),
            "hash_index": None if probe.hash_index is None else asdict(probe.hash_index),
            "blocks": [asdict(block) for block in probe.blocks],
            "found": None if found is None else _found_json(found.value, found.seq),
        }

    def cells(self, show_key: ShowKey) -> tuple[str, ...]:
        """Return it as the cells of a line."""
        found = self.probe.found
        verdict = self._why_not(show_key) if found is None else _verdict(found.value, found.seq)
        return f"L{self.level}, table {self.number}", *_looked_at(self.probe), verdict

    def _why_not(self, show_key: ShowKey) -> str:
        if not self.covers_key:
            return f"not there; it goes from {show_key(self.smallest)} to {show_key(self.largest)}"
        return "not there, looked in vain" if self.probe.blocks else "not there"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPassed:
    """A level has no table that reaches as far as the key, so none was asked."""

    level: int
    tables: int

    @property
    def is_found(self) -> bool:
        """Nothing was."""
        return False

    @property
    def value(self) -> None:
        """Nothing was found."""
        return None

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values."""
        return {"step": "level passed", "level": self.level, "tables": self.tables}

    def cells(self, _: ShowKey) -> tuple[str, ...]:
        """Return it as the cells of a line."""
        return f"L{self.level}", "", "", "", f"{plural(self.tables, 'table')}, none reaches as far as the key"


Step: TypeAlias = LayerProbe | TableProbe | LevelPassed


def _found_json(value: bytes | Deleted | None, seq: int | None) -> dict[str, object] | None:
    if value is None:
        return None
    if isinstance(value, Deleted):
        return {"kind": "tombstone", "seq": seq}
    return {"kind": "value", "seq": seq, "value_bytes": len(value)}


def _verdict(value: bytes | Deleted | None, seq: int | None) -> str:
    if value is None:
        return "not there"
    written = "" if seq is None else f" of write {seq:,}"
    if isinstance(value, Deleted):
        return f"FOUND a tombstone{written}"
    return f"FOUND a value of {plural(len(value), 'byte')}{written}"


def _looked_at(probe: Probe) -> tuple[str, str, str]:
    """Return what filter and hash index said, and which blocks were looked into."""
    filter_cell = "none"
    if probe.filter is not None:
        says = f"{'maybe' if probe.filter.may_contain else 'no'}, {probe.filter.bits_per_key:.1f}"
        filter_cell = says if probe.filter.is_asked else f"({says})"
    hash_cell = ""
    if probe.hash_index is not None:
        hash_cell = f"{plural(probe.hash_index.slots, 'slot')}, {probe.hash_index.matches} fit"
    return (
        filter_cell,
        hash_cell,
        ", ".join(f"{read.number} {_PLACES[read.brought]}" for read in probe.blocks),
    )
