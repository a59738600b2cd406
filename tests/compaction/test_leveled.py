"""The leveled policy on whole trees: it comes to an end, loses nothing, and brings deleted space back."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import LeveledPolicy, check_levels, plan_full
from compaction.levels import level_bytes
from sstable import MAX_SEQ
from tests.compaction.memory import MemoryTree, delete, put, visible
from tests.compaction.trees import KEYS, trees

PLANS_MAX = 300
LATER = 10**18

SMALL = LeveledPolicy(level_ratio=3, l0_tables_max=2, base_bytes=600, table_bytes_max=180)
POLICIES = st.builds(
    LeveledPolicy,
    level_ratio=st.integers(2, 10),
    l0_tables_max=st.integers(1, 4),
    base_bytes=st.sampled_from([1, 200, 1000, 10_000]),
    upper_bytes_min=st.sampled_from([0, 100, 1000, 20_000]),
    table_bytes_max=st.sampled_from([1, 150, 1000]),
    levels_max=st.integers(2, 7),
)


def settle(
    tree: MemoryTree, policy: LeveledPolicy, *, now_us: int = 0, snapshots: tuple[int, ...] = ()
) -> int:
    """Carry out plans until there is none; return their number."""
    tree.table_bytes_max = policy.table_bytes_max
    oldest = min(snapshots, default=None)
    for count in range(PLANS_MAX):
        plan = policy.choose(tree.levels, frozenset(), now_us, oldest)
        if plan is None:
            return count
        tree.levels += ((),) * (plan.output_level + 1 - len(tree.levels))
        tree.apply(plan, snapshots)
    raise AssertionError(f"still busy after {PLANS_MAX} plans: {plan}")


@given(trees(), POLICIES)
def test_any_tree_settles_and_reads_as_before(tree, policy):
    before = visible(tree.entries())

    settle(tree, policy)

    assert {key: tree.get(key) for key in KEYS if tree.get(key) is not None} == before
    assert all(pressure < 1 for pressure in policy.pressures(tree.levels))
    assert settle(tree, policy) == 0


@given(trees(), POLICIES, st.lists(st.integers(0, 120), max_size=3))
def test_snapshots_read_as_before_while_a_tree_settles(tree, policy, snapshots):
    before = {snapshot: visible(tree.entries(), snapshot) for snapshot in [*snapshots, MAX_SEQ]}

    settle(tree, policy, now_us=LATER, snapshots=tuple(snapshots))

    for snapshot, expected in before.items():
        assert {key: tree.get(key, snapshot) for key in expected} == expected
        assert visible(tree.entries(), snapshot) == expected


@given(trees(), POLICIES, st.lists(st.integers(0, 120), max_size=3))
def test_old_tombstones_are_all_gone_once_no_snapshot_is_held(tree, policy, snapshots):
    settle(tree, policy, now_us=LATER, snapshots=tuple(snapshots))

    settle(tree, policy, now_us=LATER)

    assert tree.tombstones == 0


@given(trees(), st.data())
def test_a_plan_keeps_clear_of_busy_tables(tree, data):
    numbers = [table.number for tables in tree.levels for table in tables]
    busy = frozenset(data.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set())))

    plan = SMALL.choose(tree.levels, busy, LATER)

    assert plan is None or not plan.input_numbers & busy


@given(trees(), st.data())
def test_two_plans_at_once_leave_a_tree_whichever_ends_first(tree, data):
    before = visible(tree.entries())
    tree.levels += ((),) * (SMALL.levels_max - len(tree.levels))
    first = SMALL.choose(tree.levels, frozenset(), LATER)
    second = first and SMALL.choose(tree.levels, first.input_numbers, LATER)
    if first and second:
        for plan in data.draw(st.permutations([first, second])):
            tree.apply(plan)

    assert {key: tree.get(key) for key in KEYS if tree.get(key) is not None} == before


@given(trees(), st.sampled_from([None, *KEYS]), st.sampled_from([None, *KEYS]))
def test_a_full_compaction_leaves_one_level_and_no_garbage_in_its_range(tree, start, stop):
    before = visible(tree.entries())

    for _ in range(PLANS_MAX):
        plan = plan_full(tree.levels, start, stop)
        if plan is None:
            break
        tree.apply(plan)

    inside = [
        (level, table)
        for level, tables in enumerate(tree.levels)
        for table in tables
        if (start is None or start <= table.largest) and (stop is None or table.smallest < stop)
    ]
    assert plan is None
    assert len({level for level, _ in inside}) <= 1
    assert all(table.tombstones == 0 and table.entries == table.distinct_keys for _, table in inside)
    assert {key: tree.get(key) for key in KEYS if tree.get(key) is not None} == before


def written(
    tree: MemoryTree, policy: LeveledPolicy, rounds: int, seed: int, *, share_deleted: float
) -> dict[bytes, bytes]:
    """Flush random writes, settling after each flush; return what must be there."""
    rng = random.Random(seed)
    model: dict[bytes, bytes] = {}
    seq = 0
    for _ in range(rounds):
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
    return model


@pytest.mark.parametrize("share_deleted", [0.0, 0.3, 0.9])
def test_a_store_under_random_writes_stays_in_shape(seed, share_deleted):
    tree = MemoryTree(table_bytes_max=180)

    model = written(tree, SMALL, 60, seed, share_deleted=share_deleted)

    sizes = [level_bytes(run) for run in tree.levels]
    targets = SMALL.targets(tree.levels)
    assert visible(tree.entries()) == model
    assert sizes[1 : targets.base_level] == [0] * (targets.base_level - 1)
    assert all(size <= target for size, target in zip(sizes[1:], targets.level_bytes[1:], strict=True))


def test_deleting_everything_gives_all_space_back(seed):
    tree = MemoryTree(table_bytes_max=180)
    model = written(tree, SMALL, 40, seed, share_deleted=0.0)

    keys = sorted(model)
    for start in range(0, len(keys), 50):
        tree.flush(
            [delete(key, 10_000 + start + place) for place, key in enumerate(keys[start : start + 50])]
        )
        settle(tree, SMALL)

    settle(tree, SMALL, now_us=LATER)
    assert tree.entries() == []


def test_deletions_of_what_never_was_leave_nothing(seed):
    tree = MemoryTree()

    written(tree, SMALL, 20, seed, share_deleted=1.0)

    assert tree.entries() == []


def test_keys_in_rising_order_are_never_rewritten():
    tree = MemoryTree()
    policy = LeveledPolicy(level_ratio=3, l0_tables_max=2, base_bytes=600, table_bytes_max=100)
    for start in range(0, 1000, 20):
        tree.flush([put(b"%04d" % number, number + 1) for number in range(start, start + 20)])
        plan = policy.choose(tree.levels, frozenset(), 0)
        while plan is not None:
            assert plan.kind == "move"
            tree.apply(plan)
            plan = policy.choose(tree.levels, frozenset(), 0)

    assert sorted(entry[0] for entry in tree.entries()) == [b"%04d" % number for number in range(1000)]


def test_many_short_sessions_do_not_leave_many_tables():
    tree = MemoryTree(table_bytes_max=2000)
    policy = LeveledPolicy(l0_tables_max=1, table_bytes_max=2000)
    rewritten = 0
    for seq in range(1, 1000):
        tree.flush([put(b"%06d" % seq, seq)])
        while plan := policy.choose(tree.levels, frozenset(), 0):
            rewritten += sum(table.entries for table in plan.tables) if plan.kind == "merge" else 0
            tree.apply(plan)

    assert len(tree.levels[-1]) < 60
    assert rewritten < 8 * 1000


def test_levels_of_one_policy_are_settled_by_another(seed):
    tree = MemoryTree(levels_max=7, table_bytes_max=180)
    model = written(tree, SMALL, 30, seed, share_deleted=0.2)

    settle(tree, LeveledPolicy(levels_max=3, table_bytes_max=180))

    assert visible(tree.entries()) == model
    assert [len(run) > 0 for run in tree.levels[1:]] == [False] * 5 + [True]


@pytest.mark.parametrize(
    "settings",
    [
        {"level_ratio": 1},
        {"l0_tables_max": 0},
        {"base_bytes": 0},
        {"table_bytes_max": 0},
        {"levels_max": 1},
        {"tombstone_share": 0.0},
        {"tombstone_share": 1.5},
        {"tombstone_age_seconds": -1},
    ],
)
def test_settings_that_cannot_work_are_refused(settings):
    (name,) = settings

    with pytest.raises(ValueError, match=name):
        LeveledPolicy(**settings)


def test_targets_rise_by_the_ratio_to_the_largest_level(seed):
    tree = MemoryTree()
    written(tree, SMALL, 60, seed, share_deleted=0.0)

    targets = SMALL.targets(tree.levels)

    check_levels(tree.levels)
    assert targets.level_bytes[-1] == max(level_bytes(run) for run in tree.levels[1:])
    assert 0 < targets.level_bytes[targets.base_level] <= SMALL.base_bytes
    for smaller, larger in pairwise(targets.level_bytes[targets.base_level :]):
        assert larger == pytest.approx(SMALL.level_ratio * smaller)
