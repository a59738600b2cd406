"""`lsm log info|compact|ship|apply` and `lsm consumers`."""

import json
import time

import pytest

import lsm
from lsm.cdc import from_line
from tests.cli.test_processes import finish, on_a_terminal


@pytest.fixture
def segmented(tmp_path):
    """Return a store with a log of several segments."""
    path = tmp_path / "store"
    with lsm.open(path, log_retention="all") as db:
        for part in range(3):
            db.update({b"%d" % number: b"%d" % part for number in range(5)})
            db.flush()
        del db[b"0"]
    return path


def test_info_shows_the_range_and_every_segment(run, segmented):
    result = run("log", "info", segmented)

    with lsm.open(segmented, "r") as db:
        log = db.log
    assert result.exit_code == 0
    assert log.store_id in result.stdout
    assert "1 to 16" in result.stdout
    assert f"{len(log.segments)} segments" in result.stdout
    assert "epoch" in result.stdout


def test_info_as_json_is_what_the_library_says(run, segmented):
    found = json.loads(run("log", "info", "--json", segmented).stdout)

    with lsm.open(segmented, "r") as db:
        log = db.log
    assert (found["earliest"], found["latest"]) == (1, 16) == (log.earliest, log.latest)
    assert (found["store_id"], found["epoch"]) == (log.store_id, log.epoch)
    assert [segment["number"] for segment in found["segments"]] == [one.number for one in log.segments]
    assert all(segment["size_bytes"] for segment in found["segments"] if segment["is_closed"])


def test_info_beside_a_writer_and_of_an_empty_log(run, tmp_path):
    with lsm.open(tmp_path / "s"):
        assert "none; the next is 1" in run("log", "info", tmp_path / "s").stdout
    assert run("log", "info", tmp_path / "none").exit_code == 3


def test_compact_prints_the_latest_change_of_every_key(run, segmented):
    result = run("log", "compact", segmented)

    found = [from_line(line) for line in result.stdout.splitlines()]
    assert [change.seq for change in found] == [12, 13, 14, 15, 16]
    assert [change.kind for change in found] == ["put"] * 4 + ["delete"]
    assert run("log", "compact", segmented, "--format", "debezium").exit_code == 0
    assert run("log", "compact", segmented, "--schema").exit_code == 2


def test_compact_goes_on_with_the_live_log(command, segmented):
    with lsm.open(segmented, "w") as db:
        process = command("log", "compact", segmented, "--follow", "--limit", "6")
        assert [from_line(process.stdout.readline()).seq for _ in range(5)] == [12, 13, 14, 15, 16]
        db[b"new"] = b""

        code, out, err = finish(process)

    assert (code, err) == (0, b"")
    assert from_line(out.rstrip()).seq == 17


def test_a_compacted_log_seeds_a_copy_of_the_state(run, segmented):
    state = {}
    for line in run("log", "compact", segmented).stdout.splitlines():
        change = from_line(line)
        state[change.key] = change.value

    with lsm.open(segmented, "r") as db:
        assert {key: value for key, value in state.items() if value is not None} == dict(db)


# Shipping


def test_what_is_shipped_can_be_applied(command, segmented, tmp_path):
    copy = tmp_path / "copy"
    with lsm.open(segmented, "w") as db:
        db[b"new"] = b"1"
        ship_into(command, segmented, copy)
        db[b"new"] = b"2"
        ship_into(command, segmented, copy, "--since", "17")

    assert same(segmented, copy)


def ship_into(command, source, copy, *options):
    shipping = command("log", "ship", source, *options)
    applying = command("log", "apply", copy, stdin=shipping.stdout)
    shipping.stdout.close()  # so that the first hears when the second is gone
    assert finish(applying)[0] == 0
    assert shipping.wait(timeout=30) == 0
    shipping.stderr.close()


def same(source, copy):
    with lsm.open(source, "r") as one, lsm.open(copy, "r") as other:
        return dict(one) == dict(other) and one.seq == other.seq and one.log.store_id == other.log.store_id


def test_shipping_follows_and_ends_with_its_reader(command, segmented, tmp_path):
    with lsm.open(segmented, "w") as db:
        shipping = command("log", "ship", segmented, "--follow")
        applying = command("log", "apply", tmp_path / "copy", stdin=shipping.stdout)
        shipping.stdout.close()
        db[b"new"] = b"1"
        wait_for(lambda: position(tmp_path / "copy") == db.seq)

        applying.kill()
        applying.communicate()
        with shipping.stderr as errors:
            assert errors.read() == b""
        assert shipping.wait(timeout=30) == 141
    assert same(segmented, tmp_path / "copy")


def position(path):
    try:
        with lsm.open(path, "r") as db:
            return db.seq
    except (lsm.Error, OSError):
        return None


def wait_for(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)


def test_bytes_are_kept_from_a_terminal(command, segmented):
    code, seen = on_a_terminal(command, "log", "ship", segmented)

    assert code == 2
    assert b"for a pipe or a file" in seen


@pytest.mark.parametrize("garbage", [b"", b"nonsense", b"\x00" * 1000])
def test_a_stream_of_something_else_is_refused(run, tmp_path, garbage):
    result = run("log", "apply", tmp_path / "copy", input=garbage)

    assert result.exit_code == 3
    assert result.stderr.startswith("lsm: ")


def test_a_stream_of_another_store_is_refused(command, run, segmented, tmp_path):
    with lsm.open(tmp_path / "other") as db:
        db[b"k"] = b"v"
    ship_into(command, segmented, tmp_path / "copy")
    _, stream, _ = finish(command("log", "ship", tmp_path / "other"))

    result = run("log", "apply", tmp_path / "copy", input=stream)

    assert result.exit_code == 3
    assert same(segmented, tmp_path / "copy")


def test_a_copy_takes_writes_once_it_is_promoted(command, run, segmented, tmp_path):
    copy = tmp_path / "copy"
    ship_into(command, segmented, copy)
    assert run("put", copy, "k", "v").exit_code == 3

    refused = run("log", "promote", copy)
    promoted = run("log", "promote", copy, "--yes", "--json")

    assert refused.exit_code == 2
    assert refused.stderr == "lsm: promoting needs --yes where nobody can be asked\n"
    assert (promoted.exit_code, json.loads(promoted.stdout)) == (0, {"path": str(copy), "seq": 16})
    assert run("put", copy, "k", "v").exit_code == 0
    assert json.loads(run("log", "info", "--json", copy).stdout)["epoch"] == 2
    with lsm.open(segmented, "w") as db:
        db[b"after"] = b"the promotion"
    _, stream, _ = finish(command("log", "ship", segmented, "--since", "16"))
    assert run("log", "apply", copy, input=stream).exit_code == 3
    assert run("log", "promote", copy, "--yes").exit_code == 3
    assert run("log", "promote", tmp_path / "none", "--yes").exit_code == 3


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_stream_that_is_cut_is_an_error_and_can_be_sent_again(command, run, segmented, tmp_path, kept):
    _, stream, _ = finish(command("log", "ship", segmented))

    cut = run("log", "apply", tmp_path / "copy", input=stream[: int(len(stream) * kept)])
    again = run("log", "apply", tmp_path / "copy", input=stream)

    assert (cut.exit_code, again.exit_code) == (3, 0)
    assert same(segmented, tmp_path / "copy")


# Consumers


@pytest.fixture
def consumed(segmented):
    """Return a store whose log has two consumers."""
    with lsm.open(segmented, "w") as db:
        with db.consumer("billing") as billing:
            billing.poll(10)
            billing.commit()
        with db.consumer("audit", start="latest", pin=False):
            pass
    return segmented


def test_consumers_are_listed_with_their_lag(run, consumed):
    result = run("consumers", consumed)
    lines = run("consumers", "--json", consumed).stdout.splitlines()
    listed = {one["name"]: one for one in map(json.loads, lines)}

    assert result.exit_code == 0
    assert "billing" in result.stdout and "audit" in result.stdout
    assert listed["billing"]["position"] == 10
    assert listed["billing"]["lag"] > 0
    assert (listed["billing"]["is_pinned"], listed["audit"]["is_pinned"]) == (True, False)


def test_a_consumer_is_dropped_only_when_confirmed(run, consumed):
    refused = run("consumers", "--drop", "billing", consumed)
    dropped = run("consumers", "--drop", "billing", "--yes", consumed)

    assert (refused.exit_code, refused.stderr) == (2, "lsm: --drop needs --yes where nobody can be asked\n")
    assert (dropped.exit_code, dropped.stdout) == (0, "consumer billing dropped\n")
    left = [json.loads(line)["name"] for line in run("consumers", "--json", consumed).stdout.splitlines()]
    assert left == ["audit"]
    assert run("consumers", "--drop", "nobody", "--yes", consumed).exit_code == 3


def test_a_consumer_is_dropped_beside_a_writer(run, consumed):
    with lsm.open(consumed, "w") as db:
        assert run("consumers", "--drop", "billing", "--yes", "--json", consumed).exit_code == 0

        assert [one.name for one in db.consumers()] == ["audit"]
