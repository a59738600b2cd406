import json
from dataclasses import replace

import numpy as np
import pytest

from bench.compare.comparison import Figures
from bench.compare.outcome import YARDSTICK, compare_json, outcomes, verdict
from bench.compare.sheets import compare_sheets
from bench.compare.workloads import find_workloads
from bench.measure import Spread, Timing
from bench.peers.engines import ours
from bench.sheet import plain
from tests.bench.stores import tiny_comparison


@pytest.mark.parametrize(
    ("ratio", "target", "said"),
    [
        (1.0, None, "ahead"),
        (0.99, None, "behind"),
        (1.5, 1.5, "ahead, target met"),
        (1.2, 1.5, "ahead, target missed"),
        (0.4, 1.5, "behind, target missed"),
        (0.9, 0.8, "behind, target met"),
    ],
)
def test_the_verdict_is_plain(ratio, target, said):
    assert verdict(ratio, target) == said


def made_up(tmp_path, seed, rates, *, peer=YARDSTICK):
    """Return a comparison on `fillrandom` and `seekscan` with figures out of thin air."""
    engines = [ours(), replace(ours(), name=peer)]
    comparison = tiny_comparison(tmp_path, seed, engines, find_workloads(["fillrandom", "seekscan"]))
    figures = Figures(is_complete=True)
    for workload in comparison.workloads:
        for engine, by_round in zip(engines, rates, strict=True):
            figures.timings[workload.name, engine.name] = [
                Timing(operations=rate, seconds=1.0, cpu_seconds=0.5, settle_seconds=0.5) for rate in by_round
            ]
    figures.traces["fillrandom", "lsm"] = [np.array([1_000, 2_000, 30_000_000])]
    figures.compactions["lsm"] = [1.0, 2.0]
    return replace(comparison, figures=figures)


def test_ratios_are_taken_round_by_round(tmp_path, seed):
    # The machine was half as fast in the second round: rates differ, their ratio does not.
    comparison = made_up(tmp_path, seed, [[200, 100], [100, 50]])

    result, _ = outcomes(comparison, {})

    assert result.ratios[YARDSTICK] == Spread(2.0, 2.0, 2.0)
    assert result.rates["lsm"] == Spread(150.0, 100.0, 200.0)
    assert result.verdict == "ahead, target met"


def test_a_round_that_a_peer_did_not_finish_does_not_count(tmp_path, seed):
    comparison = made_up(tmp_path, seed, [[200, 100, 900], [100, 50]])

    result, _ = outcomes(comparison, {})

    assert result.ratios[YARDSTICK].high == 2.0


def test_without_the_yardstick_there_is_no_verdict_on_targets(tmp_path, seed):
    comparison = made_up(tmp_path, seed, [[100], [200]], peer="sqlite3")
    result, _ = outcomes(comparison, {})

    text = "\n".join(map(plain, compare_sheets(comparison, [result], {})))

    assert result.verdict == ""
    assert result.to_json()["verdicts"] == {"sqlite3": "behind"}
    assert "target" not in text and "behind sqlite3: fillrandom 0.50" in text


def test_the_sheets_say_everything(tmp_path, seed):
    comparison = made_up(tmp_path, seed, [[100, 300], [200, 600]])
    results = outcomes(comparison, {"fillrandom": 12.0})

    text = "\n".join(map(plain, compare_sheets(comparison, results, {"lmdb": "not installed (no lmdb)"})))

    assert "lmdb: not installed (no lmdb); skipped" in text
    assert "behind, target missed" in text and "behind rocksdict: fillrandom 0.50, seekscan 0.50" in text
    assert "0.50 (0.50–0.50)" in text and "200 (100–300)" in text and "12 ns" in text
    assert "30,000.0" in text  # the longest put, in microseconds
    assert "full compaction after the above: lsm 1.50 s" in text
    assert "when fillrandom had returned: lsm 0.5 s, rocksdict 0.5 s" in text
    assert f"seed {seed}" in text and "bloom filter 10 bits" in text and "NOT COMPLETE" not in text


def test_an_interrupted_run_is_marked(tmp_path, seed):
    comparison = made_up(tmp_path, seed, [[100], [200]])
    comparison.figures.is_complete = False
    results = outcomes(comparison, {})

    assert any("NOT COMPLETE" in plain(sheet) for sheet in compare_sheets(comparison, results, {}))


def test_an_interrupted_run_without_figures_is_no_error(tmp_path, seed):
    comparison = replace(made_up(tmp_path, seed, [[100], [200]]), figures=Figures())

    assert outcomes(comparison, {}) == []
    text = "\n".join(map(plain, compare_sheets(comparison, [], {})))
    assert "ahead of" not in text and "behind" not in text


def test_the_result_is_plain_json_with_every_figure(tmp_path, seed):
    comparison = made_up(tmp_path, seed, [[100, 300], [200, 600]])

    result = compare_json(comparison, outcomes(comparison, {}), {"lmdb": "not installed"})

    assert json.loads(json.dumps(result)) == result
    workload = result["workloads"][0]
    assert workload["rates"]["lsm"] == {"median": 200.0, "low": 100.0, "high": 300.0}
    assert workload["rounds"]["rocksdict"] == [200.0, 600.0]
    assert workload["cpu_ns"]["lsm"]["low"] == 0.5e9 / 300
    assert workload["latencies_us"]["lsm"]["max"] == 30_000.0
    assert result["missing_peers"] == {"lmdb": "not installed"}
