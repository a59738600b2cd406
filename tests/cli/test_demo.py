"""`lsm demo`, and that it would not hide a loss."""

import os
import signal
import time

import pytest

import lsm
from lsm.cli.demo import crash, log
from lsm.cli.demo.history import Lost, Model, differences, judge, operation
from lsm.cli.demo.victim import Victim
from lsm.cli.demo.writer import open_small, write


def done(seed: int, operations: int) -> Model:
    model = Model(seed)
    model.advance_to(operations)
    return model


def test_operations_follow_from_seed_and_number(seed):
    assert operation(seed, 5) == operation(seed, 5)
    assert operation(seed, 5) != operation(seed, 6)
    writes = [write for number in range(200) for write in operation(seed, number)]
    assert any(value is None for _, value in writes)
    assert {len(operation(seed, number)) > 1 for number in range(50)} == {True, False}


def test_model_and_store_agree(tmp_path, seed):
    model = done(seed, 60)
    with open_small(tmp_path / "s") as db:
        for number in range(60):
            write(db, operation(seed, number))
        assert dict(db.items()) == model.pairs
        assert db.seq == model.writes


@pytest.mark.parametrize("survived", [50, 51])
def test_all_acknowledged_operations_and_at_most_the_one_in_flight_may_be_there(seed, survived):
    store = done(seed, survived)
    model = Model(seed)

    assert judge(model, dict(store.pairs), store.writes, 50) is (survived == 51)
    assert model.operations == survived


@pytest.mark.parametrize("survived", [49, 52])
def test_fewer_or_more_operations_are_a_loss(seed, survived):
    store = done(seed, survived)

    with pytest.raises(Lost):
        judge(Model(seed), store.pairs, store.writes, 50)


def test_half_a_batch_is_a_loss(seed):
    number = next(number for number in range(50, 100) if len(operation(seed, number)) > 1)
    store = done(seed, number)

    with pytest.raises(Lost, match="in a batch"):
        judge(Model(seed), store.pairs, store.writes + 1, number)


def test_wrong_contents_are_a_loss(seed):
    store = done(seed, 50)
    missing = dict(list(store.pairs.items())[1:])
    returned = store.pairs | {b"gone": b"back"}
    changed = store.pairs | {next(iter(store.pairs)): b"old"}

    for found, word in ((missing, "missing"), (returned, "deleted"), (changed, "another value")):
        with pytest.raises(Lost, match=word):
            judge(Model(seed), found, store.writes, 50)
    assert differences(store.pairs, dict(store.pairs)) == "nothing differs"


def test_the_writer_reports_what_is_durable_until_it_is_killed(tmp_path, seed):
    model = Model(seed)
    with Victim(tmp_path / "s", seed, 0) as victim:
        victim.write_until(50, seconds_max=20)
        acknowledged = victim.kill()

    assert acknowledged >= 50
    with lsm.open(tmp_path / "s", "r") as db:
        judge(model, dict(db.items()), db.seq, acknowledged)


def test_a_writer_that_ends_by_itself_is_a_failure(tmp_path, seed, capfd):
    (tmp_path / "file").touch()

    with Victim(tmp_path / "file", seed, 0) as victim, pytest.raises(Lost, match="ended by itself"):
        victim.write_until(1, seconds_max=20)

    assert "NotAStore" in capfd.readouterr().err


def test_the_demo_in_small(command, tmp_path):
    directory = tmp_path / "demo"
    started = time.monotonic()
    process = command(
        "demo", "--scale", "0.02", "--directory", directory, "--keep", "--seed", "1", "--no-spark"
    )

    out, err = process.communicate(timeout=60)

    text = out.decode()
    assert (process.returncode, err) == (0, b""), text
    assert time.monotonic() - started < 60
    assert "Nothing acknowledged was lost in 5 kills." in text
    assert text.count("0 lost, 0 deleted keys back") == 5
    for words in (
        "The log as a stream",
        "changes from 1 on without a gap",
        "exactly once",
        "view: counts",
        "follower: the same numbers and pairs",
        "levels before compaction",
        "amplification",
        "bytes of tables / bytes of keys",
        "checkpoint",
    ):
        assert words in text
    assert "\x1b" not in text
    assert lsm.verify(directory / "store").is_sound
    assert lsm.verify(directory / "checkpoint").is_sound
    assert lsm.verify(directory / "follower").is_sound


def test_a_log_that_tells_another_story_than_the_store_is_a_loss(tmp_path, seed):
    with open_small(tmp_path / "s") as db:
        for number in range(20):
            write(db, operation(seed, number))
        pairs = dict(db.items())

        assert "changes from 1 on" in log._fold(db, pairs)
        with pytest.raises(Lost, match="missing"):
            log._fold(db, pairs | {b"never": b"written"})
        with pytest.raises(Lost, match="the view counts"):
            log._check_view(db.view("keys")(log.folds.counter()), len(pairs) + 1)


def test_the_demo_fails_loudly_and_keeps_the_evidence(run, tmp_path, monkeypatch):
    def open_losing(path: os.PathLike[str]) -> lsm.DB:
        db = open_small(path)
        db.delete(next(iter(db)))
        return db

    monkeypatch.setattr(crash, "open_small", open_losing)

    result = run("demo", "--scale", "0.01", "--directory", tmp_path / "demo")

    assert result.exit_code == 1
    assert "FAILED" in result.stdout
    assert "Nothing acknowledged was lost" not in result.stdout
    assert (tmp_path / "demo" / "store").is_dir()


def test_the_demo_works_only_in_an_empty_directory(run, tmp_path):
    (tmp_path / "letter.txt").write_text("keep me")

    assert run("demo", "--directory", tmp_path).exit_code == 2
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_ctrl_c_ends_the_demo_with_its_writer_and_removes_its_files(command, tmp_path):
    process = command("demo", "--directory", tmp_path / "demo")
    while not (tmp_path / "demo" / "store" / "CURRENT").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)

    _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (130, b"lsm: interrupted\n")
    assert not (tmp_path / "demo").exists()
