"""`lsm get` and `lsm scan`."""

import json

import pytest

import lsm


def test_get_prints_the_value(run, store):
    result = run("get", store, "a")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "1\n", "")


def test_get_of_a_missing_key_says_so_and_exits_with_1(run, store):
    result = run("get", store, r"no\x1bpe")

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "lsm: no key no\\x1bpe\n"


def test_get_escapes_unless_raw(run, store):
    assert run("get", store, "hex:ff1b").stdout_bytes == b"\\x00\\xfe\n"
    assert run("get", "--raw", store, "hex:ff1b").stdout_bytes == b"\x00\xfe"


def test_get_as_json(run, store):
    assert json.loads(run("get", "--json", store, "a").stdout) == {"key": "a", "value": "1"}
    assert json.loads(run("get", "--json", store, r"\xff\x1b").stdout) == {
        "key": {"base64": "/xs="},
        "value": {"base64": "AP4="},
    }
    missing = run("get", "--json", store, "x")
    assert (missing.exit_code, json.loads(missing.stdout)) == (1, {"key": "x", "value": None})


def test_get_reads_keys_from_standard_input(run, store):
    result = run("get", store, "-", input="a\nnope\n\\xff\\x1b\nc")

    assert result.exit_code == 1
    assert result.stdout == "a\t1\n\\xff\\x1b\t\\x00\\xfe\nc\t4\n"
    assert result.stderr == "lsm: no key nope\nlsm: 1 key not found\n"


def test_get_of_lines_as_json_marks_what_is_missing(run, store):
    result = run("get", "--json", store, "-", input="a\nnope\n")

    assert result.exit_code == 1
    assert [json.loads(line)["value"] for line in result.stdout.splitlines()] == ["1", None]


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ([], ["a", "b", "ba", "c", r"\xff\x1b"]),
        (["--start", "b", "--stop", "c"], ["b", "ba"]),
        (["--prefix", "b"], ["b", "ba"]),
        (["--prefix", "b", "--start", "b\\x00"], ["ba"]),
        (["--reverse", "--limit", "2"], [r"\xff\x1b", "c"]),
        (["--limit", "0"], []),
        (["--start", "hex:ff"], [r"\xff\x1b"]),
    ],
)
def test_scan_selects(run, store, options, keys):
    assert run("scan", "--keys-only", *options, store).stdout.splitlines() == keys


def test_scan_prints_pairs_escaped_raw_or_as_json(run, store):
    last = ["scan", "--reverse", "--limit", "1", store]

    assert run(*last).stdout_bytes == b"\\xff\\x1b\t\\x00\\xfe\n"
    assert run(*last, "--raw").stdout_bytes == b"\xff\x1b\t\x00\xfe\n"
    assert json.loads(run(*last, "--json").stdout) == {"key": {"base64": "/xs="}, "value": {"base64": "AP4="}}
    assert json.loads(run(*last, "--json", "--keys-only").stdout) == {"key": {"base64": "/xs="}}


def test_what_scan_prints_put_reads(run, store, tmp_path):
    copy = tmp_path / "copy"

    assert run("put", copy, "-", input=run("scan", store).stdout).exit_code == 0

    with lsm.open(store, "r") as one, lsm.open(copy, "r") as other:
        assert list(one.scan()) == list(other.scan())


def test_raw_and_json_exclude_each_other(run, store):
    assert run("get", "--raw", "--json", store, "a").exit_code == 2
    assert run("scan", "--raw", "--json", store).exit_code == 2


def test_reading_a_keyspace(run, store):
    run("put", "--keyspace", "orders", store, "a", "in orders")

    assert run("get", "-k", "orders", store, "a").stdout == "in orders\n"
    assert run("scan", "-k", "orders", store).stdout == "a\tin orders\n"
    assert run("get", store, "a").stdout == "1\n"


def test_reading_makes_no_file(run, store):
    def state() -> dict[str, tuple[int, int]]:
        return {file.name: (file.stat().st_mtime_ns, file.stat().st_size) for file in store.iterdir()}

    before = state()

    for arguments in (
        ["get", store, "a"],
        ["scan", store],
        ["stats", store],
        ["verify", store],
        ["keyspaces", store],
    ):
        assert run(*arguments).exit_code == 0

    assert state() == before


@pytest.mark.parametrize("name", ["get", "scan", "stats", "verify", "keyspaces"])
def test_reading_never_makes_a_store(run, tmp_path, name):
    path = tmp_path / "none"

    result = run(name, path, *(["k"] if name == "get" else []))

    assert (result.exit_code, result.stderr) == (3, f"lsm: no store at {path}; `lsm put` makes one\n")
    assert not path.exists()
