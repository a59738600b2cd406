"""Which entries of tables are live: exact on small trees, near enough on a sample."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsm
from lsm.explain.census import Counts, take_census, total
from tests.lsm.stores import TINY, open_memory

keys = st.integers(0, 25).map(lambda number: b"k%02d" % number)
writes = st.lists(
    st.tuples(keys, st.none() | st.integers(0, 60), st.sampled_from(["", "", "", "flush", "step", "hold"])),
    min_size=1,
    max_size=60,
)


def tree_of(db: lsm.DB):
    return db._space.view.tree


@pytest.mark.parametrize("policy", ["leveled", "tiered", "lazy"])
@given(history=writes)
@settings(max_examples=20)
def test_every_entry_is_counted_as_what_it_is(policy, history):
    db = open_memory(options={**TINY, "policy": policy})
    model: dict[bytes, bytes] = {}
    held = []
    for key, size, then in history:
        if size is None:
            db.delete(key)
            model.pop(key, None)
        else:
            db.put(key, b"v" * size)
            model[key] = b"v" * size
        if then == "flush":
            db.flush()
        elif then == "step":
            db.step()
        elif then == "hold":
            held.append(db.snapshot())  # keeps old versions of a key in one table
    db.flush()

    census = take_census(tree_of(db))

    whole = census.whole
    tables = db.tables()
    assert not census.is_sample
    assert (whole.live, whole.live_bytes) == (len(model), sum(len(k) + len(v) for k, v in model.items()))
    assert whole.entries == sum(table.entries for table in tables)
    assert whole.user_bytes == sum(table.user_bytes for table in tables)
    assert whole.tombstones <= sum(table.tombstones for table in tables)
    assert sorted(census.keys) == sorted(model)
    for level, counts in census.levels.items():
        assert counts.entries == sum(table.entries for table in tables if table.level == level)
    db.close()


@pytest.fixture
def overwritten() -> lsm.DB:
    """Two tables of L0 over a level: a third of the keys is overwritten, a sixth deleted."""
    patient = {"l0_tables_max": 100, "l0_tables_slow": 200, "l0_tables_stop": 300, "block_bytes": 512}
    db = open_memory(options={"background": "manual", **patient})
    db.update({b"%05d" % number: b"v" * 20 for number in range(6000)})
    db.compact()
    db.update({b"%05d" % number: b"w" * 20 for number in range(0, 6000, 3)})
    db.flush()
    for number in range(1, 6000, 6):
        db.delete(b"%05d" % number)
    db.flush()
    return db


def test_a_sample_comes_near(overwritten):
    exact, sampled = take_census(tree_of(overwritten)), take_census(tree_of(overwritten), entries_max=1500)

    assert (exact.is_sample, sampled.is_sample) == (False, True)
    assert (exact.whole.live, exact.whole.overwritten, exact.whole.tombstones) == (5000, 3000, 1000)
    assert sampled.whole.live == pytest.approx(5000, rel=0.05)
    assert sampled.whole.overwritten == pytest.approx(3000, rel=0.05)
    assert sampled.whole.tombstones == pytest.approx(1000, rel=0.05)
    # Bytes add up to those of the tables, whatever was in the sample.
    assert sampled.whole.user_bytes == pytest.approx(exact.whole.user_bytes, abs=9)
    assert 100 < len(sampled.keys) < 2500


def test_a_sample_says_the_same_twice(overwritten):
    first, second = (take_census(tree_of(overwritten), entries_max=700) for _ in range(2))

    assert first == second


@pytest.mark.parametrize("entries_max", [1, 2, 10])
def test_the_smallest_sample_is_one_range(overwritten, entries_max):
    assert take_census(tree_of(overwritten), entries_max=entries_max).whole.live > 0


def test_a_level_that_no_range_met_counts_as_live():
    assert Counts().scaled(100) == Counts(live_bytes=100)
    assert Counts(live=1, live_bytes=30, overwritten=2, overwritten_bytes=60).scaled(900) == Counts(
        live=10, live_bytes=300, overwritten=20, overwritten_bytes=600
    )


def test_sums():
    one = Counts(live=1, tombstones=2, live_bytes=3)

    assert total([one, one]) == Counts(live=2, tombstones=4, live_bytes=6)
    assert total([]) == Counts()


def test_an_empty_tree_has_nothing():
    census = take_census(tree_of(open_memory()))

    assert (census.whole, census.keys, census.is_sample) == (Counts(), (), False)
