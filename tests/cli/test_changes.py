"""`lsm changes`: which changes, in which form, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

import lsm
from lsm.cdc import from_line
from lsm.filenames import segment_name
from tests.lsm.connect_schema import check_against, check_payload, check_schema


@pytest.fixture
def history(tmp_path):
    """Return a store whose log has a batch over two keyspaces, an update and a deletion."""
    path = tmp_path / "shop"
    with lsm.open(path, log_retention="all") as db:
        db.keyspace("orders")
        db[b"apple"] = b"red"
        with db.batch() as batch:
            batch.put(b"apple", b"green")
            batch.put(b"1001", b"apple", keyspace="orders")
            batch.put(b"\xff", b"\x00\xfe")
        del db[b"apple"]
    return path


def seqs(result):
    assert result.exit_code == 0, result.stderr
    return [json.loads(line)["seq"] for line in result.stdout.splitlines()]


def events(result):
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_change_is_a_line_that_can_be_read_back(run, history):
    result = run("changes", history)

    with lsm.open(history, "r") as db:
        expected = list(db.changes())
    assert [from_line(line) for line in result.stdout.splitlines()] == expected
    assert [(change.seq, change.kind) for change in expected] == [
        (1, "put"),
        (2, "put"),
        (3, "put"),
        (4, "put"),
        (5, "delete"),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--since", "0"], [1, 2, 3, 4, 5]),
        (["--since", "earliest"], [1, 2, 3, 4, 5]),
        (["--since", "latest"], []),
        (["--since", "3"], [4, 5]),
        (["--since", "5"], []),
        (["--since", "1", "--until", "4"], [2, 3, 4]),
        (["--until", "0"], []),
        (["--limit", "2"], [1, 2]),
        (["--limit", "0"], []),
        (["--limit", "2", "--since", "3", "--follow"], [4, 5]),
        (["-k", "orders"], [3]),
        (["--keyspace", "default", "--since", "2"], [4, 5]),
        (["--since", "1999-12-31T23:59:59Z"], [1, 2, 3, 4, 5]),
        (["--since", "2999-12-31T23:59:59+01:00"], []),
        (["--follow", "--timeout", "0.05"], [1, 2, 3, 4, 5]),
        (["--compacted"], [3, 4, 5]),
    ],
)
def test_changes_are_selected(run, history, options, expected):
    assert seqs(run("changes", history, *options)) == expected


def test_a_time_selects_what_was_committed_at_or_after_it(run, tmp_path):
    with lsm.open(tmp_path / "s") as db:
        db[b"a"] = b""
        time.sleep(0.002)
        middle = datetime.now(UTC)
        db[b"b"] = b""

    assert seqs(run("changes", tmp_path / "s", "--since", middle.isoformat())) == [2]


def test_the_previous_value_is_told_on_request(run, history):
    told = {event["seq"]: event["before"] for event in events(run("changes", history, "--before"))}

    assert told == {1: None, 2: "red", 3: None, 4: None, 5: "green"}
    assert all("before" not in event for event in events(run("changes", history)))


def test_a_snapshot_comes_first_and_what_follows_after_it(run, history):
    found = events(run("changes", history, "--snapshot"))

    assert [(event["kind"], event["seq"], event["keyspace"]) for event in found] == [
        ("read", 5, "default"),
        ("read", 5, "orders"),
    ]
    assert events(run("changes", history, "--snapshot", "-k", "orders")) != found


def test_a_snapshot_and_what_follows_is_the_store(command, history):
    with lsm.open(history, "w") as db:
        process = command("changes", history, "--snapshot", "--follow")
        assert json.loads(process.stdout.readline())["kind"] == "read"
        assert json.loads(process.stdout.readline())["kind"] == "read"
        db[b"late"] = b"1"
        assert json.loads(process.stdout.readline())["seq"] == 6
        stop(process)


# Debezium


def test_events_are_of_the_published_schema(run, history):
    found = events(run("changes", history, "--format", "debezium", "--schema", "--before"))

    for event in found:
        check_schema(event["schema"])
        check_payload(event["payload"])
        check_against(event["schema"], event["payload"])
    assert [event["payload"]["op"] for event in found] == ["c", "u", "c", "c", "d"]
    assert [event["payload"]["transaction"]["total_order"] for event in found] == [1, 1, 2, 3, 1]
    assert [event["payload"]["transaction"]["data_collection_order"] for event in found] == [1, 1, 1, 2, 1]


def test_without_the_previous_value_every_put_is_a_create(run, history):
    found = events(run("changes", history, "--format", "debezium"))

    assert [event["op"] for event in found] == ["c", "c", "c", "c", "d"]
    for event in found:
        check_payload(event)


def test_a_snapshot_is_made_of_reads(run, history):
    found = events(run("changes", history, "--format", "debezium", "--snapshot"))

    assert [(event["op"], event["source"]["snapshot"]) for event in found] == [("r", "true"), ("r", "last")]
    for event in found:
        check_payload(event)


@pytest.mark.parametrize(("options", "order"), [([], 2), (["-k", "default"], 2)])
def test_places_in_a_batch_are_right_when_reading_begins_in_the_middle(run, history, options, order):
    first = events(run("changes", history, "--format", "debezium", "--since", "3", *options))[0]

    assert first["transaction"] == {"id": first["transaction"]["id"], "total_order": 3} | {
        "data_collection_order": order
    }


def test_a_compacted_log_has_no_transactions(run, history):
    found = events(run("changes", history, "--format", "debezium", "--compacted"))

    assert [event["transaction"] for event in found] == [None, None, None]
    for event in found:
        check_payload(event)


def test_the_source_names_the_store_and_its_log(run, history):
    options = ["--format", "debezium", "--limit", "1"]
    source = events(run("changes", history, *options))[0]["source"]

    with lsm.open(history, "r") as db:
        log = db.log
    assert (source["store_id"], source["epoch"]) == (log.store_id, log.epoch)
    assert (source["name"], source["db"], source["table"]) == ("shop", "shop", "default")
    named = events(run("changes", history, *options, "--name", "prod"))[0]["source"]
    assert (named["name"], named["db"]) == ("prod", "shop")


def test_keys_and_tombstones(run, history):
    found = events(run("changes", history, "--format", "debezium", "--keys", "--tombstones"))

    assert [event["value"] and event["value"]["op"] for event in found] == ["c", "c", "c", "c", "d", None]
    assert found[-1]["key"] == found[-2]["key"] == {"key": "YXBwbGU="}


def test_text_is_refused_for_bytes_that_are_none(run, history):
    result = run("changes", history, "--format", "debezium", "--text")

    assert result.exit_code == 2
    assert len(result.stdout.splitlines()) == 3
    assert "sequence number 4 is not UTF-8" in result.stderr


# What is refused


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--format", "xml"], "xml"),
        (["--since", "yesterday"], "--since"),
        (["--since", "-1"], "--since"),
        (["--since", "2026-01-31T12:00"], "time zone"),
        (["--until", "x"], "--until"),
        (["--schema"], "--format debezium"),
        (["--name", "x"], "--format debezium"),
        (["--format", "debezium", "--tombstones"], "--keys"),
        (["--snapshot", "--since", "1"], "--snapshot"),
        (["--snapshot", "--compacted"], "--snapshot"),
        (["--limit", "-1"], "--limit"),
        (["--timeout", "-1", "--follow"], "--timeout"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what(run, history, options, word):
    result = run("changes", history, *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert word in result.stderr


def test_an_offset_in_the_future_names_the_range(run, history):
    result = run("changes", history, "--since", "99")

    assert (result.exit_code, result.stdout) == (3, "")
    assert "99" in result.stderr
    assert "[1, 5]" in result.stderr


def test_an_offset_in_the_past_names_the_range_and_the_way_out(run, tmp_path):
    path = trimmed(tmp_path / "s")
    with lsm.open(path, "r") as db:
        log = db.log
    assert log.earliest > 1

    result = run("changes", path, "--since", "0")

    assert (result.exit_code, result.stdout) == (3, "")
    assert f"[{log.earliest}, {log.latest}]" in result.stderr
    assert "--since earliest" in result.stderr
    assert seqs(run("changes", path))[0] == log.earliest


def trimmed(path):
    """Return a store whose log no longer begins at its beginning."""
    with lsm.open(path, log_retention_bytes=0, log_retention_seconds=0) as db:
        for number in range(3):
            db[b"%d" % number] = b"x"
            db.flush()
        db[b"last"] = b"x"
    return path


def test_no_store_no_keyspace(run, history, tmp_path):
    missing = run("changes", tmp_path / "none")

    assert (missing.exit_code, missing.stdout) == (3, "")
    assert "no store at" in missing.stderr
    assert not (tmp_path / "none").exists()
    assert run("changes", history, "-k", "none").exit_code == 3


def test_a_damaged_segment_is_named_with_what_can_still_be_read(run, tmp_path):
    path = tmp_path / "s"
    with lsm.open(path, log_retention="all") as db:
        for part in range(3):
            for number in range(10):
                db[b"%d" % number] = b"%d" % part
            db.flush()
        segments = db.log.segments
    damaged, following = segments[1], segments[2]
    file = path / segment_name(damaged.number)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.chmod(0o600)
    file.write_bytes(data)

    result = run("changes", path)

    assert result.exit_code == 3
    readable = [json.loads(line)["seq"] for line in result.stdout.splitlines()]
    assert readable == list(range(1, len(readable) + 1))
    assert damaged.first_seq <= len(readable) + 1 <= damaged.last_seq
    assert f"{file}, byte " in result.stderr
    assert f"up to {len(readable)} " in result.stderr
    assert str(following.first_seq) in result.stderr
    rest = run("changes", path, "--since", following.first_seq - 1)
    assert seqs(rest) == list(range(following.first_seq, segments[-1].first_seq))


def test_lines_cannot_command_a_terminal(run, store):
    assert b"\x1b" not in run("changes", store).stdout_bytes
    assert b"\x1b" not in run("changes", store, "--format", "debezium").stdout_bytes


def test_reading_changes_no_file(run, history):
    def state():
        return {file.name: (file.stat().st_mtime_ns, file.stat().st_size) for file in history.iterdir()}

    before = state()
    for options in ([], ["--compacted"], ["--before"], ["--follow", "--timeout", "0.01"], ["--snapshot"]):
        assert run("changes", history, *options).exit_code == 0

    assert state() == before


# Following, as a process


def stop(process, number=signal.SIGINT):
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_follow_shows_each_change_when_it_comes_and_ends_on_ctrl_c(command, history):
    process = command("changes", history, "--since", "5", "--follow")
    with lsm.open(history, "w") as db:
        for seq in (6, 7, 8):
            db[b"k"] = b"%d" % seq
            assert json.loads(process.stdout.readline())["seq"] == seq

        assert stop(process) == (130, b"", b"lsm: interrupted\n")


@pytest.mark.parametrize("is_quiet", [True, False])
def test_follow_ends_when_its_reader_goes_away(command, history, is_quiet):
    process = command("changes", history, "--follow")
    assert json.loads(process.stdout.readline())["seq"] == 1
    process.stdout.close()
    if not is_quiet:
        with lsm.open(history, "w") as db:
            db[b"k"] = b"v"

    with process.stderr as errors:
        assert errors.read() == b""
    assert process.wait(timeout=30) == 141


def test_follow_survives_that_its_writer_is_killed_and_another_goes_on(command, tmp_path):
    path = tmp_path / "s"
    with lsm.open(path, log_retention="all"):
        pass
    process = command("changes", path, "--follow", "--since", "0")
    acknowledged = 0
    seen = []
    for _ in range(3):
        acknowledged = write_and_get_killed(path, acknowledged)
        while len(seen) < acknowledged:
            seen.append(from_line(process.stdout.readline()))
    with lsm.open(path, "w") as db:
        # The killed writer may have written one more than it could say.
        latest = db.put(b"end", b"") or db.seq
        while not seen or seen[-1].seq < latest:
            seen.append(from_line(process.stdout.readline()))

        code, out, err = stop(process)

        assert (code, out, err) == (130, b"", b"lsm: interrupted\n")
        assert seen == list(db.changes())
    assert [change.seq for change in seen] == list(range(1, latest + 1))


WRITER = """
import os, sys, lsm
with lsm.open(sys.argv[1], "w") as db:
    number = int(sys.argv[2])
    while True:
        number += 1
        db[b"key-%d" % (number % 50)] = b"%d" % number
        os.write(1, b"%d\\n" % db.seq)
"""


def write_and_get_killed(path: Path, number: int) -> int:
    """Let a process write until it has acknowledged a hundred more, kill it, return its last number."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(number)],
        env=os.environ | {"PYTHONPATH": str(Path(lsm.__file__).parent.parent)},
        stdout=subprocess.PIPE,
    )
    with writer:
        for _ in range(100):
            number = int(writer.stdout.readline())
        writer.kill()
        rest = writer.stdout.read().split(b"\n")[:-1]
    return int(rest[-1]) if rest else number
