"""`lsm explain`."""

import json

import pytest

import lsm


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """Return a store with several levels, a second keyspace, and something in memory; for reading only."""
    path = tmp_path_factory.mktemp("explain") / "levels"
    small = {"memtable_bytes_max": 8192, "table_bytes_max": 8192, "block_bytes": 512, "level_ratio": 3}
    with lsm.open(path, background="manual", sync="os", **small) as db:
        for number in range(2000):
            db.put(b"user:%04d" % (number * 7 % 800), b"v" * 40)
            while db.step():
                pass
        db.keyspace("orders\x1b[2J").update({b"\x1b[31m%d\xff" % number: b"x" for number in range(50)})
        db.flush()
        db.put(b"in memory", b"v")
    return path


def test_it_explains_writing_space_and_reading(run, levels):
    result = run("explain", levels)

    assert result.exit_code == 0
    for text in (
        "Write amplification",
        "Space amplification",
        "Levels",
        "Read cost",
        "Lookups by level",
        "What would help most",
        "into L6",
        "tree only",
        "formula",
    ):
        assert text in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_no_width_of_a_terminal_loses_figures(run, levels, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))

    result = run("explain", levels, "--no-advice")
    lookup = run("explain", levels, "--key", "user:0007")

    assert (result.exit_code, lookup.exit_code) == (0, 0)
    assert max(map(len, (result.stdout + lookup.stdout).splitlines())) <= columns
    if columns >= 80:
        assert "…" not in result.stdout + lookup.stdout
        assert "FOUND" in lookup.stdout


def test_advice_can_be_left_out(run, levels):
    assert "What would help most" not in run("explain", levels, "--no-advice").stdout


def test_as_json_it_is_that_of_the_library(run, levels):
    found = json.loads(run("explain", levels, "--json", "--no-advice").stdout)

    with lsm.open(levels, "r") as db:
        assert found == json.loads(json.dumps(db.explain(advice=False).to_json()))


def test_one_key(run, levels):
    found = run("explain", levels, "--key", "user:0007")
    absent = run("explain", levels, "--key", "user:0007x")
    in_memory = run("explain", levels, "--key", "in memory")

    assert (found.exit_code, absent.exit_code, in_memory.exit_code) == (0, 0, 0)
    assert "get user:0007: a value of 40 bytes" in found.stdout
    assert "FOUND" in found.stdout and "hash index" in found.stdout
    assert "get user:0007x: not there" in absent.stdout
    assert "memtable" in in_memory.stdout and "0 tables" in in_memory.stdout


def test_one_key_as_json(run, levels):
    found = json.loads(run("explain", levels, "--key", "user:0007", "--json").stdout)

    assert (found["key"], found["value_bytes"]) == ("user:0007", 40)
    assert found["steps"][-1]["found"]["kind"] == "value"


def test_a_key_of_another_keyspace_cannot_command_a_terminal(run, levels):
    result = run("explain", levels, "-k", "orders\x1b[2J", "--key", r"\x1b[31m7\xff")

    assert result.exit_code == 0
    assert r"get \x1b[31m7\xff: a value of 1 byte" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_store_that_is_empty_or_not_there(run, tmp_path):
    lsm.open(tmp_path / "empty").close()

    assert "Nothing was written yet" in run("explain", tmp_path / "empty").stdout
    assert run("explain", tmp_path / "none").exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", "orders"), "--keyspace goes with --key"),
        (("-k", "none", "--key", "k"), "no keyspace"),
        (("--key", r"\q"), "is no escape"),
    ],
)
def test_what_makes_no_sense_is_refused(run, levels, arguments, message):
    result = run("explain", levels, *arguments)

    assert result.exit_code in (2, 3)
    assert message in result.stderr


def test_beside_a_writer(run, store):
    with lsm.open(store, "w") as db:
        db.put(b"newer", b"v")

        assert run("explain", store, "--key", "newer").stdout.startswith("get newer: a value of 1 byte")
        assert "6 keys in memory" in run("explain", store).stdout
