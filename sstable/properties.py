"""Facts about a table, kept in the table itself, so that a lost manifest can be rebuilt."""

import struct
from dataclasses import dataclass, fields

from sstable.errors import CorruptTable
from sstable.meta import TableMeta

# On disk: changing a line below needs a new format version.
_FIXED = struct.Struct("<8QII")


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """What a table knows of itself: TableMeta without what only its file and its manifest know."""

    entries: int
    tombstones: int
    distinct_keys: int
    min_seq: int
    max_seq: int
    key_bytes: int
    value_bytes: int
    oldest_tombstone_time: int
    smallest: bytes
    largest: bytes

    def encode(self) -> bytes:
        """Bytes of the section."""
        fixed = _FIXED.pack(
            self.entries,
            self.tombstones,
            self.distinct_keys,
            self.min_seq,
            self.max_seq,
            self.key_bytes,
            self.value_bytes,
            self.oldest_tombstone_time,
            len(self.smallest),
            len(self.largest),
        )
        return fixed + self.smallest + self.largest

    def agree_with(self, meta: TableMeta) -> bool:
        """Whether `meta` tells the same of the table."""
        return all(getattr(self, field.name) == getattr(meta, field.name) for field in fields(self))

    def meta(self, *, number: int, size_bytes: int, crc: int, seq_base: int = 0) -> TableMeta:
        """These facts with those of the file; ValueError if they contradict each other."""
        return TableMeta(
            number=number,
            size_bytes=size_bytes,
            entries=self.entries,
            tombstones=self.tombstones,
            distinct_keys=self.distinct_keys,
            smallest=self.smallest,
            largest=self.largest,
            min_seq=self.min_seq,
            max_seq=self.max_seq,
            seq_base=seq_base,
            key_bytes=self.key_bytes,
            value_bytes=self.value_bytes,
            oldest_tombstone_time=self.oldest_tombstone_time,
            crc=crc,
        )


def decode_properties(section: bytes, *, offset: int) -> Properties:
    """The properties found at `offset`."""
    if len(section) < _FIXED.size:
        raise CorruptTable("properties are too short", offset=offset)
    *numbers, smallest_bytes, largest_bytes = _FIXED.unpack_from(section)
    split = _FIXED.size + smallest_bytes
    if split + largest_bytes != len(section):
        raise CorruptTable("bounds do not fill the properties", offset=offset)
    entries, tombstones, distinct_keys, min_seq, max_seq, key_bytes, value_bytes, oldest_tombstone_time = (
        numbers
    )
    return Properties(
        entries=entries,
        tombstones=tombstones,
        distinct_keys=distinct_keys,
        min_seq=min_seq,
        max_seq=max_seq,
        key_bytes=key_bytes,
        value_bytes=value_bytes,
        oldest_tombstone_time=oldest_tombstone_time,
        smallest=section[_FIXED.size : split],
        largest=section[split:],
    )
