"""The same stream of writes on every engine, and what is made of it."""

import errno
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.compare import amplification_child, amplification_run
from bench.compare.amplification import OVERWRITES, Amplified, AmplifyTask, is_no_higher
from bench.compare.amplification_child import amplify, failure
from bench.compare.amplification_run import AmplifyRun
from bench.compare.amplification_sheet import amplify_sheet
from bench.compare.figures import compare_figures
from bench.compare.settings import CompareSettings
from bench.peers.disk_full import disk_full_alike, is_disk_full
from bench.peers.engines import UnknownName, find_engine, find_peers, ours
from bench.peers.work import TreeWork
from bench.sheet import plain
from tests.bench.stores import INSTALLED

QUIET = 0.05


@pytest.fixture
def task(seed):
    return AmplifyTask(
        keys=3000, key_bytes=16, value_bytes=100, seed=seed, memtable_bytes=64 * 1024, level_ratio=10
    )


def made_up(engine="lsm", *, flushed=100, compacted=300, written=1000):
    work = TreeWork(flush_bytes=flushed, compaction_bytes=compacted, flushes=2, how="out of thin air")
    return Amplified(
        engine=engine,
        user_bytes=100,
        live_bytes=25,
        work=work,
        passed_bytes=written,
        stored_bytes=written,
        data_bytes=30,
        log_bytes=10,
        other_bytes=5,
        seconds=1.0,
    )


def test_the_stream_writes_all_keys_and_then_three_times_as_many(task):
    data = task.data()
    model, count = {}, 0
    for keys, values in task.writes(data):
        model |= zip(keys, values, strict=True)
        count += len(keys)

    last = task.last_versions(data)

    assert count == (1 + OVERWRITES) * task.keys and task.user_bytes == count * 116
    assert model == {data.key(number): data.value(number, int(last[number])) for number in range(task.keys)}
    assert set(last.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("engine", INSTALLED, ids=lambda engine: engine.name)
def test_an_engine_accounts_for_the_stream(engine, task, tmp_path):
    found = amplify(engine, tmp_path, task, QUIET)

    assert found.engine == engine.name and found.data_bytes > task.live_bytes / 2
    assert (found.work is None) == (not engine.memtable)
    if found.work is not None:
        assert found.tree_write_amp > 1 and found.work.how
        assert found.tree_write_amp == pytest.approx(found.work.stated, rel=0.5)
    if found.passed_bytes is not None:  # the system counts: nothing of what the tree says can be missing
        assert found.passed_bytes > task.user_bytes / 2
        if found.work is not None:
            assert found.passed_bytes > found.work.flush_bytes + found.work.compaction_bytes
    assert Amplified.from_json(json.loads(json.dumps(found.to_json_of_child()))) == found


@pytest.mark.parametrize("is_paced", [True, False])
def test_a_paced_stream_waits_before_a_memtable_is_full(is_paced, task):
    heard = []
    few = replace(task, keys=1000, is_paced=is_paced)

    amplification_child._put_all(
        lambda key, value: heard.append(len(key) + len(value)), few.data(), few, lambda: heard.append(None)
    )

    waits = [at for at, size in enumerate(heard) if size is None]
    assert sum(filter(None, heard)) == few.user_bytes
    assert bool(waits) == is_paced
    if is_paced:
        assert waits[-1] == len(heard) - 1 and max(np.diff(waits)) * 116 < few.memtable_bytes


def test_a_store_that_loses_writes_gets_no_figures(task, tmp_path):
    def open_forgetful(path, settings, durable):
        store = ours().open(path, settings, durable)
        store.putter = lambda: lambda key, value: None
        return store

    with pytest.raises(RuntimeError, match="is not what was written last"):
        amplify(replace(ours(), open=open_forgetful), tmp_path, task, QUIET)


def test_engines_run_in_processes_of_their_own(task, tmp_path):
    run, heard = AmplifyRun(task=task), []

    run.run([ours()], tmp_path, heard.append)

    (found,) = run.found
    assert found.tree_write_amp > 1 and not run.failed
    assert heard == ["amplification of lsm"]
    assert list(tmp_path.iterdir()) == []


def test_an_engine_whose_ratio_cannot_be_set_is_left_out(task, tmp_path):
    run = AmplifyRun(task=replace(task, level_ratio=4))

    run.run([replace(ours(), name="fixed", level_ratio=10)], tmp_path, lambda _: None)

    assert run.failed == {"fixed": "its level ratio is 10 and cannot be set"}


def test_an_engine_that_brings_its_process_down_is_named(task, tmp_path, monkeypatch):
    monkeypatch.setattr(amplification_run, "_CHILD", "this")  # a module that says something else
    run = AmplifyRun(task=task)

    run.run([replace(ours(), name="brittle")], tmp_path, lambda _: None)

    assert "ended before it was ready" in run.failed["brittle"] and not run.found


def test_an_engine_that_fails_is_named_and_a_full_disk_ends_the_run(task, tmp_path, monkeypatch):
    answers = iter(
        [{"failed": "SomeError: no", "is_disk_full": False}, {"failed": "full", "is_disk_full": True}]
    )
    monkeypatch.setattr(AmplifyRun, "_answer", lambda *_: next(answers))
    run = AmplifyRun(task=task)

    with pytest.raises(OSError, match="full") as caught:
        run.run([ours(), ours()], tmp_path, lambda _: None)

    assert caught.value.errno == errno.ENOSPC and run.failed == {"lsm": "SomeError: no"}


@pytest.mark.parametrize(("free", "is_full"), [(0, True), (1 << 30, False)])
def test_an_error_on_a_full_disk_is_one_of_a_full_disk_whatever_it_says(free, is_full, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    answer = failure(RuntimeError(f"a write to {tmp_path}/000007.log failed before"), tmp_path)

    assert answer == {"failed": "RuntimeError: a write to /000007.log failed before", "is_disk_full": is_full}


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "whatever"),
        Exception("IO error: No space left on device: While appending to file"),
        RuntimeError("database or disk is full"),
        OSError("IO error: x.ldb: No space left on device"),  # plyvel's has no number
    ],
)
def test_a_full_disk_is_known_by_every_name(error):
    assert is_disk_full(error)
    with pytest.raises(OSError) as caught, disk_full_alike():
        raise error
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("error", [ValueError("no"), OSError(errno.EIO, "input/output error")])
def test_other_errors_stay_what_they_are(error):
    assert not is_disk_full(error)
    with pytest.raises(type(error)) as caught, disk_full_alike():
        raise error
    assert caught.value is error


def test_the_verdict_is_about_the_tree():
    mine = made_up()

    assert is_no_higher(mine, made_up("a", compacted=300)) is True
    assert is_no_higher(mine, made_up("b", compacted=299)) is False
    assert is_no_higher(mine, replace(made_up("c"), work=None)) is None
    assert is_no_higher(made_up(flushed=0), mine) is None


def test_the_sheet_says_what_was_given_and_who_is_higher(task):
    run = AmplifyRun(
        task=task,
        found=[made_up(), made_up("rocksdict", compacted=200), replace(made_up("lmdb"), work=None)],
        failed={"plyvel": "gone"},
    )

    text = plain(amplify_sheet(run, [ours()]))

    assert "HIGHER than rocksdict's tree: 4.00 to 3.00" in text and "missed" in text
    assert "plyvel: gone; left out" in text and "lmdb: no tree" in text
    assert "memtable 0.06 MiB" in text and "level ratio 10" in text and "memtable of lsm: the log" in text
    assert "lmdb's tree" not in text and "waits for compaction" in text
    hasty = replace(run, task=replace(task, is_paced=False))
    assert "as fast as each goes" in plain(amplify_sheet(hasty, [ours()]))


def test_the_sheet_of_an_interrupted_run_has_what_there_is(task):
    empty = amplify_sheet(AmplifyRun(task=task), [ours()])
    only_theirs = amplify_sheet(AmplifyRun(task=task, found=[made_up("rocksdict")]), [ours()])

    assert empty.rows == [] and len(only_theirs.rows) == 1
    assert "tree:" not in plain(only_theirs)


def test_figures_are_flat_with_the_name_of_a_peer_in_front():
    figures = compare_figures([], [made_up(), replace(made_up("lmdb", written=50), work=None)], "lsm")

    assert figures["tree_write_amp"] == 4.0 and figures["write_amp"] == 10.0
    assert figures["space_amp"] == 1.2 and figures["space_amp_with_log"] == 1.8
    assert figures["lmdb_write_amp"] == 0.5 and "lmdb_tree_write_amp" not in figures
    assert all(isinstance(figure, float) for figure in figures.values())


def test_an_engine_is_found_by_its_name():
    assert find_engine("lsm") is ours()
    with pytest.raises(UnknownName, match="did you mean sqlite3"):
        find_engine("sqlite")


OPTIONS = ["--keys", "400", "--value-bytes", "20", "--workloads", "fillsync", "--repeats", "1"]
OPTIONS += ["--durable-operations", "16"]
AMPLIFY = ["--amplify-keys", "3000", "--amplify-memtable-bytes", "65536", "--peers", "sqlite3"]


def compare(tmp_path, *more):
    out = tmp_path / "result.json"
    places = ["--directory", str(tmp_path / "stores"), "--out", str(out)]
    result = CliRunner().invoke(app, ["compare", *OPTIONS, *AMPLIFY, *more, *places])
    return result, json.loads(out.read_text(encoding="utf-8")) if out.exists() else None


def test_compare_shows_amplification_and_writes_it(tmp_path):
    result, written = compare(tmp_path)

    assert result.exit_code == 0, result.output
    assert "Amplification of one stream: 3,000 entries" in result.output
    assert [row["engine"] for row in written["amplification"]] == ["lsm", "sqlite3"]
    mine, theirs = written["amplification"]
    assert mine["tree_write_amp"] > 1 and mine["flush_bytes"] > 0 and mine["how"]
    assert theirs["tree_write_amp"] is None and theirs["flush_bytes"] is None
    assert written["figures"]["tree_write_amp"] == mine["tree_write_amp"]
    assert {"ratio_fillsync_sqlite3", "ops_per_second_fillsync", "sqlite3_space_amp"} <= set(
        written["figures"]
    )
    assert written["complete"] and written["stopped_by"] is None and "beside sqlite3" in written["title"]


@pytest.mark.parametrize(
    ("error", "code", "why"),
    [(KeyboardInterrupt(), 130, "interrupted"), (OSError(errno.ENOSPC, "no room"), 3, "disk full")],
)
def test_what_was_measured_before_an_early_end_is_kept(error, code, why, tmp_path, monkeypatch):
    def answer(self, engine, directory):
        if engine.name != "lsm":
            raise error
        return {"amplified": made_up().to_json_of_child()}

    monkeypatch.setattr(AmplifyRun, "_answer", answer)

    result, written = compare(tmp_path)

    assert result.exit_code == code, result.output
    assert not written["complete"] and written["stopped_by"] == why
    assert [row["engine"] for row in written["amplification"]] == ["lsm"]
    assert written["figures"]["tree_write_amp"] == 4.0 and "ratio_fillsync_sqlite3" in written["figures"]


def test_keys_of_the_stream_that_do_not_fit_are_refused(tmp_path):
    result, written = compare(tmp_path, "--key-bytes", "8", "--amplify-keys", "100000000")

    assert result.exit_code == 2 and "do not fit into 8 bytes" in result.output and written is None


def test_the_base_level_of_peers_is_as_large_as_leveldbs_by_default():
    # LevelDB's is 10 MiB and cannot be set.
    assert AmplifyTask.of(CompareSettings()).store.base_bytes == pytest.approx(10 * 1024 * 1024, rel=0.03)
    peers, _ = find_peers(["plyvel"])
    assert all(peer.level_ratio == CompareSettings().level_ratio for peer in peers)
