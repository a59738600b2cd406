"""`sweep`: one factor at a time, simulated and on real stores."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.sweep.points import BASE, Sweep, points_of
from bench.sweep.settings import SweepSettings

KIB = 1024
TINY = SweepSettings(keys=800, samples=50, option=["background=thread"])


@pytest.fixture
def bench(tmp_path):
    def run(*arguments: object):
        words = ["sweep", "--directory", tmp_path / "stores", "--option", "background=thread", *arguments]
        result = CliRunner().invoke(app, list(map(str, words)))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def test_points_differ_from_the_base_in_one_factor():
    points = points_of(TINY)

    assert [point.factor for point in points[:3]] == [BASE, "policy", "policy"]
    base = points[0].settings.store_options().to_json()
    assert base["hash_index"] is False
    for point in points[1:]:
        options = point.settings.store_options().to_json()
        changed = {name for name in options if options[name] != base[name]}
        expected = {
            "policy": {"policy"},
            "level_ratio": {"level_ratio"},
            "memtable": {"memtable_bytes_max"},  # tables follow
            "bits": {"bloom_bits_per_key"},
            "value_size": set(),
        }
        assert changed == expected[point.factor], point.label


def test_the_value_that_the_base_has_is_not_measured_twice():
    labels = [point.label for point in points_of(TINY)]

    assert len(labels) == len(set(labels))
    assert "level_ratio 10" not in labels and "policy leveled" not in labels
    assert "level_ratio 4" in labels and "memtable 64 KiB" in labels


def test_sizes_of_the_base_may_have_units():
    settings = replace(TINY, option=["background=thread", "memtable_bytes_max=64KiB"])

    labels = [point.label for point in points_of(settings) if point.factor == "memtable"]

    assert labels == ["memtable 16 KiB", "memtable 256 KiB"]


def test_larger_values_are_fewer():
    points = [point for point in points_of(TINY) if point.factor == "value_size"]

    assert [point.settings.value_bytes for point in points] == [20, 100, 1600]
    assert all(point.settings.data_bytes == pytest.approx(TINY.data_bytes, rel=0.05) for point in points)


def test_a_simulated_sweep_of_everything(bench, tmp_path):
    out = tmp_path / "result.json"

    result = bench("--simulated", "--keys", "3000", "--out", out)

    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    rows = {row["label"]: row for row in written["frontier"]}
    assert {row["source"] for row in rows.values()} == {"simulated"}
    assert {row["factor"] for row in rows.values()} == {
        BASE,
        "policy",
        "level_ratio",
        "memtable",
        "bits",
        "value_size",
    }
    assert rows["policy tiered"]["write_amp"] < rows[BASE]["write_amp"]
    assert rows["bits 5"]["miss_blocks"] > 5 * rows["bits 12"]["miss_blocks"]
    assert rows["level_ratio 4"]["space_amp"] > rows["level_ratio 16"]["space_amp"]
    assert not any(row["is_best"] for row in rows.values() if row["factor"] == "value_size")
    assert any(row["is_best"] for row in rows.values())
    assert written["figures"]["write_amp"] == rows[BASE]["write_amp"]
    assert "Measured beside simulated" not in result.output


def test_a_sweep_on_real_stores_is_as_simulated(bench, tmp_path):
    out = tmp_path / "result.json"

    result = bench(
        *("--keys", "1200", "--samples", "50", "--overwrites", "2", "--warm-up", "0.5"),
        *("--factors", "policy", "--policy", "tiered", "--out", out),
    )

    assert result.exit_code == 0, result.output
    rows = json.loads(out.read_text(encoding="utf-8"))["frontier"]
    assert [(row["label"], row["source"]) for row in rows] == [
        (BASE, "simulated"),
        (BASE, "measured"),
        ("policy tiered", "simulated"),
        ("policy tiered", "measured"),
    ]
    for simulated, measured in (rows[:2], rows[2:]):
        assert simulated["write_amp"] == pytest.approx(measured["write_amp"], rel=0.1)
    assert "Measured beside simulated" in result.output


def test_an_interrupted_sweep_keeps_what_it_has(bench, tmp_path, monkeypatch):
    simulate = Sweep.simulate

    def interrupted(self, point):
        if point.factor != BASE:
            raise KeyboardInterrupt
        simulate(self, point)

    monkeypatch.setattr(Sweep, "simulate", interrupted)
    out = tmp_path / "result.json"

    result = bench("--simulated", "--keys", "500", "--out", out)

    assert result.exit_code == 130
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["stopped_by"] == "interrupted" and len(written["frontier"]) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--factors", "polcy"], "did you mean policy?"),
        (["--policy", "lazzy"], "did you mean lazy?"),
        (["--level-ratio", "1"], "level_ratio must be"),
        (["--memtable", "10TB"], "memtable_bytes_max must be"),
        (["--bits", "-3"], "bloom_bits_per_key must be"),
        (["--value-size", "0"], "--value-size"),
        (["--value-size", "5000000"], "--value-size"),
        (["--option", "level_ration=4"], "did you mean level_ratio?"),
        (["--dist", "zipff"], "did you mean zipf?"),
    ],
)
def test_what_no_store_takes_is_refused_before_anything_is_done(bench, options, said):
    result = bench("--simulated", "--keys", "500", *options)

    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ")
