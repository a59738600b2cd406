"""`lsm put` and `lsm delete`."""

import json

import pytest

import lsm
from lsm.cli import writing


def pairs_of(path, keyspace=None):
    with lsm.open(path, "r") as db:
        return dict((db if keyspace is None else db.keyspace(keyspace)).items())


def test_put_makes_the_store_and_says_nothing(run, tmp_path):
    result = run("put", tmp_path / "new", "k", "v")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert pairs_of(tmp_path / "new") == {b"k": b"v"}


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("é", "ü", ("é".encode(), "ü".encode())),
        (r"\x00", "hex:ff", (b"\x00", b"\xff")),
        ("base64:AP8=", r"a\tb", (b"\x00\xff", b"a\tb")),
        ("", "", (b"", b"")),
        (r"\x2d", "-x", (b"-", b"-x")),
    ],
)
def test_put_understands_text_and_codes(run, tmp_path, key, value, stored):
    assert run("put", tmp_path / "s", "--", key, value).exit_code == 0

    assert pairs_of(tmp_path / "s") == {stored[0]: stored[1]}


def test_bytes_of_the_shell_that_are_no_utf_8_arrive_as_they_are(run, tmp_path):
    run("put", tmp_path / "s", b"\xff".decode("utf-8", "surrogateescape"), "v")

    assert pairs_of(tmp_path / "s") == {b"\xff": b"v"}


def test_a_value_from_standard_input_is_not_changed(run, tmp_path):
    value = bytes(range(256)) + b"\\x41 hex:\r\n"

    run("put", tmp_path / "s", "k", "-", input=value)

    assert pairs_of(tmp_path / "s") == {b"k": value}
    assert run("get", "--raw", tmp_path / "s", "k").stdout_bytes == value


def test_pairs_from_standard_input(run, tmp_path):
    lines = b"a\t1\n\\x00\thex:ff\nb\twith\ttab\n\t\nlast\tline"

    result = run("put", tmp_path / "s", "-", "--json", input=lines)

    assert (result.exit_code, json.loads(result.stdout)) == (0, {"put": 5})
    assert pairs_of(tmp_path / "s") == {
        b"a": b"1",
        b"\x00": b"\xff",
        b"b": b"with\ttab",
        b"": b"",
        b"last": b"line",
    }


def test_pairs_are_written_in_several_batches(run, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_BATCH_ENTRIES_MAX", 10)
    lines = "".join(f"key{number:03}\tvalue\n" for number in range(95))

    assert run("put", tmp_path / "s", "-", input=lines).exit_code == 0

    assert len(pairs_of(tmp_path / "s")) == 95


def test_large_lines_fill_a_batch_by_their_bytes(run, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_BATCH_BYTES_MAX", 100)
    sizes = []
    commit = lsm.WriteBatch.commit
    monkeypatch.setattr(lsm.WriteBatch, "commit", lambda batch: sizes.append(len(batch)) or commit(batch))

    run("put", tmp_path / "s", "-", input="".join(f"{number}\t{'v' * 60}\n" for number in range(6)))

    assert [size for size in sizes if size] == [2, 2, 2]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("no tab", "no tab between key and value"),
        ("k\t\\q", r"\q is no escape"),
        (f"{'k' * 65537}\tv", "64 KiB"),
    ],
)
def test_a_bad_line_is_named_and_what_was_written_before_is_counted(run, tmp_path, monkeypatch, line, what):
    monkeypatch.setattr(writing, "_BATCH_ENTRIES_MAX", 2)

    result = run("put", tmp_path / "s", "-", input=f"a\t1\nb\t2\nc\t3\n{line}\n")

    assert result.exit_code == 2
    assert "2 lines of standard input had been written\nlsm: line 4 of standard input: " in result.stderr
    assert what in result.stderr
    assert pairs_of(tmp_path / "s") == {b"a": b"1", b"b": b"2"}


def test_put_without_a_value_or_with_too_many_inputs_is_wrong_usage(run, tmp_path):
    assert run("put", tmp_path / "s", "k").exit_code == 2
    assert run("put", tmp_path / "s", "-", "v").exit_code == 2
    assert run("put", tmp_path / "s", r"\q", "v").stderr.startswith(r"lsm: KEY: \q is no escape")
    assert run("put", tmp_path / "s", "k", "hex:0").stderr.startswith("lsm: VALUE: not hexadecimal")
    assert not (tmp_path / "s").exists()


def test_delete(run, store):
    assert run("delete", store, "a").exit_code == 0
    assert run("delete", store, "not there").exit_code == 0

    assert b"a" not in pairs_of(store)


def test_delete_reads_keys_from_standard_input(run, store):
    result = run("delete", store, "-", "--json", input=run("scan", "--keys-only", store).stdout)

    assert (result.exit_code, json.loads(result.stdout)) == (0, {"deleted": 5})
    assert pairs_of(store) == {}


def test_delete_makes_neither_store_nor_keyspace(run, store, tmp_path):
    assert run("delete", tmp_path / "none", "k").exit_code == 3
    assert run("delete", "-k", "none", store, "k").exit_code == 3

    assert not (tmp_path / "none").exists()
    with lsm.open(store, "r") as db:
        assert db.keyspaces() == ["default"]


def test_options_are_kept_with_the_store(run, tmp_path):
    options = [
        *("-o", "memory_limit=64MiB"),
        *("-o", "bloom_bits_per_key=12.5"),
        *("-o", "mmap=off"),
        *("-o", "sync=os"),
    ]

    assert run("put", *options, tmp_path / "s", "k", "v").exit_code == 0

    with lsm.open(tmp_path / "s", "r") as db:
        kept = db.options
    assert (kept.memory_limit, kept.bloom_bits_per_key, kept.mmap, kept.sync) == (64 << 20, 12.5, False, "os")


@pytest.mark.parametrize(
    "option", ["sync", "=1", "nonsense=1", "sync=never", "level_ratio=x", "mmap=perhaps", "memory_limit=6x"]
)
def test_a_bad_option_is_wrong_usage_and_makes_nothing(run, tmp_path, option):
    result = run("put", "-o", option, tmp_path / "s", "k", "v")

    assert result.exit_code == 2
    assert result.stderr.startswith("lsm: ")
    assert not (tmp_path / "s").exists()
