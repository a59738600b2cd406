"""Hash index: from the hash of a key to the place of its newest entry.  See FORMAT.md.

An array of 32-bit slots.  Those in use hold, from the high bits down, a fingerprint of the key, the
number of its block, and its position in the block counted from 1, so that 0 means empty.
"""

from dataclasses import dataclass

import numpy as np

from sstable.align import aligned
from sstable.arrays import U32Array

# On disk: changing a line below needs a new format version.
SLOT_BYTES = 4
SLOTS_PER_KEY = 2
PROBE_SLOTS = 2  # Read at once; as many empty slots end the array, so that no read leaves it.
_SLOT_BITS = 32


@dataclass(frozen=True, slots=True)
class SlotShape:
    """How the bits of a slot are shared out.  Follows from the block index, so it is not stored."""

    block_bits: int
    position_bits: int

    @classmethod
    def of(cls, blocks: int, longest_block: int) -> "SlotShape":
        """Just enough bits for `blocks` blocks of up to `longest_block` entries."""
        return cls((blocks - 1).bit_length(), longest_block.bit_length())

    @property
    def place_bits(self) -> int:
        """Bits of block number and position together."""
        return self.block_bits + self.position_bits

    @property
    def fits(self) -> bool:
        """Whether a place fits into a slot; a table where it does not goes without a hash index."""
        return self.place_bits <= _SLOT_BITS

    @property
    def fingerprint_mask(self) -> int:
        """Cuts the fingerprint out of a hash: its low bits, as the high ones chose the slot."""
        return (1 << _SLOT_BITS - self.place_bits) - 1


def home_slots(keys: int) -> int:
    """Slots that a key can be sent to."""
    # Half of them stay empty: a search for an absent key reads 2.5 slots on average.
    return keys * SLOTS_PER_KEY


def build_hash_index(h1: U32Array, blocks: U32Array, positions: U32Array, shape: SlotShape) -> bytes:
    """Slots for keys with these hashes, whose newest entries are at `positions` (from 0) of `blocks`."""
    # Keys by home slot: each takes its home, or the next slot after the key before it.
    # Hash and number of a key packed into one word sort ten times faster than argsort on hashes.
    order = np.sort(h1.astype(np.uint64) << np.uint64(32) | np.arange(len(h1), dtype=np.uint64))
    chosen = (order & np.uint64(0xFFFFFFFF)).astype(np.int64)
    hashes = order >> np.uint64(32)
    homes = (hashes * np.uint64(home_slots(len(h1))) >> np.uint64(32)).astype(np.int64)
    nth = np.arange(len(homes))
    taken = nth + np.maximum.accumulate(homes - nth)

    fingerprints = hashes & np.uint64(shape.fingerprint_mask)
    places = blocks[chosen].astype(np.uint64) << np.uint64(shape.position_bits) | (
        positions[chosen] + np.uint64(1)
    )
    count = max(int(taken[-1]) + 1, home_slots(len(h1))) + PROBE_SLOTS
    slots = np.zeros(count + count % 2, "<u4")
    slots[taken] = fingerprints << np.uint64(shape.place_bits) | places
    return slots.tobytes()


def hash_index_fault(size: int, last_slots: bytes, keys: int) -> str | None:
    """Why a section of `size` bytes cannot be the hash index of a table with that many keys, or None."""
    if size != aligned(size) or size < SLOT_BYTES * (home_slots(keys) + PROBE_SLOTS):
        return "hash index has another number of slots than its keys need"
    if any(last_slots):
        return "hash index does not end in empty slots"
    return None
