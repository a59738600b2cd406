"""Rows of the table of write amplification, from counts alone."""

from math import isclose

import pytest

from bench.amplify.moment import LevelBytes, Moment
from bench.amplify.prediction import Cost
from bench.amplify.write_rows import WriteCosts, checks
from bench.counting.os_counters import OsCounters

BEFORE = Moment(
    operations=10,
    user_bytes=1000,
    store_user_bytes=1000,
    written={"log": 1100, "flush": 900, "compaction": 0, "manifest": 50},
    flush_bytes=900,
    flushes=1,
    os=OsCounters(2000, 4096),
)
AFTER = Moment(
    operations=30,
    user_bytes=3000,
    store_user_bytes=3000,
    written={"log": 3300, "flush": 2900, "compaction": 9000, "manifest": 70, "other": 10},
    flush_bytes=2900,
    flushes=3,
    levels={5: LevelBytes(2000, 3000), 6: LevelBytes(2500, 6000)},
    os=OsCounters(15_400, 20_480),
)
SPENT = AFTER - BEFORE
SIMULATED = Cost(log=1.1, flush=1.0, levels={5: 1.6, 6: 2.9})


def costs(spent=SPENT, formula=SIMULATED, *, is_leveled=True):
    return WriteCosts(spent=spent, simulated=SIMULATED, formula=formula, is_leveled=is_leveled)


def test_a_difference_is_what_happened_between():
    assert SPENT.user_bytes == 2000 and SPENT.operations == 20 and SPENT.flushes == 2
    assert SPENT.written == {"log": 2200, "flush": 2000, "compaction": 9000, "manifest": 20, "other": 10}
    assert SPENT.levels[6] == LevelBytes(2500, 6000)
    assert SPENT.os == OsCounters(13_400, 16_384)
    assert SPENT.total_bytes == 13_230


def test_causes_and_levels_add_up_to_the_total():
    *parts, total, tree = costs().rows()

    assert [row.name for row in parts] == ["log", "flush", "L0 -> L5", "L5 -> L6", "manifest"]
    assert isclose(sum(row.measured for row in parts), total.measured)
    assert isclose(total.measured, 13_230 / 2000)
    assert isclose(sum(row.simulated or 0 for row in parts), total.simulated)
    assert isclose(tree.measured, 11_000 / 2000) and isclose(tree.simulated, 5.5)


def test_a_row_says_what_a_byte_from_above_costs():
    rows = {row.name: row.what for row in costs().rows()}

    assert rows["L5 -> L6"].startswith("2.40 written")


def test_rows_of_tiers_have_no_formula_each_but_the_sums_do():
    rows = {row.name: row for row in costs(is_leveled=False).rows()}

    assert rows["into L5"].predicted is None and rows["into L5"].simulated == 1.6
    assert rows["total"].predicted is not None


def test_without_a_formula_only_the_simulator_stands_beside():
    made = costs(formula=None)

    assert all(row.predicted is None for row in made.rows() if row.name != "log")
    assert "predicted_write_amp" not in made.figures()


def test_figures_have_the_names_of_the_result_file():
    figures = costs().figures()

    assert isclose(figures["write_amp"], 6.615) and figures["tree_write_amp"] == 5.5
    assert isclose(figures["os_write_amp"], 16_384 / 2000)
    assert isclose(figures["os_wchar_write_amp"], 13_400 / 2000)
    parts = sum(figures[f"{cause}_write_amp"] for cause in ("log", "flush", "compaction", "manifest"))
    assert isclose(parts, (13_230 - 10) / 2000)


@pytest.mark.parametrize(("flush", "expected"), [(0, 1.0), (100, 4.0)])
def test_tree_only_is_over_what_was_flushed(flush, expected):
    written = {"flush": flush, "compaction": 3 * flush}
    spent = Moment(
        operations=0, user_bytes=0, store_user_bytes=0, written=written, flush_bytes=flush, flushes=0
    )

    assert costs(spent).rows()[-1].measured == expected


def test_everything_that_is_counted_twice_is_compared():
    found = {(check.name, check.other_is): check.ratio for check in checks(SPENT)}

    assert found["flush", "tables made by flushes"] == 1.0
    assert found["compaction", "tables made by merges"] == 1.0
    assert isclose(found["all causes", "the system: wchar"], 13_400 / 13_230)
    assert ("all causes", "the system: write_bytes") in found


def test_nothing_against_something_is_no_ratio_for_json():
    empty = Moment(
        operations=0, user_bytes=0, store_user_bytes=5, written={}, flush_bytes=0, flushes=0, levels={}
    )

    by_name = {check.name: check for check in checks(empty)}

    assert by_name["user bytes"].to_json()["ratio"] is None
    assert by_name["flush"].ratio == 1.0
    assert costs(empty).rows()[-2].measured == 0.0
