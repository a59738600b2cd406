"""The explained lookup against the real one: same sections, same blocks, same answer."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable import DELETED, MAX_SEQ, CorruptTable, Table, key_hash
from sstable.lazy_filter import LazyFilter
from tests.sstable.forge import Forgery
from tests.sstable.memory import MemoryCache, delete, keys, put, some_entries, write
from tests.sstable.test_table import shapes, ways


class WatchedCache(MemoryCache):
    """Remembers which blocks were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def get(self, key):
        self.asked.append(key[1])
        return super().get(key)


def value_of(probe):
    return None if probe.found is None else probe.found.value


def watched_get(table: Table, cache: WatchedCache, key: bytes, seq_max: int):
    """The real lookup: its value, the blocks it asked the cache for, how often it asked the filter."""
    cache.asked.clear()
    with mock.patch.object(
        LazyFilter, "may_contain", autospec=True, side_effect=LazyFilter.may_contain
    ) as ask:
        value = table.get(key, key_hash(key), seq_max)
    return value, list(cache.asked), ask.call_count


@given(some_entries(max_size=60), shapes, st.lists(keys), st.integers(0, MAX_SEQ))
def test_it_takes_the_steps_of_get(entries, shape, others, seq_max):
    cache = WatchedCache()
    # Not mapped, so that every block goes through the cache.
    table = write(entries, block_bytes=64, **shape).open(cache=cache, use_map=False)

    for limit in (MAX_SEQ, seq_max, entries[0].seq):
        for key in [*(entry.key for entry in entries), *others]:
            value, blocks, filters_asked = watched_get(table, cache, key, limit)
            probe = table.explain(key, limit)

            assert value_of(probe) == value
            assert [block.number for block in probe.blocks] == blocks
            has_filter = probe.filter is not None
            assert filters_asked == (not table.has_hash_index)
            assert not has_filter or probe.filter.is_asked == (not table.has_hash_index)


@given(some_entries(max_size=60), shapes, ways, st.lists(keys), st.integers(0, MAX_SEQ))
def test_how_a_table_is_opened_changes_only_where_blocks_come_from(entries, shape, way, others, seq_max):
    written = write(entries, block_bytes=64, **shape)
    plain, other = written.open(use_map=False), written.open(cache=MemoryCache(), **way)

    for key in [*(entry.key for entry in entries), *others]:
        left, right = plain.explain(key, seq_max), other.explain(key, seq_max)

        assert (left.filter, left.hash_index, left.found) == (right.filter, right.hash_index, right.found)
        assert [block.number for block in left.blocks] == [block.number for block in right.blocks]


@given(some_entries(max_size=60), st.lists(keys), st.floats(2, 12))
def test_a_filter_that_is_not_asked_says_what_it_would(entries, others, bits):
    asked = write(entries, block_bytes=64, hash_index=False, bloom_bits_per_key=bits).open()
    unasked = write(entries, block_bytes=64, hash_index=True, bloom_bits_per_key=bits).open()

    for key in [*(entry.key for entry in entries), *others]:
        left, right = asked.explain(key), unasked.explain(key)

        assert (left.filter.is_asked, right.filter.is_asked) == (True, False)
        assert left.filter.may_contain == right.filter.may_contain
        assert left.is_false_positive == right.is_false_positive


def test_a_found_entry_has_its_seq_and_kind():
    entries = [put(b"a", 7, b"new"), put(b"a", 3, b"old"), delete(b"b", 9)]
    table = write(entries).open()

    found = table.explain(b"a").found
    assert (found.seq, found.value, found.is_tombstone) == (7, b"new", False)
    assert table.explain(b"a", 5).found.seq == 3
    assert table.explain(b"a", 2).found is None
    gone = table.explain(b"b").found
    assert (gone.seq, gone.value, gone.is_tombstone) == (9, DELETED, True)


def test_where_a_block_comes_from():
    entries = [put(b"%03d" % number, number, b"x" * 30) for number in range(50)]
    written = write(entries, block_bytes=256)

    mapped, kept, bare = (
        written.open(),
        written.open(cache=MemoryCache(), use_map=False),
        written.open(use_map=False),
    )

    def places(table):
        return [table.explain(b"007").blocks[0].brought for _ in range(2)]

    assert places(mapped) == ["map", "map"]
    assert places(kept) == ["file", "cache"]
    assert places(bare) == ["file", "file"]
    packed = write(entries, block_bytes=256, compression="zlib").open(cache=MemoryCache())
    assert places(packed) == ["file", "cache"]


def test_bits_of_the_filter_are_told():
    entries = [put(b"%04d" % number, number) for number in range(1000)]

    assert write(entries, bloom_bits_per_key=10).open().explain(b"x").filter.bits_per_key == pytest.approx(
        10, abs=0.1
    )
    assert write(entries, bloom_bits_per_key=0).open().explain(b"x").filter is None


def test_a_forged_hash_index_is_refused_as_get_refuses_it():
    forgery = Forgery(write([put(b"%d" % number, number) for number in range(9)], block_bytes=64))
    extent = forgery.footer.hash_index
    # Every slot leads to the last block and entry that its bits can name; the empty ones at the end stay.
    forgery.data[extent.offset : extent.stop - 8] = b"\xff" * (extent.size - 8)
    table = forgery.sealed().open()

    for key in (b"3", b"absent"):
        outcomes = []
        for look in (
            lambda key=key: table.get(key, key_hash(key)),
            lambda key=key: value_of(table.explain(key)),
        ):
            try:
                outcomes.append(look())
            except CorruptTable as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
