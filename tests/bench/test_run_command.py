"""`run` from end to end, at a tiny scale: what it prints, what it writes, and how it ends early."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lsm
from bench.child import environment
from bench.cli import app
from bench.result import read_result
from bench.run.measure import Measurement
from bench.workload import WORKLOADS
from lsm.fs import open_directory
from lsm.opening import open_on
from tests.support.faultfs import Fault, FaultFS, FaultRule, Operation

TINY = ["--keys", "300", "--value-bytes", "20", "--option", "background=thread"]
ENDLESS = ["--keys", "300", "--operations", "100000000"]


@pytest.fixture
def run(tmp_path):
    def invoke(*arguments, ok=True):
        arguments = ["run", *arguments, "--directory", str(tmp_path / "stores")]
        result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "result.json")])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert (result.exit_code == 0) == ok, result.output
        return result

    return invoke


@pytest.fixture
def written(tmp_path):
    return lambda: read_result(tmp_path / "result.json")


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_workload_runs_to_its_end(workload, run, written, seed, tmp_path):
    output = run(workload.name, *TINY, "--operations", "150", "--seed", str(seed)).output

    result = written()
    figures = result["figures"]
    assert result["command"] == "run" and result["complete"] and result["stopped_by"] is None
    assert result["operations_done"] == 150 and f"{workload.name}: 150 operations" in output
    assert figures["ops_per_second"] > 0 and figures["empty_loop_ns"] > 0
    assert 0 < figures["p50_us"] <= figures["p99_us"] <= figures["p99_9_us"] <= figures["max_us"]
    assert sum(each["count"] for each in result["latency_us"].values()) >= 150
    lengths = {len(column) for name, column in result["timeline"].items() if name != "written"}
    assert len(lengths) == 1 and "empty loop" in output
    has_writes = bool({"put", "delete", "modify"} & result["latency_us"].keys())
    assert ("write_amp" in figures) == has_writes == ("write amplification" in output)
    assert not list((tmp_path / "stores").iterdir())
    assert str(tmp_path) not in json.dumps(result)


def test_figures_are_of_the_workload_and_not_of_the_load(run, written):
    run("overwrite", *TINY, "--operations", "1000", "--option", "memtable_bytes_max=64KiB")

    result = written()
    figures, timeline = result["figures"], result["timeline"]
    assert timeline["user_bytes"][0] == 0 and timeline["user_bytes"][-1] == 1000 * 36
    assert all(values[0] == 0 for values in timeline["written"].values())
    causes = ("log", "flush", "compaction", "manifest")
    parts = [figures[f"{cause}_write_amp"] for cause in causes]
    assert figures["write_amp"] == pytest.approx(sum(parts))
    # 12 bytes of lengths and 36 of a record beside 36 of an entry
    assert figures["log_write_amp"] == pytest.approx((36 + 48) / 36, rel=0.05)
    assert figures["flush_write_amp"] > 0 and figures["tree_write_amp"] >= 1
    assert timeline["live_bytes"] == [300 * 36] * len(timeline["live_bytes"])
    assert figures["space_amp"] == pytest.approx(timeline["table_bytes"][-1] / (300 * 36))
    assert figures["space_amp_peak"] >= figures["space_amp"] and figures["os_write_amp"] > 0
    rows = {row["name"]: row for row in result["write_amp_rows"]}
    assert rows["total"]["measured"] == pytest.approx(figures["write_amp"])
    assert rows["tree only"]["measured"] == pytest.approx(figures["tree_write_amp"])
    assert sum(len(level["tables"]) for level in result["levels"]) >= 1


def test_settings_are_written_as_they_took_effect(run, written):
    run("fillsync", *TINY, "--threads", "3", "--option", "level-ratio=4")

    result = written()
    settings, options = result["settings"], result["store_options"]
    assert settings["workload"] == "fillsync" and settings["operations"] == 2
    assert settings["sync"] == options["sync"] == "always" and settings["dist"] == ""
    assert options["level_ratio"] == 4 and "list_workloads" not in settings


@pytest.mark.parametrize(("sync", "durable"), [("always", True), ("os", False)])
def test_sync_decides_whether_writes_wait(run, written, sync, durable):
    run("fillrandom", *TINY, "--sync", sync)

    assert (written()["syncs"] >= 300) == durable


def test_threads_share_syncs(run, written):
    run("fillsync", *TINY, "--operations", "400", "--threads", "8")

    assert written()["operations_done"] == 400 and 0 < written()["syncs"] < 400


def test_samples_are_taken_on_the_way(run, written):
    run("readrandom", *TINY, "--operations", "300000", "--interval", "0.05")

    seconds, operations = (written()["timeline"][name] for name in ("seconds", "operations"))
    assert len(seconds) > 4 and operations[-1] == 300_000
    assert all(before <= after for before, after in pairwise(seconds))
    assert operations == sorted(operations)


def test_the_list_says_what_each_workload_does(tmp_path):
    result = CliRunner().invoke(app, ["run", "--list"])

    assert result.exit_code == 0
    for workload in WORKLOADS:
        assert re.search(rf"{workload.name} .*{re.escape(workload.what)}", result.output)


def test_help_names_the_workloads(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    result = CliRunner().invoke(app, ["run", "--help"])

    assert "fillseq" in result.output and "ycsb-f" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which workload?"),
        (["overwrit"], "did you mean overwrite?"),
        (["fillseq", "--dist", "zipf"], "--dist has no say"),
        (["overwrite", "--dist", "zipff"], "did you mean zipf?"),
        (["overwrite", "--option", "levl_ratio=3"], "did you mean level_ratio?"),
        (["overwrite", "--sync", "never"], "always, interval, os"),
        (["overwrite", "--sync", "os", "--option", "sync=os"], "twice"),
        (["queue", "--keys", "40000000", "--key-bytes", "8"], "do not fit into 8 bytes"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is(run, tmp_path, arguments, said):
    result = run(*arguments, ok=False)

    assert result.exit_code == 2 and said in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--out", "--directory"])
def test_a_place_that_cannot_be_is_refused_before_the_run(tmp_path, option):
    (tmp_path / "file").touch()

    result = CliRunner().invoke(app, ["run", "fillseq", *TINY, option, str(tmp_path / "file" / "below")])

    assert result.exit_code == 2 and "below" in result.output


# Runs that end early.


def faulty(rule):
    """What `lsm.open` does, on a file system that fails by rule."""

    def open_faulty(path, flag, **options):
        return open_on(FaultFS(open_directory(str(path), create=True, read_only=False), rule), flag, options)

    return open_faulty


@pytest.mark.parametrize("operation", [Operation.APPEND, Operation.CREATE])
@pytest.mark.parametrize("nth", [4, 60])
def test_a_full_disk_keeps_what_was_measured(run, written, monkeypatch, operation, nth):
    rule = FaultRule(operation=operation, fault=Fault.ENOSPC, nth=nth, sticky=True)
    monkeypatch.setattr(lsm, "open", faulty(rule))

    result = run("fillrandom", *TINY, "--keys", "20000", "--option", "memtable_bytes_max=64KiB", ok=False)

    assert result.exit_code == 3 and "disk full" in result.output
    partial = written()
    assert not partial["complete"] and partial["stopped_by"] == "disk full"
    assert partial["operations_done"] == sum(each["count"] for each in partial.get("latency_us", {}).values())
    assert "space_amp" not in partial["figures"]  # the store has never settled


def test_a_disk_that_is_full_while_loading_leaves_a_result_without_figures(run, written, monkeypatch):
    rule = FaultRule(operation=Operation.APPEND, fault=Fault.ENOSPC, nth=4, pattern="*.log", sticky=True)
    monkeypatch.setattr(lsm, "open", faulty(rule))

    assert run("overwrite", *TINY, "--keys", "20000", ok=False).exit_code == 3

    assert written()["operations_done"] == 0 and written()["figures"].keys() == {"empty_loop_ns"}


@pytest.mark.parametrize("step", ["_load", "_operate", "_settle"])
def test_an_interrupt_keeps_what_was_measured(run, written, monkeypatch, step):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Measurement, step, interrupted)

    result = run("overwrite", *TINY, ok=False)

    assert result.exit_code == 130 and "interrupted" in result.output
    assert not written()["complete"] and written()["stopped_by"] == "interrupted"
    assert written()["operations_done"] == (300 if step == "_settle" else 0)


def started(*arguments, **streams):
    command = [sys.executable, "-m", "bench", "run", *arguments]
    return subprocess.Popen(command, env=environment(), cwd=Path(__file__).parent, **streams)


@pytest.mark.parametrize(
    "arguments", [["overwrite", *ENDLESS], ["fillsync", "--threads", "4", *ENDLESS], ["scan", *ENDLESS]]
)
def test_ctrl_c_ends_a_real_run_with_a_partial_result(tmp_path, arguments):
    out, stores = tmp_path / "result.json", tmp_path / "stores"
    pipe = subprocess.PIPE
    process = started(*arguments, "--out", str(out), "--directory", str(stores), stdout=pipe, stderr=pipe)
    with process:
        _wait_until(lambda: any(stores.glob("*/db/*.log")))
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=60)

    assert process.returncode == 130, said
    assert said.decode() == "bench: interrupted: the figures are of what was done until then\n"
    assert f"{arguments[0]}: 100,000,000 operations".encode() in printed
    result = read_result(out)
    assert not result["complete"] and result["stopped_by"] == "interrupted"
    assert not list(stores.iterdir())


def test_progress_is_shown_on_a_terminal_with_rate_and_remaining_time(tmp_path):
    ours, theirs = pty.openpty()
    options = ["--keys", "2000", "--operations", "600000", "--directory", str(tmp_path)]
    with started("readrandom", *options, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = _all_from(ours)
        printed = process.stdout.read()
    os.close(ours)

    assert process.returncode == 0
    assert b"readrandom" in shown and b"/600000" in shown
    assert re.search(rb"[0-9,]+/s", shown) and re.search(rb"0:00:\d\d", shown)
    assert b"throughput" in printed and b"\x1b" not in printed


def test_nothing_but_figures_is_printed_without_a_terminal(tmp_path):
    pipe = subprocess.PIPE
    options = ["--keys", "2000", "--directory", str(tmp_path)]
    with started("fillrandom", *options, stdout=pipe, stderr=pipe) as process:
        printed, said = process.communicate(timeout=60)

    assert process.returncode == 0 and said == b""
    assert b"\x1b" not in printed and b"\r" not in printed


def test_a_result_is_written_though_nobody_reads_what_is_printed(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    options = [*TINY, "--directory", str(tmp_path), "--out", str(tmp_path / "result.json")]
    with started("fillrandom", *options, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        process.communicate(timeout=60)

    assert read_result(tmp_path / "result.json")["complete"]


def _wait_until(is_so, seconds=30.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def _all_from(terminal):
    shown = b""
    while select.select([terminal], [], [], 30)[0]:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # nobody has the other end any more
            break
        if not part:
            break
        shown += part
    return shown
