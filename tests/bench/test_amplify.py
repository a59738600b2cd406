"""`amplify` from end to end, on stores that are small but have levels."""

import errno
import json
import os
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import lsm
from bench.amplify.driver import Driver
from bench.amplify.measure import measure_amplification
from bench.amplify.settings import AmplifySettings
from bench.cli import app
from bench.commands import data_of
from bench.progress import Bar

SMALL = AmplifySettings(
    keys=5000,
    warm_up=0.5,
    overwrites=2.5,
    value_bytes=20,
    samples=500,
    scan_pairs=10,
    key_bytes=16,
    option=["memtable_bytes_max=16KiB", "l0_tables_max=2"],
)


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch):
    """Nothing here must survive a crash, and small stores sync a lot."""
    for name in ("fsync", "fdatasync"):
        if hasattr(os, name):
            monkeypatch.setattr(os, name, lambda fd: None)


def measured(tmp_path, seed, *options, background="manual", **changes):
    settings = replace(
        SMALL,
        directory=tmp_path,
        seed=seed % 1000,
        option=[*SMALL.option, f"background={background}", *options],
        **changes,
    )
    return measure_amplification(settings, data_of(settings), Bar())


@pytest.mark.parametrize("ratio", [4, 8, 10])
def test_measured_simulated_and_predicted_agree(tmp_path, seed, ratio):
    found = measured(tmp_path, seed, f"level_ratio={ratio}")

    figures = found.figures()
    spent = found.costs().spent
    assert figures["predicted_write_amp"] == pytest.approx(figures["write_amp"], rel=0.2)
    assert figures["simulated_tree_write_amp"] == pytest.approx(figures["tree_write_amp"], rel=0.1)
    # Every byte has one cause, and two have counted it.
    assert spent.written["flush"] == spent.flush_bytes
    assert spent.written["compaction"] == sum(level.written for level in spent.levels.values())
    assert spent.user_bytes == spent.store_user_bytes == found.settings.overwrite_count * 36
    if spent.os is not None:
        assert spent.os.passed_bytes == pytest.approx(spent.total_bytes, rel=0.05)
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


@pytest.mark.parametrize("policy", ["tiered", "lazy"])
def test_other_policies_have_their_table(tmp_path, seed, policy):
    found = measured(tmp_path, seed, f"policy={policy}", "level_ratio=4")

    figures = found.figures()
    assert figures["simulated_tree_write_amp"] == pytest.approx(figures["tree_write_amp"], rel=0.1)
    assert figures["predicted_tree_write_amp"] > 1
    assert any(row.name.startswith("into L") for row in found.costs().rows())


def test_monkey_is_shown_beside_the_same_store_without(tmp_path, seed):
    found = measured(
        tmp_path, seed, "bloom_sharing=monkey", "hash_index=false", warm_up=0.0, overwrites=1.0, samples=3000
    )

    assert found.monkey.expected_ratio > 1
    assert found.to_json()["reads"]["monkey"]["levels"] >= 2
    bits = [tally.bits_per_key for _, tally in sorted(found.reads.misses.filters.items())]
    assert bits == sorted(bits, reverse=True)  # the smaller a level, the more bits
    assert "Monkey" in "".join(sheet.title for sheet in found.sheets())
    assert any("three data sets" in note for note in found.notes())


def test_the_same_seed_gives_the_same_figures(tmp_path, seed):
    once, twice = (measured(tmp_path, seed, overwrites=1.0).figures() for _ in range(2))

    same = ("write_amp", "tree_write_amp", "miss_tables", "false_positive_rate", "space_amp", "scan_skipped")
    assert {name: once[name] for name in same if name != "write_amp"} == {
        name: twice[name] for name in same if name != "write_amp"
    }
    assert once["write_amp"] == pytest.approx(twice["write_amp"], rel=0.01)  # times stand in the manifest


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"dist": "zipf:0.99"}, []),
        ({"dist": "sequential", "free": True, "background": "thread"}, []),
        ({"batch": 100}, ["compression=zlib", "sync=always"]),
        ({"keys": 10, "overwrites": 0.01, "warm_up": 0.0, "samples": 1}, []),
        ({"value_bytes": 50_000, "keys": 30, "samples": 5}, ["bloom_bits_per_key=0"]),
    ],
)
def test_odd_settings_have_figures_and_words(tmp_path, seed, changes, options):
    found = measured(tmp_path, seed, *options, **{"overwrites": 1.0, **changes})

    json.dumps(found.to_json(), allow_nan=False)
    assert found.figures()["write_amp"] > 0
    assert ("predicted_write_amp" in found.figures()) == ("dist" not in changes)
    said = " ".join(found.notes())
    assert ("no formula holds" in said) == ("dist" in changes)
    assert ("ran free" in said) == ("free" in changes)
    assert ("random bytes" in said) == ("batch" in changes)


@pytest.fixture
def bench(tmp_path):
    def run(*arguments):
        tiny = ["--keys", "2000", "--key-bytes", "16", "--value-bytes", "20", "--samples", "50"]
        options = ["--option", "memtable_bytes_max=8KiB", "--option", "background=manual"]
        directory = ["--directory", str(tmp_path / "stores")]
        return CliRunner().invoke(app, ["amplify", *tiny, *options, *directory, *arguments])

    return run


def test_the_command_prints_the_table_and_writes_the_result(bench, tmp_path, seed):
    out = tmp_path / "result.json"

    result = bench("--seed", str(seed % 1000), "--out", str(out))

    assert result.exit_code == 0, result.output
    for word in ("tree only", "RocksDB's w_amp", "the system's", "miss", "runs", "overwritten", "left"):
        assert word in result.output
    text = out.read_text(encoding="utf-8")
    written = json.loads(text)
    assert written["command"] == "amplify" and written["complete"] and str(tmp_path) not in text
    names = [row["name"] for row in written["write_amp_rows"]]
    assert names[:2] == ["log", "flush"] and names[-2:] == ["total", "tree only"]
    lengths = {len(column) for column in written["timeline"].values() if isinstance(column, list)}
    assert len(lengths) == 1
    assert written["timeline"]["user_bytes"][-1] == 5 * 2000 * 36
    assert written["measured_from_user_bytes"] == 2 * 2000 * 36  # loaded, and overwritten once
    assert {job["kind"] for job in written["jobs"]} >= {"flush", "merge"}
    space = written["space"]
    parts = ("live", "overwritten", "tombstones", "format", "log", "temporary", "manifest")
    assert sum(space[part] for part in parts) == space["total"]
    assert written["levels"] and written["notes"] and written["predicted_line"]["user_bytes"]
    assert written["options"]["memtable_bytes_max"] == 8192
    assert written["advice"][0]["text"] == "as it is" and "Why not better?" in result.output
    targets = {row["level"]: row["target_bytes"] for row in written["levels"]}
    assert targets[6] == sum(table["size_bytes"] for table in written["levels"][-1]["tables"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--option", "level_ration=4"], "did you mean level_ratio?"),
        (["--option", "level_ratio"], "name=value"),
        (["--option", "level_ratio=1"], "level_ratio must be"),
        (["--option", "policy=leveld"], "policy must be one of"),
        (["--dist", "zipfy"], "did you mean zipf?"),
        (["--free"], "--free needs a background"),
        (["--key-bytes", "8", "--keys", "100000000"], "do not fit into 8 bytes"),
    ],
)
def test_wrong_input_is_refused_with_advice(bench, arguments, said):
    result = bench(*arguments)

    assert result.exit_code == 2
    assert said in result.output


def stopping(monkeypatch, error, after):
    """Let the writing end with an error after so many pieces."""
    put = Driver._put
    count = 0

    def counted(self, numbers):
        nonlocal count
        count += 1
        if count > after:
            raise error
        put(self, numbers)

    monkeypatch.setattr(Driver, "_put", counted)


@pytest.mark.parametrize(
    ("error", "after", "code", "reason"),
    [
        (KeyboardInterrupt(), 90, 130, "interrupted"),
        (KeyboardInterrupt(), 1, 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left on device"), 90, 3, "disk full"),
        (lsm.DiskFull("db", "flushing"), 90, 3, "disk full"),
    ],
)
def test_what_was_measured_before_the_end_is_kept_and_marked(
    bench, monkeypatch, tmp_path, error, after, code, reason
):
    stopping(monkeypatch, error, after)
    out = tmp_path / "result.json"

    result = bench("--out", str(out))

    assert result.exit_code == code, result.output
    written = json.loads(out.read_text(encoding="utf-8"))
    assert not written["complete"] and written["stopped_by"] == reason
    assert bool(written["write_amp_rows"]) == (after == 90)
    assert any("stopped while writing" in note for note in written["notes"]) == (after == 90)
    assert "left_bytes" not in written["figures"]
    assert list((tmp_path / "stores").iterdir()) == []


def test_another_error_is_not_taken_for_an_end(bench, monkeypatch):
    stopping(monkeypatch, OSError(errno.EIO, "Input/output error"), 3)

    assert isinstance(bench().exception, OSError)
