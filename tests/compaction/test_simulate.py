"""The simulator: against the store on the same stream, on samples, and as a function of its settings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsm
from compaction import check_levels, theory
from compaction.sim_entries import Entries, key_of, merged, number_of, sorted_entries
from compaction.sim_tree import SimTree
from compaction.simulate import Costs, Filters, Settings, Shape, Synthetic, Writes, recorded, run, timeline
from compaction.streams import total_bytes
from lsm.opening import open_on
from tests.support.memfs import MemFS

KIB = 1024
STREAMS = {
    "uniform": Synthetic(keys=8000, count=24_000, seed=3),
    "zipf": Synthetic(keys=8000, count=24_000, distribution="zipf", seed=3),
    "sequential": Synthetic(keys=24_000, count=24_000, distribution="sequential"),
    "deletes": Synthetic(keys=8000, count=24_000, delete_share=0.3, seed=3),
}
POLICIES = ["leveled", "tiered", "lazy"]


def small(policy: str, **changes: object) -> Shape:
    return Shape(
        **{
            "policy": policy,
            "level_ratio": 4,
            "l0_tables_max": 2,
            "memtable_bytes": 24 * KIB,
            "table_bytes_max": 24 * KIB,
            **changes,
        }
    )


def measured(stream: Synthetic, shape: Shape, **options: object) -> lsm.Stats:
    """The store on the same stream, its background always keeping up."""
    db = open_on(
        MemFS(),
        "c",
        {
            "background": "manual",
            "sync": "os",
            "memory_limit": "64MiB",
            "policy": shape.policy,
            "level_ratio": shape.level_ratio,
            "levels_max": shape.levels_max,
            "l0_tables_max": shape.l0_tables_max,
            "memtable_bytes_max": shape.memtable_bytes,
            "table_bytes_max": shape.table_bytes_max,
            **options,
        },
    )
    with db:
        for writes in stream:
            columns = (writes.keys.tolist(), writes.sizes.tolist(), writes.deletes.tolist())
            for number, size, is_delete in zip(*columns, strict=True):
                key = b"%0*d" % (stream.key_bytes, number)
                if is_delete:
                    db.delete(key)
                else:
                    db.put(key, bytes(size - len(key)))
                if db._state.sealed:
                    settle(db)
        db.flush()
        settle(db)
        return db.stats()


def settle(db: lsm.DB) -> None:
    while db.step():
        pass


def tree_write_amp(stats: lsm.Stats) -> float:
    written = stats.write.written
    return (written["flush"] + written.get("compaction", 0)) / written["flush"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", STREAMS)
def test_write_and_space_amplification_are_those_of_the_store(policy, name):
    stream, shape = STREAMS[name], small(policy)

    figures = run(stream, Settings(shape=shape))

    stats = measured(stream, shape)
    runs = sum(level.tables if level.level == 0 else level.tables > 0 for level in stats.keyspaces[0].levels)
    print(f"{policy} {name}: simulated {figures.tree_write_amp:.3f}, measured {tree_write_amp(stats):.3f}")
    assert figures.user_bytes == stats.write.user_bytes
    assert figures.flushed_bytes == pytest.approx(stats.write.written["flush"], rel=0.03)
    assert figures.tree_write_amp == pytest.approx(tree_write_amp(stats), rel=0.1)
    assert figures.table_bytes == pytest.approx(stats.table_bytes, rel=0.1)
    assert figures.runs == pytest.approx(runs, abs=1)


# All tables are of one size, and levels of so many of them stand exactly at their targets: a byte more or
# less decides over moves, so several sizes are tried.
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("keys", [5000, 7000, 8000])
def test_keys_in_rising_order_again_and_again(policy, keys):
    stream, shape = Synthetic(keys=keys, count=3 * keys, distribution="sequential"), small(policy)

    figures = run(stream, Settings(shape=shape))

    assert figures.tree_write_amp == pytest.approx(tree_write_amp(measured(stream, shape)), rel=0.1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["uniform", "zipf", "deletes"])
def test_a_sample_costs_about_the_same(policy, name):
    whole = run(STREAMS[name], Settings(shape=small(policy)))

    sampled = run(STREAMS[name], Settings(shape=small(policy), costs=Costs(sample=8)))

    assert sampled.user_bytes == whole.user_bytes
    assert sampled.tree_write_amp == pytest.approx(whole.tree_write_amp, rel=0.12)
    assert sampled.live_bytes == pytest.approx(whole.live_bytes, rel=0.15)


def test_monkey_and_compression_are_those_of_the_store():
    stream, shape = STREAMS["uniform"], small("leveled", level_ratio=3)
    filters = Filters(bits_per_key=8, sharing="monkey")

    figures = run(stream, Settings(shape=shape, filters=filters))

    stats = measured(stream, shape, bloom_bits_per_key=8.0, bloom_sharing="monkey")
    assert figures.tree_write_amp == pytest.approx(tree_write_amp(stats), rel=0.1)
    assert figures.table_bytes == pytest.approx(stats.table_bytes, rel=0.1)


def test_shared_bits_spare_misses():
    stream = Synthetic(keys=60_000, count=300_000, seed=1)
    shape = small("leveled", memtable_bytes=64 * KIB, table_bytes_max=128 * KIB)

    uniform, shared = (
        run(stream, Settings(shape=shape, filters=Filters(sharing=sharing), costs=Costs(sample=4)))
        for sharing in ("uniform", "monkey")
    )

    assert uniform.miss_reads == pytest.approx(theory.miss_uniform(uniform.runs, 10))
    assert shared.miss_reads < uniform.miss_reads / 1.5
    assert shared.tree_write_amp == pytest.approx(uniform.tree_write_amp, rel=0.1)


def test_the_same_stream_costs_the_same_again():
    assert run(STREAMS["zipf"], Settings(shape=small("lazy"))) == run(
        STREAMS["zipf"], Settings(shape=small("lazy"))
    )


def test_a_timeline_rises_to_the_whole():
    marks = list(timeline(STREAMS["uniform"], Settings(shape=small("leveled")), every_bytes=300_000))

    assert len(marks) > 5
    assert [mark.user_bytes for mark in marks] == sorted(mark.user_bytes for mark in marks)
    assert marks[-1] == run(STREAMS["uniform"], Settings(shape=small("leveled")))
    assert all(mark.peak_bytes >= mark.table_bytes >= sum(mark.level_bytes.values()) for mark in marks)


def test_batches_fit_more_into_a_memtable():
    single, batched = (
        run(STREAMS["uniform"], Settings(shape=small("leveled"), batch=batch)) for batch in (1, 100)
    )

    assert batched.flushes < single.flushes


def test_nothing_costs_nothing():
    figures = run([], Settings())

    assert (figures.tree_write_amp, figures.runs, figures.live_bytes, figures.miss_reads) == (0.0, 0, 0, 0)


WRITES = st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=120)


@settings(max_examples=40)
@given(WRITES, st.sampled_from(POLICIES), st.integers(2, 5))
def test_a_simulated_tree_holds_what_was_written(writes, policy, ratio):
    shape = small(policy, level_ratio=ratio, memtable_bytes=300, table_bytes_max=300)
    tree = SimTree(shape, Costs(), Filters())
    model: dict[int, int] = {}
    for start in range(0, len(writes), 6):
        part = writes[start : start + 6]
        sizes = [20 + start + place for place in range(len(part))]
        for (key, is_delete), size in zip(part, sizes, strict=True):
            model[key] = 0 if is_delete else size
        keys, deletes = zip(*part, strict=True)
        tree.flush(Writes(np.array(keys), np.array(sizes), np.array(deletes)), len(part))
        tree.settle()
        check_levels(tree.levels)

        assert tree.live_bytes() == sum(model.values())


@given(WRITES)
def test_the_last_write_of_a_key_is_kept(writes):
    keys, deletes = (np.array(column) for column in zip(*writes, strict=True))

    entries = sorted_entries(Writes(keys, np.arange(len(keys)), deletes))

    last = {int(key): place for place, key in enumerate(keys)}
    assert dict(zip(entries.keys.tolist(), entries.sizes.tolist(), strict=True)) == last
    assert entries.keys.tolist() == sorted(last)


def test_newer_runs_come_first():
    def run_of(*keys: int, size: int) -> Entries:
        return Entries(np.array(keys), np.full(len(keys), size), np.zeros(len(keys), np.bool_))

    entries = merged([run_of(2, 4, size=1), run_of(1, 2, 3, size=2)])

    assert entries.keys.tolist() == [1, 2, 3, 4]
    assert entries.sizes.tolist() == [2, 1, 2, 1]


def test_a_recorded_stream_has_its_keys_in_order():
    writes = recorded([(b"b", 10), (b"a", 3), (b"ab", None), (b"b", 1)])

    assert writes.keys.tolist() == [2, 0, 1, 2]
    assert writes.sizes.tolist() == [11, 4, 2, 2]
    assert writes.deletes.tolist() == [False, False, True, False]
    assert total_bytes([writes]) == 19


@given(st.integers(0, 2**62), st.integers(0, 2**62))
def test_keys_are_in_the_order_of_their_numbers(one, other):
    assert (key_of(one) < key_of(other)) == (one < other)
    assert number_of(key_of(one)) == one


def test_frequent_keys_are_frequent():
    writes = np.concatenate(
        [part.keys for part in Synthetic(keys=1000, count=100_000, distribution="zipf", seed=1)]
    )
    counts = np.sort(np.bincount(writes, minlength=1000))[::-1]

    assert counts[0] / len(writes) == pytest.approx(1 / sum(n**-0.99 for n in range(1, 1001)), rel=0.1)
    assert counts[0] > 5 * counts[9]
