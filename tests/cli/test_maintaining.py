"""`lsm compact` and `lsm checkpoint`."""

import json

import lsm


def test_compact_drops_what_was_overwritten_and_deleted(run, store):
    with lsm.open(store, "w") as db:
        db.flush()
        db.update({b"a": b"new"})
        del db[b"b"]

    result = run("compact", "--json", store)

    figures = json.loads(result.stdout)
    assert result.exit_code == 0
    assert figures["after"]["entries"] == 4
    assert figures["after"]["tombstones"] == 0
    assert run("scan", "--keys-only", "--stop", "c", store).stdout == "a\nba\n"


def test_compact_says_what_came_of_it(run, store):
    result = run("compact", store)

    assert result.stdout.startswith("0 tables of 0 B with 0 entries became 1 table of ")
    assert run("compact", "--start", "b", "--stop", "c", store).exit_code == 0


def test_checkpoint_makes_a_store_of_its_own(run, store, tmp_path):
    target = tmp_path / "copy"

    result = run("checkpoint", "--json", store, target)
    run("put", store, "later", "x")

    made = json.loads(result.stdout)
    assert (result.exit_code, made["path"], made["seq"]) == (0, str(target), 5)
    assert run("get", target, "a").stdout == "1\n"
    assert run("get", target, "later").exit_code == 1
    assert run("verify", target).exit_code == 0


def test_checkpoint_needs_a_place_of_its_own(run, store, tmp_path):
    assert "checkpoint of sequence number 5" in run("checkpoint", store, tmp_path / "one").stdout
    assert run("checkpoint", store, tmp_path / "one").exit_code == 3
    assert run("checkpoint", store, store).exit_code == 3
    (tmp_path / "file").touch()
    assert run("checkpoint", store, tmp_path / "file").exit_code == 3


def test_maintenance_needs_a_store(run, tmp_path):
    assert run("compact", tmp_path / "none").exit_code == 3
    assert run("checkpoint", tmp_path / "none", tmp_path / "copy").exit_code == 3
    assert not (tmp_path / "none").exists()
