"""The hash index leads from every key to its place, and from absent keys to an empty slot."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable.hash_index import (
    PROBE_SLOTS,
    SLOT_BYTES,
    SlotShape,
    build_hash_index,
    hash_index_fault,
    home_slots,
)

hashes = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**32 - 1, 2**32 - 2]))


def built(h1, places, shape) -> list[int]:
    blocks, positions = zip(*places, strict=True)
    section = build_hash_index(
        np.array(h1, np.uint32), np.array(blocks, np.uint32), np.array(positions, np.uint32), shape
    )
    return np.frombuffer(section, np.uint32).tolist()


def candidates(slots, h1, shape, keys) -> list[tuple[int, int]]:
    """Places that a search for `h1` passes, as FORMAT.md tells it."""
    found = []
    at = h1 * home_slots(keys) >> 32
    while slots[at]:
        slot = slots[at]
        if slot >> shape.place_bits == h1 % (1 << 32 - shape.place_bits):
            position = slot % (1 << shape.position_bits)
            found.append((slot >> shape.position_bits & (1 << shape.block_bits) - 1, position - 1))
        at += 1
    return found


@given(st.lists(hashes, min_size=1, max_size=60), st.integers(1, 9))
def test_every_key_leads_to_its_place(h1, longest_block):
    places = [divmod(n, longest_block) for n in range(len(h1))]
    shape = SlotShape.of(places[-1][0] + 1, longest_block)

    slots = built(h1, places, shape)

    for key_hash, place in zip(h1, places, strict=True):
        assert place in candidates(slots, key_hash, shape, len(h1))


@given(st.lists(hashes, min_size=1, max_size=60), st.lists(hashes))
def test_every_search_ends_inside_the_array(h1, absent):
    shape = SlotShape.of(len(h1), 1)
    slots = built(h1, [(n, 0) for n in range(len(h1))], shape)

    assert slots[-PROBE_SLOTS:] == [0] * PROBE_SLOTS
    assert len(slots) >= home_slots(len(h1)) + PROBE_SLOTS
    for key_hash in absent:
        candidates(slots, key_hash, shape, len(h1))


def test_a_search_for_an_absent_key_rarely_passes_a_candidate(seed):
    random = np.random.default_rng(seed)
    h1, absent = random.integers(0, 2**32, (2, 20_000), dtype=np.uint32)
    places = [divmod(n, 500) for n in range(len(h1))]
    shape = SlotShape.of(40, 500)
    slots = built(h1, places, shape)

    passed = sum(len(candidates(slots, key_hash, shape, len(h1))) for key_hash in absent.tolist())

    # 17 bits of fingerprint in 32, and 2.5 slots to compare with.
    assert passed < 20


@pytest.mark.parametrize(
    ("blocks", "longest_block", "block_bits", "position_bits"),
    [(1, 1, 0, 1), (2, 3, 1, 2), (3, 4, 2, 3), (1024, 1023, 10, 10), (1025, 1024, 11, 11)],
)
def test_a_slot_has_just_the_bits_it_needs(blocks, longest_block, block_bits, position_bits):
    shape = SlotShape.of(blocks, longest_block)

    assert (shape.block_bits, shape.position_bits) == (block_bits, position_bits)
    assert shape.place_bits == block_bits + position_bits
    assert shape.fits


def test_places_beyond_32_bits_do_not_fit():
    assert SlotShape.of(1 << 16, (1 << 16) - 1).fits
    assert not SlotShape.of(1 << 16, 1 << 16).fits


def test_places_of_all_32_bits_leave_no_fingerprint_but_still_work():
    shape = SlotShape.of(1 << 16, (1 << 16) - 1)

    slots = built([7, 7], [(65535, 65534), (0, 0)], shape)

    assert shape.fingerprint_mask == 0
    assert candidates(slots, 7, shape, 2) == [(65535, 65534), (0, 0)]


@pytest.mark.parametrize("size", [0, 3, 52, SLOT_BYTES * (home_slots(5) + PROBE_SLOTS) - SLOT_BYTES])
def test_too_few_slots_are_a_fault(size):
    assert "number of slots" in hash_index_fault(size, bytes(8), 5)


def test_an_array_that_does_not_end_in_empty_slots_is_a_fault():
    size = SLOT_BYTES * (home_slots(5) + PROBE_SLOTS)

    assert hash_index_fault(size, bytes(8), 5) is None
    assert "empty" in hash_index_fault(size, bytes(7) + b"\1", 5)
