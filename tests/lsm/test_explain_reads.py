"""Explained lookups and scans against real ones, on stores of all shapes."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsm
from lsm.explain.probes import LayerProbe, LevelPassed
from tests.lsm.stores import TINY, open_memory
from tests.support.memfs import MemFS

SHAPES = [
    {},
    {"hash_index": False},
    {"hash_index": False, "bloom_bits_per_key": 0.0},
    {"hash_index": False, "bloom_bits_per_key": 3.0, "compression": "zlib"},
    {"policy": "tiered"},
    {"policy": "lazy", "hash_index": False},
    {"bloom_sharing": "monkey", "hash_index": False, "table_bytes_max": 4096},
]
# Not mapped, so that every block a read looks into is counted by the cache.
COUNTED = {**TINY, "mmap": False}

keys = st.integers(0, 30).map(lambda number: b"k%02d" % number)
writes = st.lists(
    st.tuples(keys, st.none() | st.integers(0, 60), st.sampled_from(["", "", "flush", "step", "snapshot"])),
    min_size=1,
    max_size=60,
)


class Story:
    """A store that a list of writes has made, with the snapshots that were taken on the way."""

    def __init__(self, shape, history) -> None:
        self.fs = MemFS()
        self.db = open_memory(self.fs, options={**COUNTED, **shape})
        self.snapshots: list[lsm.Snapshot] = []
        for key, size, then in history:
            if size is None:
                self.db.delete(key)
            else:
                self.db.put(key, b"v" * size)
            if then == "flush":
                self.db.flush()
            elif then == "step":
                self.db.step()
            elif then == "snapshot":
                self.snapshots.append(self.db.snapshot())

    def readables(self):
        return [self.db, *self.snapshots]

    def lookups(self) -> int:
        cache = self.db.stats().cache
        return cache.block_hits + cache.block_misses

    def blocks_of(self, read):
        """What a read returns, and how many blocks it asked the cache for."""
        before = self.lookups()
        found = read()
        return found, self.lookups() - before

    def close(self) -> None:
        for snapshot in self.snapshots:
            snapshot.close()
        self.db.close()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@given(history=writes)
@settings(max_examples=15)
def test_a_lookup_is_explained_as_it_is(shape, history):
    story = Story(shape, history)

    for readable in story.readables():
        for key in [b"", b"k", b"z", *(b"k%02d" % number for number in range(31))]:
            value, blocks = story.blocks_of(lambda key=key, readable=readable: readable.get(key))
            explained, explained_blocks = story.blocks_of(
                lambda key=key, readable=readable: readable.explain_get(key)
            )

            assert explained.value == value
            assert explained.block_reads == blocks == explained_blocks
            assert_sound(explained)
    story.close()


def assert_sound(explained: lsm.GetExplanation) -> None:
    """Whatever the store, a lookup goes from new to old and ends with what it finds."""
    assert not any(step.is_found for step in explained.steps[:-1])
    levels = [-1 if isinstance(step, LayerProbe) else step.level for step in explained.steps]
    assert levels == sorted(levels)
    seqs = [step.probe.found.seq for step in explained.table_probes if step.is_found]
    assert explained.seq is None or all(seq <= explained.seq for seq in seqs)
    assert json.loads(json.dumps(explained.to_json()))["block_reads"] == explained.block_reads
    assert str(explained).isascii() and str(explained).count("\n") >= len(explained.steps)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@given(
    history=writes,
    bounds=st.tuples(st.none() | keys, st.none() | keys),
    reverse=st.booleans(),
    limit=st.none() | st.integers(0, 40),
)
@settings(max_examples=20)
def test_a_scan_is_explained_as_it_is(shape, history, bounds, reverse, limit):
    story = Story(shape, history)

    for readable in story.readables():
        pairs, blocks = story.blocks_of(
            lambda readable=readable: list(readable.scan(*bounds, reverse=reverse, limit=limit))
        )
        explained, explained_blocks = story.blocks_of(
            lambda readable=readable: readable.explain_scan(*bounds, reverse=reverse, limit=limit)
        )

        assert explained.returned == len(pairs)
        assert explained.blocks == blocks == explained_blocks
        counted = (explained.returned, explained.overwritten, explained.tombstones, explained.ahead)
        assert sum(counted) == explained.entries
        assert min(counted) >= 0
        assert json.loads(json.dumps(explained.to_json()))["entries"] == explained.entries
        assert str(explained).isascii()
    assert story.db.stats().snapshots == len(story.snapshots)
    story.close()


@pytest.fixture
def layered() -> lsm.DB:
    """A store with memory, two tables of L0, and a level below."""
    patient = {"l0_tables_max": 100, "l0_tables_slow": 200, "l0_tables_stop": 300}
    db = open_memory(options={"background": "manual", "hash_index": False, **patient})
    for number in range(100):
        db.put(b"%03d" % number, b"old")
    db.compact()
    for start in (0, 50):
        for number in range(start, start + 50, 2):
            db.put(b"%03d" % number, b"new")
        db.flush()
    db.put(b"007", b"newest")
    db.delete(b"008")
    return db


def test_a_lookup_ends_where_it_finds(layered):
    in_memory = layered.explain_get(b"007")
    assert (in_memory.value, in_memory.tables, in_memory.levels_left) == (b"newest", 0, (0, 6))
    deleted = layered.explain_get(b"008")
    assert (deleted.value, deleted.tables) == (None, 0)
    assert "deleted" in str(deleted)
    in_l0 = layered.explain_get(b"060")
    assert (in_l0.value, in_l0.tables, in_l0.levels_left) == (b"new", 1, (0, 6))
    below = layered.explain_get(b"061")
    assert (below.value, [probe.level for probe in below.table_probes]) == (b"old", [0, 0, 6])
    assert below.levels_left == ()


def test_a_level_that_ends_before_the_key_is_passed(layered):
    explained = layered.explain_get(b"zzz")

    assert explained.steps[-1] == LevelPassed(level=6, tables=1)
    assert [probe.covers_key for probe in explained.table_probes] == [False, False]
    assert "not there" in str(explained)


def test_filters_are_counted_when_asked_and_false_positives_always():
    def misses(**options):
        db = open_memory(options={"background": "manual", "bloom_bits_per_key": 2.0, **options})
        db.update({b"%05d" % number: b"" for number in range(0, 4000, 2)})
        db.flush()
        return [db.explain_get(b"%05d" % number) for number in range(1, 4000, 2)][:-1]

    by_filter, by_hash = misses(hash_index=False), misses(hash_index=True)

    assert {explained.filter_probes for explained in by_filter} == {1}
    assert {explained.filter_probes for explained in by_hash} == {0}
    wrong = [sum(explained.false_positives for explained in some) for some in (by_filter, by_hash)]
    assert wrong[0] == wrong[1]
    # 0.6185 to the power of the bits: 38 % at two of them.
    assert 0.3 < wrong[0] / len(by_filter) < 0.5
    assert sum(explained.block_reads for explained in by_filter) == wrong[0]


def test_a_scan_tells_what_it_skips(layered):
    explained = layered.explain_scan()

    assert (explained.returned, explained.tombstones, len(explained.runs)) == (99, 1, 4)
    assert explained.entries == 100 + 50 + 2
    assert explained.overwritten == 52
    assert explained.skipped_per_entry == pytest.approx(53 / 99)
    assert layered.explain_scan(b"x").skipped_per_entry is None


def test_a_snapshot_explains_its_own_moment(layered):
    with layered.snapshot() as snapshot:
        layered[b"007"] = b"later"
        layered.flush()

        assert layered.explain_get(b"007").value == b"later"
        old = snapshot.explain_get(b"007")
        assert (old.value, old.seq) == (b"newest", snapshot.seq)
        assert snapshot.explain_scan(limit=3).seq == snapshot.seq
    with pytest.raises(lsm.ClosedError):
        snapshot.explain_get(b"007")


def test_other_keyspaces_and_readers_explain_too(layered):
    other = layered.keyspace("other")
    other[b"k"] = b"v"

    assert other.explain_get(b"k").value == b"v"
    assert other.explain_scan().returned == 1


@pytest.mark.parametrize("bad", ["text", 7, None])
def test_what_is_no_key_is_refused(layered, bad):
    with pytest.raises(lsm.InvalidType):
        layered.explain_get(bad)
    with pytest.raises(lsm.InvalidType):
        layered.explain_scan(prefix=3)
    with pytest.raises(lsm.InvalidArgument):
        layered.explain_scan(limit=-1)


def test_a_closed_store_explains_nothing(layered):
    layered.close()

    with pytest.raises(lsm.ClosedError):
        layered.explain_get(b"k")
    with pytest.raises(lsm.ClosedError):
        layered.explain_scan()


def test_an_empty_store_has_little_to_explain():
    db = open_memory()

    assert db.explain_get(b"k").tables == 0
    assert db.explain_scan().entries == 0
    assert "not there" in str(db.explain_get(b"k"))


@pytest.mark.parametrize("key", [b"\x1b[31m", b"\x00", "ключ".encode(), b"\xff" * 200, b"[bold]"])
def test_no_key_commands_a_terminal(layered, key):
    layered[key] = b"v"
    layered.flush()

    for text in (
        str(layered.explain_get(key)),
        str(layered.explain_get(b"a")),
        str(layered.explain_scan(key)),
    ):
        assert text.isascii() and text.replace("\n", "").isprintable()
        assert max(len(line) for line in text.splitlines()) < 400


def test_the_order_of_probes_is_that_of_age(layered):
    numbers = [probe.number for probe in layered.explain_get(b"none").table_probes if probe.level == 0]

    assert all(newer > older for newer, older in pairwise(numbers))
