"""The commands from end to end, at a tiny scale."""

import json
import sys

import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.compare.comparison import Comparison

TINY = ["--keys", "400", "--value-bytes", "20"]
RATES = [*TINY, "--amplify-keys", "0"]
"""Of `compare`, the part about rates alone."""


@pytest.fixture
def bench(tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(app, [*arguments, "--directory", str(tmp_path / "stores")])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def test_compare_prints_sheets_and_writes_a_result(bench, tmp_path, seed):
    out = tmp_path / "result.json"
    options = ["--workloads", "fillrandom,scan", "--peers", "sqlite3", "--repeats", "2", "--seed", str(seed)]

    result = bench("compare", *RATES, *options, "--out", str(out))

    assert result.exit_code == 0, result.output
    assert "2 rounds" in result.output and "to sqlite3" in result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["complete"] and written["settings"]["seed"] == seed
    assert [workload["name"] for workload in written["workloads"]] == ["fillrandom", "scan"]
    assert all(len(workload["rounds"]["lsm"]) == 2 for workload in written["workloads"])
    assert str(tmp_path) not in out.read_text(encoding="utf-8")


def test_compare_names_a_peer_that_is_missing(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "lmdb", None)
    monkeypatch.delitem(sys.modules, "bench.peers.peer_lmdb", raising=False)

    result = bench("compare", *RATES, "--workloads", "fillsync", "--peers", "lmdb", "--repeats", "1")

    assert result.exit_code == 0
    assert "lmdb: not installed" in result.output and "skipped" in result.output


def test_an_interrupted_compare_shows_what_it_has(bench, monkeypatch, tmp_path):
    finished = Comparison._run_fresh

    def interrupted(self, round_, order):
        finished(self, round_, order)
        raise KeyboardInterrupt

    monkeypatch.setattr(Comparison, "_run_fresh", interrupted)
    out = tmp_path / "result.json"

    result = bench(
        "compare", *RATES, "--workloads", "fillsync,scan", "--peers", "", "--repeats", "2", "--out", str(out)
    )

    assert result.exit_code == 130 and "NOT COMPLETE" in result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert not written["complete"] and written["stopped_by"] == "interrupted"
    assert [workload["name"] for workload in written["workloads"]] == ["fillsync"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workloads", "fillrandon"], "did you mean fillrandom?"),
        (["--peers", "sqlite"], "did you mean sqlite3?"),
        (["--keys", "100000000", "--key-bytes", "8"], "do not fit into 8 bytes"),
    ],
)
def test_a_wrong_name_or_number_is_refused_with_advice(bench, options, said):
    result = bench("compare", *options)

    assert result.exit_code == 2
    assert said in result.output


def test_background_measures_every_mode(bench, tmp_path):
    out = tmp_path / "result.json"

    result = bench("background", *TINY, "--repeats", "1", "--seconds", "0.2", "--out", str(out))

    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert {(rate["job"], rate["mode"]) for rate in written["rates"]} == {
        (job, mode)
        for job in ("flush", "compact 4 equal runs", "compact 2 runs, 1:10")
        for mode in ("manual", "thread", "process")
    }
    assert all(rate["entries"] > 0 and rate["rate"]["median"] > 0 for rate in written["rates"])
    assert [pauses["mode"] for pauses in written["pauses"]] == ["none", "thread", "process"]
    assert all(pauses["puts"]["latency"]["max"] > 0 for pauses in written["pauses"])
    assert "longest ms" in result.output


def test_memory_is_measured_in_a_process_of_its_own(bench, tmp_path):
    out = tmp_path / "result.json"

    result = bench("memory", *TINY, "--reads", "50", "--out", str(out))

    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["tables"] == 1 and written["table_bytes"] > 0
    assert written["opened"]["total"] >= written["opened"]["own"]
    assert written["open_seconds"] > 0 and written["read_rate"] > 0
    assert "time to open" in result.output
