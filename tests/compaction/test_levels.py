"""Helpers over levels, against their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import (
    BusyRanges,
    CompactionPlan,
    LeveledPolicy,
    check_levels,
    key_range,
    overlapping,
    plan_full,
    reclaimable,
    replaced,
)
from compaction.levels import as_run, is_run, overlaps, united
from compaction.plan import plan_merge
from tests.compaction.trees import parse_levels, parse_table, trees

LETTERS = st.sampled_from([bytes([letter]) for letter in b"abcdefghijklmnop"])
RANGES = st.tuples(LETTERS, LETTERS).map(lambda ends: (min(ends), max(ends)))


def levels(text: str):
    return parse_levels(tuple(line.strip() for line in text.strip().splitlines()))


TREE = levels("""
    L0
    2 a-c
    1 b-z
    L1
    10 a-b
    11 d-f
    12 h-k
""")


@given(RANGES)
def test_overlapping_tables_are_those_that_share_a_key(keys):
    smallest, largest = keys

    expected = tuple(table for table in TREE[1] if overlaps(table, smallest, largest))

    assert overlapping(TREE[1], smallest, largest) == expected


@given(st.lists(RANGES, max_size=8), LETTERS)
def test_united_ranges_hold_the_same_keys_once(ranges, key):
    result = united(ranges)

    def holders(of):
        return sum(smallest <= key <= largest for smallest, largest in of)

    assert holders(result) == (holders(ranges) > 0)
    assert list(result) == sorted(result)


def test_the_range_of_tables_goes_from_end_to_end():
    assert key_range(TREE[0]) == (b"a", b"z")


def test_replacing_tables_keeps_the_order_of_a_level():
    after = replaced(TREE, frozenset({1, 2, 11}), 1, [parse_table("20 l-m"), parse_table("21 c-g")])

    assert [[table.number for table in tables] for tables in after[:2]] == [[], [10, 21, 12, 20]]
    check_levels(after)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("L0\n1 a-b\nL1\n1 a-b", "twice"),
        ("L1\n1 a-c\n2 c-d", "L1 is not a run: table 1 stands before 2"),
        ("L3\n1 x-z\n2 c-d", "L3 is not a run"),
        ("L0\n1 a-c seq=4\n2 c-d seq=5", "L0 is not newest first: table 1 stands above 2"),
    ],
)
def test_levels_that_cannot_be_are_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        check_levels(levels(text))


def test_no_levels_at_all_are_a_tree_without_work():
    check_levels(())

    assert plan_full(()) is None
    assert LeveledPolicy().choose((), frozenset(), 0) is None


def test_what_a_rewrite_drops_is_only_known_without_an_older_snapshot():
    table = parse_table("1 a-b entries=10 keys=8 tombstones=5 seq=7")

    assert [reclaimable(table, snapshot) for snapshot in (None, 7, 6)] == [5, 5, 0]
    assert reclaimable(parse_table("1 a-b entries=10 keys=3 tombstones=5"), None) == 7


def test_seqs_of_an_adopted_table_count_from_its_base():
    table = parse_table("1 a-b tombstones=5 seq=7 seq_base=100")

    assert [reclaimable(table, snapshot) for snapshot in (107, 106)] == [5, 0]


def test_a_run_shares_no_key():
    assert is_run(as_run([parse_table("2 c-d"), parse_table("1 a-b")]))
    assert not is_run(as_run([parse_table("2 b-d"), parse_table("1 a-b")]))


def plan_of(*numbers: int) -> CompactionPlan:
    chosen = [table for tables in TREE for table in tables if table.number in numbers]
    return plan_merge(TREE, chosen, 1, reason="test")


def test_the_facts_of_a_plan():
    plan = plan_of(2, 1, 10, 11, 12)

    assert [[table.number for table in run] for run in plan.inputs] == [[2], [1], [10, 11, 12]]
    assert (plan.level, plan.output_level, plan.input_bytes, plan.key_range) == (0, 1, 50, (b"a", b"z"))
    assert plan.is_bottom
    assert plan.input_numbers == {1, 2, 10, 11, 12}


def test_the_oldest_tombstone_of_a_plan_is_that_of_its_tables():
    tree = levels("L1\n1 a-b tombstones=1 deleted=7\n2 c-d tombstones=1 deleted=5\n3 e-f")

    assert plan_merge(tree, tree[1], 1, reason="").oldest_tombstone_time == 5
    assert plan_merge(tree, tree[1][2:], 1, reason="").oldest_tombstone_time == 0


@pytest.mark.parametrize(
    ("busy", "free"),
    [(set(), True), ({10}, True), ({12}, True), ({11}, False), ({10, 12}, False), ({2}, True), ({1}, False)],
)
def test_a_plan_is_free_outside_the_span_of_the_busy_tables(busy, free):
    assert BusyRanges(TREE, frozenset(busy)).leave_free(plan_of(11)) is free


@given(trees())
def test_a_plan_knows_all_that_lies_deeper(tree):
    plan = plan_full(tree.levels[:-1])
    if plan is None:
        return
    plan = plan_merge(tree.levels, plan.tables, plan.output_level, reason="test")
    smallest, largest = plan.key_range

    below = [table for run in tree.levels[plan.output_level + 1 :] for table in run]
    expected = [(table.smallest, table.largest) for table in below if overlaps(table, smallest, largest)]
    assert list(plan.deeper) == expected
