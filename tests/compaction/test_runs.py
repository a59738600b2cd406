"""The tiered and the lazy policy on whole trees: they come to an end, lose nothing, and bound the runs."""

import random
from math import ceil, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import LazyPolicy, LeveledPolicy, Policy, TieredPolicy
from compaction.levels import level_bytes
from compaction.runs import floor_level, tiers, used_levels
from sstable import MAX_SEQ
from tests.compaction.memory import MemoryTree, delete, put, visible
from tests.compaction.test_leveled import LATER, SMALL, settle, written
from tests.compaction.trees import KEYS, trees

KINDS = [TieredPolicy, LazyPolicy]


def policies(kind: type[TieredPolicy] | None = None) -> st.SearchStrategy[TieredPolicy]:
    return st.builds(
        lambda kind, **settings: kind(**settings),
        st.just(kind) if kind else st.sampled_from(KINDS),
        level_ratio=st.integers(2, 6),
        l0_tables_max=st.integers(1, 4),
        run_bytes_min=st.sampled_from([1, 100, 1000]),
        table_bytes_max=st.sampled_from([1, 150, 1000]),
        levels_max=st.sampled_from([2, 3, 5, 9, 40]),
    )


def small(kind: type[TieredPolicy], **settings: int) -> TieredPolicy:
    return kind(
        **{
            "level_ratio": 3,
            "l0_tables_max": 2,
            "run_bytes_min": 100,
            "table_bytes_max": 180,
            "levels_max": 40,
            **settings,
        }
    )


def live(tree: MemoryTree) -> dict[bytes, bytes]:
    return {key: value for key in KEYS if (value := tree.get(key)) is not None}


def runs_max(policy: TieredPolicy, sizes: list[int]) -> int:
    """How many runs there may be: the first runs of tiers grow by the root of the ratio at least."""
    tier_count = 1 + ceil(2 * log(max(sizes) / policy.run_bytes_min + 1, policy.level_ratio))
    return (policy.level_ratio - 1) * max(1, tier_count) + 1


@given(trees(), policies())
def test_any_tree_settles_and_reads_as_before(tree, policy):
    before = visible(tree.entries())

    settle(tree, policy)

    assert live(tree) == before
    assert visible(tree.entries()) == before
    assert len(tree.levels[0]) < policy.l0_tables_max
    assert all(len(tier.levels) < policy.level_ratio for tier in policy.tiers(tree.levels))
    assert settle(tree, policy) == 0


@given(trees(), policies(), st.lists(st.integers(0, 120), max_size=3))
def test_snapshots_read_as_before_while_a_tree_settles(tree, policy, snapshots):
    before = {snapshot: visible(tree.entries(), snapshot) for snapshot in [*snapshots, MAX_SEQ]}

    settle(tree, policy, now_us=LATER, snapshots=tuple(snapshots))

    for snapshot, expected in before.items():
        assert {key: tree.get(key, snapshot) for key in expected} == expected
        assert visible(tree.entries(), snapshot) == expected


@given(trees(), policies(), st.lists(st.integers(0, 120), max_size=3))
def test_old_tombstones_are_all_gone_once_no_snapshot_is_held(tree, policy, snapshots):
    settle(tree, policy, now_us=LATER, snapshots=tuple(snapshots))

    settle(tree, policy, now_us=LATER)

    assert tree.tombstones == 0


@given(trees(), policies(), st.data())
def test_a_plan_keeps_clear_of_busy_tables(tree, policy, data):
    numbers = [table.number for tables in tree.levels for table in tables]
    busy = frozenset(data.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set())))

    plan = policy.choose(tree.levels, busy, LATER)

    assert plan is None or not plan.input_numbers & busy


@given(trees(), policies(), st.data())
def test_plans_at_once_leave_a_tree_whichever_ends_first(tree, policy, data):
    """Up to three jobs side by side, with a flush between any two of them."""
    seq = max((entry[1] for entry in tree.entries()), default=0)
    tree.levels += ((),) * (policy.levels_max - len(tree.levels))
    running = []
    for _ in range(3):
        busy = frozenset().union(*(plan.input_numbers for plan in running))
        plan = policy.choose(tree.levels, busy, LATER)
        if plan is not None:
            running.append(plan)
        if data.draw(st.booleans()):
            seq += 1
            tree.flush([put(data.draw(st.sampled_from(KEYS)), seq, b"%d" % seq)])
    before = visible(tree.entries())
    for plan in data.draw(st.permutations(running)):
        tree.apply(plan)

        assert live(tree) == before


@given(trees(), st.lists(st.one_of(policies(), st.just(SMALL)), min_size=2, max_size=4))
def test_a_tree_of_one_policy_is_settled_by_another(tree, several):
    before = visible(tree.entries())
    for policy in several:
        settle(tree, policy)

        assert live(tree) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share_deleted", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("levels_max", [3, 6, 40])
def test_a_store_under_random_writes_stays_in_shape(seed, kind, share_deleted, levels_max):
    policy = small(kind, levels_max=levels_max)
    tree = MemoryTree(levels_max=2, table_bytes_max=180)
    rng, model, seq = random.Random(seed), {}, 0
    for _ in range(60):
        entries = []
        for _ in range(15):
            seq += 1
            key = b"%04d" % rng.randrange(400)
            if rng.random() < share_deleted:
                entries.append(delete(key, seq))
                model.pop(key, None)
            else:
                entries.append(put(key, seq, b"%d" % seq))
                model[key] = entries[-1][3]
        tree.flush(entries)
        settle(tree, policy)

        sizes = [level_bytes(tree.levels[level]) for level in used_levels(tree.levels)]
        assert len(tree.levels[0]) < policy.l0_tables_max
        assert len(sizes) <= min(levels_max - 1, runs_max(policy, sizes or [1]))
        if kind is LazyPolicy and levels_max == 40 and len(sizes) > 1:
            assert sum(sizes[:-1]) * policy.level_ratio < sizes[-1]

    assert visible(tree.entries()) == model


@pytest.mark.parametrize("kind", KINDS)
def test_deleting_everything_gives_all_space_back(seed, kind):
    tree, policy = MemoryTree(table_bytes_max=180), small(kind)
    model = written(tree, policy, 40, seed, share_deleted=0.0)

    keys = sorted(model)
    for start in range(0, len(keys), 50):
        tree.flush(
            [delete(key, 10_000 + start + place) for place, key in enumerate(keys[start : start + 50])]
        )
        settle(tree, policy)

    settle(tree, policy, now_us=LATER)
    assert tree.entries() == []


@pytest.mark.parametrize("kind", KINDS)
def test_keys_in_rising_order_are_never_rewritten_and_make_one_run(kind):
    tree, policy = MemoryTree(levels_max=40), small(kind, table_bytes_max=100)
    for start in range(0, 1000, 20):
        tree.flush([put(b"%04d" % number, number + 1) for number in range(start, start + 20)])
        while plan := policy.choose(tree.levels, frozenset(), 0):
            assert plan.kind == "move"
            tree.apply(plan)

    assert used_levels(tree.levels) == (39,)
    assert sorted(entry[0] for entry in tree.entries()) == [b"%04d" % number for number in range(1000)]


@pytest.mark.parametrize("kind", KINDS)
def test_many_short_sessions_do_not_leave_many_tables(kind):
    tree, policy = MemoryTree(levels_max=40), small(kind, l0_tables_max=1, table_bytes_max=2000)
    tree.table_bytes_max = 2000
    # A key beyond all others keeps what follows out of the last level.
    tree.flush([put(b"%06d" % number, 1) for number in (0, 999_999)])
    for seq in range(2, 600):
        tree.flush([put(b"%06d" % seq, seq)])
        while plan := policy.choose(tree.levels, frozenset(), 0):
            tree.apply(plan)

    assert sum(map(len, tree.levels)) < 60


def merged_bytes(policy: Policy, seed: int) -> tuple[int, int]:
    """Bytes flushed, and bytes that merges wrote, for overwrites of keys at random."""
    tree = MemoryTree(levels_max=policy.levels_max, table_bytes_max=policy.table_bytes_max)
    rng, seq, flushed, merged = random.Random(seed), 0, 0, 0
    for _ in range(150):
        seq += 30
        result = tree.flush([put(b"%05d" % rng.randrange(2000), seq + n, b"v" * 20) for n in range(30)])
        flushed += sum(table.size_bytes for table in result.tables)
        while plan := policy.choose(tree.levels, frozenset(), 0):
            before = {table.number for tables in tree.levels for table in tables}
            tree.apply(plan)
            merged += sum(t.size_bytes for ts in tree.levels for t in ts if t.number not in before)
    return flushed, merged


def test_tiered_writes_less_than_lazy_and_lazy_less_than_leveled(seed):
    shape = {"level_ratio": 4, "l0_tables_max": 2, "table_bytes_max": 10_000}
    leveled = LeveledPolicy(base_bytes=4000, **shape)
    amounts = [
        merged_bytes(policy, seed)[1]
        for policy in (
            TieredPolicy(run_bytes_min=500, **shape),
            LazyPolicy(run_bytes_min=500, **shape),
            leveled,
        )
    ]

    assert amounts == sorted(amounts)
    assert amounts[0] * 1.5 < amounts[2]


def test_l0_is_emptied_while_a_deep_merge_is_running(seed):
    tree, policy = MemoryTree(levels_max=40, table_bytes_max=180), small(TieredPolicy)
    written(tree, policy, 13, seed, share_deleted=0.0)
    deep = frozenset(table.number for tables in tree.levels[1:] for table in tables)
    for seq in (10_001, 10_002):
        tree.flush([put(b"0000", seq), put(b"0399", seq)])

    plan = policy.choose(tree.levels, deep, 0)

    assert plan is not None
    assert plan.level == 0
    assert plan.output_level == used_levels(tree.levels)[0] - 1


@given(trees())
def test_tiers_are_all_runs_in_order(tree):
    used = used_levels(tree.levels)
    found = tiers(tree.levels, used, 4, 50)

    assert tuple(level for tier in found for level in tier.levels) == used
    assert sum(tier.size_bytes for tier in found) == sum(map(level_bytes, tree.levels[1:]))


@given(trees(), st.sampled_from(KEYS), st.sampled_from(KEYS), st.data())
def test_nothing_older_is_passed_on_the_way_down(tree, one, other, data):
    keys = min(one, other), max(one, other)
    level = data.draw(st.integers(0, len(tree.levels) - 1))

    floor = floor_level(tree.levels, level, keys)

    passed = [table for run in tree.levels[level + 1 : floor + 1] for table in run]
    assert level <= floor < len(tree.levels)
    assert all(table.largest < keys[0] or keys[1] < table.smallest for table in passed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        {"level_ratio": 1},
        {"l0_tables_max": 0},
        {"run_bytes_min": 0},
        {"table_bytes_max": 0},
        {"levels_max": 1},
        {"tombstone_share": 0.0},
        {"tombstone_age_seconds": -1},
    ],
)
def test_settings_that_cannot_work_are_refused(kind, settings):
    (name,) = settings

    with pytest.raises(ValueError, match=name):
        kind(**settings)
