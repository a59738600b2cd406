"""The command `log` from end to end, at a tiny scale, and what it makes of its figures."""

import json
import sys

import pytest
from typer.testing import CliRunner

from bench.child import started
from bench.cli import app
from bench.log.tailing import Tailing, _Round
from bench.measure import Spread

TINY = ["--keys", "3000", "--value-bytes", "20", "--log-bytes", "400000", "--seeks", "5"]
SHORT = ["--seconds", "0.1", "--readers", "2", "--repeats", "1"]


def test_log_measures_everything(tmp_path, seed):
    out = tmp_path / "result.json"
    where = ["--directory", str(tmp_path / "stores"), "--out", str(out), "--seed", str(seed)]

    result = CliRunner().invoke(app, ["log", *TINY, *SHORT, *where])

    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert {found["what"] for found in written["reading"]} >= {
        "changes() of single puts",
        "change_columns() of single puts",
        "changes() of batches of 1000",
        "change_columns() of batches of 1000",
    }
    assert all(found["rate"]["median"] > 0 for found in written["reading"])
    assert len(written["seeking"]) == 4
    assert all(found["log_bytes"] >= 400_000 for found in written["seeking"])
    assert all(found["read_bytes"]["median"] > 0 for found in written["seeking"])
    assert [found["how"] for found in written["following"]] == ["batches of 1000, not synced", "durable puts"]
    assert all(0 <= found["share"]["median"] <= 1 for found in written["following"])
    assert all(found["changes_missed"] == 0 < found["changes_seen"] for found in written["tailing"])
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    assert result.output.count("verdict") == 4 and "load" in result.output


def test_a_peer_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    monkeypatch.delitem(sys.modules, "bench.peers.peer_rocksdict", raising=False)

    result = CliRunner().invoke(app, ["log", *TINY, *SHORT, "--directory", str(tmp_path)])

    assert result.exit_code == 0, result.output
    assert "rocksdict: not installed" in result.output


def spread(value):
    return Spread(value, value, value)


@pytest.mark.parametrize(
    ("beside", "missed", "is_met"),
    [(95.0, 0, True), (90.5, 0, True), (89.0, 0, False), (99.0, 1, False), (120.0, 0, None)],
)
def test_readers_must_cost_little_and_miss_nothing(beside, missed, is_met):
    tailing = Tailing(
        how="puts",
        readers=2,
        alone=spread(100.0),
        beside=spread(beside),
        beside_strangers=spread(80.0),
        alone_cpu=spread(10.0),
        beside_cpu=spread(11.0),
        reader_cores=spread(0.1),
        behind_seconds=spread(0.0),
        changes_seen=10,
        changes_missed=missed,
    )

    assert tailing.is_met is is_met
    assert tailing.cost == pytest.approx(1 - beside / 100)
    assert tailing.strangers_cost == pytest.approx(0.2)
    assert tailing.cpu_cost == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("changes", "is_dense", "missed"), [(101, True, 0), (100, True, 1), (101, False, 1), (50, False, 51)]
)
def test_a_change_that_a_reader_did_not_see_is_counted(changes, is_dense, missed):
    seen = {"changes": changes, "is_dense": is_dense, "cpu_seconds": 0.0, "ended": 3.0}
    wrote = {"entries": 100, "seconds": 1.0, "cpu_seconds": 0.5, "samples": [(1.0, 0), (2.0, 100)]}

    round_ = _Round(wrote, [seen])

    assert round_.missed == missed
    assert round_.behind_seconds == pytest.approx(1.0)


def test_a_process_that_fails_is_no_figure(tmp_path):
    missing = tmp_path / "none"

    with (
        pytest.raises(RuntimeError, match="before it was ready"),
        started("bench.log.reader", missing) as child,
    ):
        child.wait_ready()
