"""`simulate`: workloads and logs under other settings, beside what the store does."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import lsm
from bench.cli import app
from bench.simulate.doing import How, do
from bench.simulate.outcome import Cost, simulate_variant, unbeaten
from bench.simulate.settings import SimulateSettings
from bench.simulate.source import of_store, of_workload, workload_writes
from bench.simulate.variants import Variant, grid
from bench.simulated_store import simulated_store

KIB = 1024
SMALL = ["memtable_bytes_max=32KiB", "table_bytes_max=64KiB", "background=thread"]
OPTIONS = [word for option in SMALL for word in ("--option", option)]
TINY = ["--keys", "2000", "--doing-seconds", "0", *OPTIONS]


@pytest.fixture
def bench():
    def run(*arguments: object):
        result = CliRunner().invoke(app, ["simulate", *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def store(tmp_path):
    """A store that has kept its whole log, and settled after every memtable."""
    path = tmp_path / "store"
    options = {"memtable_bytes_max": 32 * KIB, "table_bytes_max": 64 * KIB, "log_retention": "all"}
    with lsm.open(path, background="thread", sync="os", **options) as db:
        numbers = np.random.default_rng(5).integers(0, 1500, 5000).tolist()
        for at, number in enumerate(numbers):
            db.put(b"%08d" % number, bytes(number % 90))
            if at % 300 == 0:
                db.settle()
        db.keyspace("other")[b"k"] = b"v"
        db.flush()
        db.settle()
    return path


def test_a_workload_is_simulated_under_every_combination(bench, tmp_path):
    out = tmp_path / "result.json"

    result = bench("overwrite", *TINY, "--policy", "leveled,tiered", "--level-ratio", "4..6", "--out", out)

    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    rows = written["frontier"]
    assert [row["label"] for row in rows[:2]] == ["policy leveled, ratio 4", "policy leveled, ratio 5"]
    assert len(rows) == 6 and any(row["is_best"] for row in rows)
    assert {row["source"] for row in rows} == {"simulated"}
    assert written["figures"]["write_amp"] == rows[0]["write_amp"] > 3
    assert written["settings"]["operations"] == 6000 and written["settings"]["dist"] == "uniform"
    assert written["predicted_line"]["user_bytes"] == sorted(written["predicted_line"]["user_bytes"])
    assert "frontier" in result.output and "tiered" in result.output


def test_one_factor_has_its_name_in_the_frontier(bench, tmp_path):
    out = tmp_path / "result.json"

    bench("ycsb-a", *TINY, "--memtable", "32KiB..128KiB", "--out", out)

    rows = json.loads(out.read_text(encoding="utf-8"))["frontier"]
    assert [(row["factor"], row["value"]) for row in rows] == [
        ("memtable_bytes_max", 32 * KIB),
        ("memtable_bytes_max", 64 * KIB),
        ("memtable_bytes_max", 128 * KIB),
    ]
    assert rows[0]["write_amp"] > rows[2]["write_amp"]


@pytest.mark.parametrize("workload", ["overwrite", "ycsb-a", "queue", "deleterandom", "fillrandom"])
@pytest.mark.parametrize("policy", ["leveled", "tiered", "lazy"])
def test_the_simulator_says_what_the_store_does(workload, policy, tmp_path):
    settings = SimulateSettings(
        workload=workload, keys=1500, operations=4000, option=[*SMALL, f"policy={policy}", "level_ratio=4"]
    )
    source = of_workload(settings)

    outcome = simulate_variant(source.trace, Variant(source.options))

    how = How(key_bytes=settings.key_bytes, warm_bytes=source.trace.warm_bytes)
    done = do(workload_writes(settings), source.options, how, directory=tmp_path)
    print(outcome.figures.tree_write_amp, done)
    assert (done.writes, done.user_bytes) == (source.trace.count, source.trace.user_bytes)
    assert outcome.figures.tree_write_amp == pytest.approx(done.tree_write_amp, rel=0.1)
    if done.space_amp is not None:
        assert outcome.figures.space_amp == pytest.approx(done.space_amp, rel=0.1)


def test_a_log_is_replayed(bench, store, tmp_path):
    out = tmp_path / "result.json"
    with lsm.open(store, "r") as db:
        counted = db.stats().work.tree_write_amp

    result = bench("--from", store, "--doing-seconds", "0.01", "--out", out)

    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["figures"]["tree_write_amp"] == pytest.approx(counted, rel=0.1)
    assert written["writes"] == 5000 and written["figures"]["times_faster"] > 0
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    assert f"counted {counted:.2f}" in result.output and "other keyspaces" in result.output
    assert "times faster" in result.output


def test_a_log_without_its_beginning_starts_from_the_keys_that_are_there(tmp_path):
    path = tmp_path / "store"
    with lsm.open(path, background="thread", sync="os", memtable_bytes_max=32 * KIB) as db:
        for number in range(3000):
            db.put(b"%08d" % number, bytes(50))
        db.flush()
    with lsm.open(path, background="thread", sync="os", log_retention_bytes=0) as db:
        for number in range(100):
            db.put(b"%08d" % (number * 7), bytes(50))
        db.flush()
        assert db.log.earliest > 1
        with db.batch() as batch:
            for number in range(10):
                batch.put(b"%08d" % number, b"new")

    source = of_store(path, SimulateSettings(from_store=path))

    assert len(source.trace.loaded) == 3000 and source.trace.count < 200
    assert any("does not begin with the store" in note for note in source.notes)
    assert simulate_variant(source.trace, Variant(source.options)).figures.live_bytes > 3000 * 50


def test_batches_of_a_log_are_counted(tmp_path):
    with lsm.open(tmp_path / "store", background="thread", sync="os") as db:
        for first in range(0, 400, 20):
            with db.batch() as batch:
                for number in range(first, first + 20):
                    batch.put(b"%08d" % number, b"v")

    source = of_store(tmp_path / "store", SimulateSettings(from_store=tmp_path))

    assert source.batch == 20


def test_the_store_is_compared_with_its_simulation(bench, tmp_path):
    result = bench("overwrite", *TINY, "--operations", "500", "--check", "--directory", tmp_path / "stores")

    assert result.exit_code == 0, result.output
    assert "The simulator beside a real store, on the same stream: as it is" in result.output
    assert "all of one variant was done" in result.output


def test_what_is_done_to_a_real_store_is_the_first_variant(bench, tmp_path):
    def measured(*arguments):
        result = bench("overwrite", *TINY, "--check", *arguments, "--out", tmp_path / "run.json")
        assert result.exit_code == 0, result.output
        return json.loads((tmp_path / "run.json").read_text())["measured_tree_write_amp"]

    asked = measured("--policy", "tiered,leveled")

    assert asked == measured("--option", "policy=tiered") != measured("--option", "policy=leveled")


def test_doing_it_ends_when_its_time_is_over(tmp_path):
    settings = SimulateSettings(workload="overwrite", keys=2000, option=SMALL)

    done = do(workload_writes(settings), settings.options(), How(seconds_max=0.0), directory=tmp_path)

    assert 0 < done.writes < 1000
    assert (done.tree_write_amp, done.space_amp) == (None, None)


def test_batches_fill_memtables_as_simulated(tmp_path):
    settings = SimulateSettings(workload="overwrite", keys=1500, operations=4000, batch=50, option=SMALL)
    source = of_workload(settings)

    outcome = simulate_variant(source.trace, Variant(source.options), batch=50)

    how = How(batch=50, warm_bytes=source.trace.warm_bytes)
    done = do(workload_writes(settings), source.options, how, directory=tmp_path)
    assert outcome.figures.tree_write_amp == pytest.approx(done.tree_write_amp, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "simulate a workload"),
        (["overwrite", "--from", "x"], "simulate a workload"),
        (["overwrit"], "did you mean overwrite?"),
        (["readrandom"], "writes nothing"),
        (["overwrite", "--dist", "zipff"], "did you mean zipf?"),
        (["overwrite", "--policy", "levelled"], "did you mean leveled?"),
        (["overwrite", "--level-ratio", "1"], "level_ratio must be"),
        (["overwrite", "--level-ratio", "4..x"], "a range such as 4..16"),
        (["overwrite", "--level-ratio", "9..4"], "ends before it begins"),
        (["overwrite", "--memtable", "4XiB"], "--memtable"),
        (["overwrite", "--bits", "nan"], "--bits"),
        (["overwrite", "--bits", "99"], "bloom_bits_per_key must be"),
        (["overwrite", "--level-ratio", "2..100", "--bits", "0..30"], "combinations"),
        (["overwrite", "--option", "level_ration=4"], "did you mean level_ratio?"),
        (["--from", "nowhere"], "no store at"),
        (["--from", "nowhere", "--check"], "--check needs a workload"),
    ],
)
def test_what_makes_no_sense_is_refused_with_advice(bench, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = bench(*arguments, "--keys", "100")

    assert result.exit_code == 2
    assert said in result.output


def test_a_store_without_writes_and_an_unknown_keyspace_are_refused(bench, store, tmp_path):
    lsm.open(tmp_path / "empty").close()

    empty = bench("--from", tmp_path / "empty")
    unknown = bench("--from", store, "--keyspace", "nosuch")

    assert (empty.exit_code, unknown.exit_code) == (2, 2)
    assert "has no writes" in empty.output and "no keyspace 'nosuch'" in unknown.output


def test_an_interrupted_simulation_keeps_what_it_has(bench, tmp_path, monkeypatch):
    calls = []

    def interrupted(trace, variant, *, batch):
        if calls:
            raise KeyboardInterrupt
        calls.append(variant)
        return simulate_variant(trace, variant, batch=batch)

    monkeypatch.setattr("bench.simulate.command.simulate_variant", interrupted)
    out = tmp_path / "result.json"

    result = bench("overwrite", *TINY, "--level-ratio", "4,8", "--out", out)

    assert result.exit_code == 130
    written = json.loads(out.read_text(encoding="utf-8"))
    assert not written["complete"] and written["stopped_by"] == "interrupted"
    assert len(written["frontier"]) == 1


def test_variants_are_all_combinations_in_order():
    base = lsm.Options()

    variants = grid(base, {"policy": ["lazy", "tiered"], "level_ratio": [], "bloom_bits_per_key": [5.0]})

    assert [variant.label for variant in variants] == ["policy lazy, bits 5", "policy tiered, bits 5"]
    assert variants[0].options == base.with_changes({"policy": "lazy", "bloom_bits_per_key": 5.0})
    assert [variant.label for variant in grid(base, {})] == ["as it is"]


def test_the_simulated_store_has_the_options_of_the_real_one():
    options = lsm.Options(policy="lazy", level_ratio=5, memory_limit=32 * 1024 * KIB, hash_index=False)

    settings = simulated_store(options, batch=7)

    assert settings.shape.memtable_bytes == options.seal_bytes == 2 * 1024 * KIB
    assert (settings.shape.policy, settings.shape.level_ratio, settings.batch) == ("lazy", 5, 7)
    assert not settings.costs.hash_index


def test_the_frontier_has_what_nothing_else_beats():
    def cost(write_amp: float, space_amp: float) -> Cost:
        return Cost(write_amp=write_amp, space_amp=space_amp, miss_blocks=0.0, scan_runs=1.0)

    costs = [cost(5, 1), cost(3, 2), cost(5, 2), cost(3, 2)]

    assert unbeaten(costs) == [True, True, False, True]
    assert replace(costs[0], scan_runs=0.5).beats(costs[0]) and not costs[0].beats(costs[0])
