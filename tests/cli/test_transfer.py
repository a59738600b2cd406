"""`lsm export` and `lsm import`."""

import json
import os
import subprocess
import sys

import pytest

import lsm

KINDS = ["csv", "jsonl", "parquet", "arrow"]


@pytest.fixture(autouse=True)
def _arrow(request):
    if "kind" in request.fixturenames and request.getfixturevalue("kind") in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")


def contents(path, keyspace=None):
    with lsm.open(path, "r") as db:
        return dict(db if keyspace is None else db.keyspace(keyspace))


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_goes_out_and_comes_in(run, store, tmp_path, kind):
    file = tmp_path / f"out.{kind}"

    out = run("export", store, file)
    back = run("import", tmp_path / "new", file)

    assert (out.exit_code, out.stdout, back.exit_code, back.stdout) == (0, "", 0, "")
    assert out.stderr.startswith(f"5 rows exported to {file}, ")
    assert back.stderr.startswith(f"5 rows imported from {file} in ")
    assert contents(tmp_path / "new") == contents(store)


def test_ranges_keyspaces_and_figures(run, store, tmp_path):
    out = run("export", store, tmp_path / "out.csv", "--start", "b", "--stop", "c", "--json")
    assert json.loads(out.stdout)["rows"] == 2
    assert run("export", store, tmp_path / "b.csv", "--prefix", "ba").exit_code == 0

    back = run("import", store, tmp_path / "out.csv", "-k", "more", "--json")

    assert json.loads(back.stdout)["rows"] == 2
    assert contents(store, "more") == {b"b": b"2", b"ba": b"3"}
    assert (tmp_path / "b.csv").read_text() == "key,value\nba,3\n"
    assert run("export", store, tmp_path / "c.csv", "-k", "nope").exit_code == 3


def test_how_bytes_appear(run, store, tmp_path):
    auto, hexed, lines = tmp_path / "auto.csv", tmp_path / "hex.csv", tmp_path / "a.jsonl"
    run("export", store, auto)
    run("export", store, hexed, "--key-format", "hex", "--value-format", "base64")
    run("export", store, lines)

    assert auto.read_text() == "key,value\na,1\nb,2\nba,3\nc,4\nbase64:/xs=,base64:AP4=\n"
    assert hexed.read_text() == "key,value\n61,MQ==\n62,Mg==\n6261,Mw==\n63,NA==\nff1b,AP4=\n"
    assert lines.read_text().endswith('{"key":{"base64":"/xs="},"value":{"base64":"AP4="}}\n')
    text = run("export", store, tmp_path / "t.csv", "--key-format", "text")
    assert text.exit_code == 2
    assert text.stderr.startswith("lsm: the pair of key b'\\xff\\x1b': not UTF-8 text: b'\\xff\\x1b'; hex, ")


def test_an_existing_file_needs_force(run, store, tmp_path):
    file = tmp_path / "out.csv"
    file.write_text("mine")

    refused = run("export", store, file)
    assert (refused.exit_code, refused.stderr) == (2, f"lsm: {file} is there already; --force replaces it\n")
    assert file.read_text() == "mine"

    assert run("export", store, file, "--force").exit_code == 0
    assert file.read_text().startswith("key,value\n")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "store"]


def test_replacing_and_duplicates(run, store, tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("key,value\na,9\na,8\n")

    twice = run("import", store, file)
    assert twice.exit_code == 2
    assert twice.stderr.startswith("lsm: key b'a' comes twice in this load")

    assert run("import", store, file, "--duplicates", "last", "--replace").exit_code == 0
    assert contents(store) == {b"a": b"8"}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("in.csv", "id,value\n", "no column 'key'; there are 'id', 'value'"),
        ("in.csv", "key,value\na,1", "line 2: the last record has no line end: the file seems to be cut"),
        ("in.jsonl", '{"key":null,"value":""}\n', "line 1: 'key' is null"),
        ("in.txt", "", "the name must end in one of .parquet, .arrow, .csv, .jsonl, or a format be given"),
    ],
)
def test_bad_input_is_one_line_and_makes_nothing(run, tmp_path, name, data, message):
    (tmp_path / name).write_text(data)

    failed = run("import", tmp_path / "new", tmp_path / name)

    assert failed.exit_code == 2
    assert failed.stderr.count("\n") == 1
    assert message in failed.stderr


def test_a_file_that_cannot_be_opened_or_has_no_such_column_makes_no_store(run, tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n")
    assert run("import", tmp_path / "new", tmp_path / "in.csv").exit_code == 2
    assert run("import", tmp_path / "new", tmp_path / "none.csv").exit_code == 3
    assert run("export", tmp_path / "new", tmp_path / "out.csv").exit_code == 3
    assert os.listdir(tmp_path) == ["in.csv"]


def test_export_works_beside_a_writer_and_import_says_who_it_is(run, store, tmp_path):
    with lsm.open(store):
        assert run("export", store, tmp_path / "out.csv").exit_code == 0
        failed = run("import", store, tmp_path / "out.csv")
    assert failed.exit_code == 3
    assert "is open for writing by" in failed.stderr


def test_a_bar_is_drawn_on_a_terminal(store, tmp_path):
    code = (
        "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'lsm', 'export', *sys.argv[1:]]) >> 8)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(store), str(tmp_path / "out.csv")],
        env=os.environ | {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert b"exporting" in done.stdout
    assert b"5 rows exported to" in done.stdout
