"""Point reads: through the hash index where a table has one, else by filter and search."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from sstable.block_header import OFFSET_BYTES
from sstable.block_index import BlockIndex
from sstable.block_reader import Address, BlockReader
from sstable.errors import CorruptTable
from sstable.extent import Extent
from sstable.hash_index import PROBE_SLOTS, SLOT_BYTES, SlotShape, hash_index_fault, home_slots
from sstable.hashing import second_hash
from sstable.kind import DELETED, MAX_SEQ, Deleted, Kind
from sstable.lazy_filter import LazyFilter
from sstable.meta import TableMeta
from sstable.sections import memory_of
from sstable.source import Data, Source

_unpack_slots = struct.Struct(f"<{PROBE_SLOTS}I").unpack_from
_unpack_offsets = struct.Struct("<ii").unpack_from
_DELETE = int(Kind.DELETE)
_PROBE_BYTES = PROBE_SLOTS * SLOT_BYTES


class Lookup(Protocol):
    """How `Table.get` finds a value."""

    def __call__(self, key: bytes, h1: int, seq_max: int = MAX_SEQ) -> bytes | Deleted | None:
        """The newest value of `key` at `seq_max`, DELETED, or None; `h1` is `key_hash(key)`."""


class _Facts(NamedTuple):
    """All that `HashLookup.get` needs, in one tuple: unpacking it is cheaper than looking up attributes."""

    slots: Data
    slots_at: int
    homes: int
    fingerprint_mask: int
    place_bits: int
    position_bits: int
    block_mask: int
    position_mask: int
    newest_seq: int
    addresses: list[Address | None]
    entries: Data


class HashLookup:
    """Looks a key up by one read of the hash index, one of the key and one of the value."""

    __slots__ = ("_blocks", "_extent", "_facts", "_meta", "_shape", "_source", "_verify")

    def __init__(
        self,
        source: Source,
        extent: Extent,
        shape: SlotShape,
        blocks: BlockReader,
        meta: TableMeta,
        *,
        verify: bool,
    ) -> None:
        self._source = source
        self._extent = extent
        self._shape = shape
        self._blocks = blocks
        self._meta = meta
        self._verify = verify
        self._facts: _Facts | None = None

    def get(self, key: bytes, h1: int, seq_max: int = MAX_SEQ) -> bytes | Deleted | None:
        """The newest value of `key` at `seq_max`, DELETED, or None."""
        # bench: readrandom, readmissing.  All in one function: a call costs as much as a read of the map.
        facts = self._facts
        if facts is None:
            facts = self._open()
        (
            slots,
            at,
            homes,
            fingerprint,
            place_bits,
            position_bits,
            block_mask,
            position_mask,
            newest_seq,
            addresses,
            entries,
        ) = facts
        fingerprint &= h1
        at += (h1 * homes >> 32) * SLOT_BYTES
        try:
            while True:
                for slot in _unpack_slots(slots, at):
                    if not slot:
                        return None
                    if slot >> place_bits != fingerprint:
                        continue
                    position = slot & position_mask
                    address = addresses[slot >> position_bits & block_mask]
                    if address is None or seq_max < newest_seq:
                        found = self._get_from_block(
                            slot >> position_bits & block_mask, position - 1, key, seq_max
                        )
                        if found is not None:
                            return found
                        continue
                    keys_at, key_width, key_offsets_at, values_at, value_width, value_offsets_at, kinds_at = (
                        address
                    )
                    if key_offsets_at:
                        begin, end = _unpack_offsets(entries, key_offsets_at + OFFSET_BYTES * position)
                        found_key = entries[keys_at + begin : keys_at + end]
                    else:
                        begin = keys_at + key_width * position
                        found_key = entries[begin : begin + key_width]
                    if found_key != key:
                        continue
                    if kinds_at and entries[kinds_at + position] == _DELETE:
                        return DELETED
                    if value_offsets_at:
                        begin, end = _unpack_offsets(entries, value_offsets_at + OFFSET_BYTES * position)
                        return entries[values_at + begin : values_at + end]
                    begin = values_at + value_width * position
                    return entries[begin : begin + value_width]
                at += _PROBE_BYTES
        except (IndexError, struct.error) as error:
            # Only a forged index, its checksum made to fit, comes here.
            raise CorruptTable("hash index leads out of the table", offset=self._extent.offset) from error

    def places(self, h1: int) -> Iterator[tuple[int, int] | None]:
        """Of the slots that `get` looks at: block and position, or None where the fingerprint differs.

        Ends before the empty slot.  For explaining, inside `inside_table`.
        """
        facts = self._facts or self._open()
        fingerprint = facts.fingerprint_mask & h1
        at = facts.slots_at + (h1 * facts.homes >> 32) * SLOT_BYTES
        while True:
            for slot in _unpack_slots(facts.slots, at):
                if not slot:
                    return
                if slot >> facts.place_bits != fingerprint:
                    yield None
                else:
                    position = slot & facts.position_mask
                    yield slot >> facts.position_bits & facts.block_mask, position - 1
            at += _PROBE_BYTES

    @contextmanager
    def inside_table(self) -> Iterator[None]:
        """Refuse slots that lead to where nothing of the table is, as `get` does."""
        try:
            yield
        except (IndexError, struct.error) as error:
            raise CorruptTable("hash index leads out of the table", offset=self._extent.offset) from error

    def _get_from_block(self, number: int, position: int, key: bytes, seq_max: int) -> bytes | Deleted | None:
        return self._blocks.block(number).get(position, key, seq_max)

    def _open(self) -> _Facts:
        """Read and verify the section; once, at the first look-up."""
        extent, shape = self._extent, self._shape
        slots, start = memory_of(self._source, extent, "hash index", verify=self._verify)
        stop = start + extent.size
        fault = hash_index_fault(extent.size, slots[stop - _PROBE_BYTES : stop], self._meta.distinct_keys)
        if fault or not shape.fits:
            raise CorruptTable(fault or "hash index for places that do not fit", offset=extent.offset)
        self._facts = _Facts(
            slots=slots,
            slots_at=start,
            homes=home_slots(self._meta.distinct_keys),
            fingerprint_mask=shape.fingerprint_mask,
            place_bits=shape.place_bits,
            position_bits=shape.position_bits,
            block_mask=(1 << shape.block_bits) - 1,
            position_mask=(1 << shape.position_bits) - 1,
            newest_seq=self._meta.max_seq + self._meta.seq_base,
            addresses=self._blocks.addresses,
            entries=b"" if self._source.mapped is None else self._source.mapped,
        )
        return self._facts


class SearchLookup:
    """Looks a key up by asking the filter, then searching the block index and a block."""

    __slots__ = ("_blocks", "_filter", "_index")

    def __init__(self, lazy_filter: LazyFilter, index: BlockIndex, blocks: BlockReader) -> None:
        self._filter = lazy_filter
        self._index = index
        self._blocks = blocks

    def get(self, key: bytes, h1: int, seq_max: int = MAX_SEQ) -> bytes | Deleted | None:
        """The newest value of `key` at `seq_max`, DELETED, or None."""
        if not self._filter.may_contain(h1, second_hash(key)):
            return None
        number = self._index.seek(key)
        if number == len(self._index):
            return None
        block = self._blocks.block(number)
        return block.get(block.lower_bound(key), key, seq_max)
