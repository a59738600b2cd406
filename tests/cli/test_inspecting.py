"""`lsm stats`, `lsm verify` and `lsm keyspaces`."""

import json

import pytest

import lsm


@pytest.fixture
def flushed(store):
    """Return a store with a table, a tombstone and a second keyspace."""
    with lsm.open(store, "w") as db:
        db.keyspace("orders").update({b"%03d" % number: b"x" * 50 for number in range(100)})
        del db[b"a"]
        db.flush()
    return store


def table_of(store):
    return next(file for file in sorted(store.iterdir()) if file.suffix == ".sst")


def test_stats_show_levels_log_and_memory(run, flushed):
    result = run("stats", flushed)

    assert result.exit_code == 0
    for text in (
        flushed.name,
        "sequence number",
        "keyspace default",
        "keyspace orders",
        "L0",
        "100.0 %",
        "log",
    ):
        assert text in result.stdout


def test_stats_of_one_keyspace(run, flushed):
    result = run("stats", "-k", "orders", flushed)

    assert "keyspace orders" in result.stdout
    assert "keyspace default" not in result.stdout
    assert run("stats", "-k", "none", flushed).exit_code == 3


def test_stats_as_json_are_those_of_the_library(run, flushed):
    found = json.loads(run("stats", "--json", flushed).stdout)

    with lsm.open(flushed, "r") as db:
        assert found == json.loads(json.dumps(db.stats().to_json()))


def test_verify_of_a_sound_store(run, flushed):
    result = run("verify", flushed)

    assert result.exit_code == 0
    assert "sound" in result.stdout
    assert json.loads(run("verify", "--json", flushed).stdout)["is_sound"] is True


def test_verify_names_file_and_offset_of_damage_and_exits_with_1(run, flushed):
    table = table_of(flushed)
    data = bytearray(table.read_bytes())
    data[20] ^= 1
    table.chmod(0o600)
    table.write_bytes(data)

    result = run("verify", flushed)
    as_json = run("verify", "--json", flushed)

    assert (result.exit_code, as_json.exit_code) == (1, 1)
    assert f"{table}, byte " in result.stdout
    assert "1 problem found" in result.stderr
    (problem,) = json.loads(as_json.stdout)["problems"]
    assert problem["file"] == str(table)
    assert problem["offset"] is not None


def test_verify_names_a_missing_table_and_foreign_files(run, flushed):
    table = table_of(flushed)
    table.unlink()
    (flushed / "notes\x1b.txt").write_text("not ours")

    result = run("verify", flushed)

    assert result.exit_code == 1
    assert f"{table}: table is missing" in result.stdout
    assert "notes\\x1b.txt: not a file of the store" in result.stdout


def test_keyspaces_are_listed(run, flushed):
    assert "orders" in run("keyspaces", flushed).stdout

    listed = [json.loads(line) for line in run("keyspaces", "--json", flushed).stdout.splitlines()]
    assert [(one["name"], one["entries"]) for one in listed] == [("default", 5), ("orders", 100)]


def test_a_keyspace_is_dropped_only_when_confirmed(run, flushed):
    refused = run("keyspaces", "--drop", "orders", flushed)
    dropped = run("keyspaces", "--drop", "orders", "--yes", flushed)

    assert (refused.exit_code, refused.stderr) == (2, "lsm: --drop needs --yes where nobody can be asked\n")
    assert (dropped.exit_code, dropped.stdout) == (0, "keyspace orders dropped\n")
    assert len(run("keyspaces", "--json", flushed).stdout.splitlines()) == 1


def test_dropping_what_is_not_there_or_must_stay_fails(run, flushed):
    assert run("keyspaces", "--drop", "none", "--yes", flushed).exit_code == 3
    assert run("keyspaces", "--drop", "default", "--yes", flushed).exit_code == 2
    assert json.loads(run("keyspaces", "--drop", "orders", "--yes", "--json", flushed).stdout) == {
        "dropped": "orders"
    }


def test_names_of_keyspaces_cannot_command_a_terminal(run, store):
    with lsm.open(store, "w") as db:
        db.keyspace("\x1b[31mred").put(b"k", b"v")

    for arguments in (("keyspaces", store), ("stats", store), ("get", "-k", "\x1b[2J", store, "k")):
        result = run(*arguments)
        assert "\x1b" not in result.stdout + result.stderr
