"""Files of pairs: what goes out comes in again, in every kind and code, and half of a file never does."""

import csv
import io
import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.errors import StorageError
from lsm.transfer.codes import from_text, to_text
from lsm.transfer.csv_cells import cell, records
from lsm.transfer.options import CODES, KINDS, OF_PYARROW

ROOT = Path(__file__).resolve().parent.parent.parent
PAIRS = {
    b"": b"",
    b" blanks ": b" ",
    b"base64:x": b"base64:AP8=",
    b"comma,quote\"": b'"",\n\r\n',
    "grün".encode(): "übrig\u2028".encode(),
    b"hex:00": b"\\x00",
    b"\x00\xff": bytes(range(256)),
    b"\xff\x1b[31m": b"\r",
    b"large": b"\xfe" * 300_000,
}


@pytest.fixture
def db(tmp_path):
    with lsm.open(tmp_path / "db", background="manual") as db:
        db.update(PAIRS)
        db.keyspace("other").update({b"n%04d" % n: b"%d" % n for n in range(3000)})
        yield db


@pytest.fixture
def target(tmp_path):
    with lsm.open(tmp_path / "target", background="manual") as db:
        yield db


def arrow_or_skip(kind):
    return pytest.importorskip("pyarrow") if kind in OF_PYARROW else None


@pytest.fixture(params=KINDS)
def kind(request):
    arrow_or_skip(request.param)
    return request.param


class TestRoundTrip:
    @pytest.mark.parametrize("code", ["auto", "hex", "base64"])
    def test_arbitrary_bytes_come_back(self, db, target, tmp_path, kind, code):
        options = lsm.FileOptions(key_format=code, value_format=code)
        path = tmp_path / f"out.{kind}"

        done = lsm.export_store(db, path, options=options)
        found = lsm.import_file(target, path, options=options)

        assert dict(target) == PAIRS
        assert (done.rows, done.size_bytes) == (len(PAIRS), path.stat().st_size)
        assert (found.rows, found.last_seq) == (len(PAIRS), target.seq)

    def test_a_range_of_a_keyspace_or_a_snapshot(self, db, target, tmp_path, kind):
        with db.snapshot() as before:
            db.keyspace("other").delete(b"n0001")
            lsm.export_store(before.keyspace("other"), tmp_path / f"a.{kind}", b"n0001", b"n0003")
        lsm.export_store(db.keyspace("other"), tmp_path / f"b.{kind}", prefix=b"n000")

        lsm.import_file(target, tmp_path / f"a.{kind}")
        lsm.import_file(target, tmp_path / f"b.{kind}", keyspace="b")

        assert dict(target) == {b"n0001": b"1", b"n0002": b"2"}
        assert sorted(target.keyspace("b")) == [b"n%04d" % n for n in range(10) if n != 1]

    def test_an_empty_store(self, target, tmp_path, kind):
        path = tmp_path / f"out.{kind}"
        assert lsm.export_store(target, path).rows == 0
        assert lsm.import_file(target, path).rows == 0

    def test_the_kind_and_the_columns_can_be_named(self, db, target, tmp_path, kind):
        options = lsm.FileOptions(kind=kind, key_column="id", value_column="what")
        lsm.export_store(db, tmp_path / "out", options=options)
        with pytest.raises(lsm.MalformedFile, match=r"no (column )?'key'.* there are 'id', 'what'"):
            lsm.import_file(target, tmp_path / "out", options=lsm.FileOptions(kind=kind))

        lsm.import_file(target, tmp_path / "out", options=options)

        assert dict(target) == PAIRS

    def test_text_that_is_none_is_refused_and_the_key_named(self, db, tmp_path, kind):
        path = tmp_path / f"out.{kind}"
        options = lsm.FileOptions(key_format="hex", value_format="text")
        with pytest.raises(lsm.InvalidArgument, match=r"key b'\\x00\\xff': not UTF-8 text"):
            lsm.export_store(db, path, options=options)
        assert os.listdir(tmp_path) == ["db"]

    @given(pairs=st.dictionaries(st.binary(max_size=12), st.binary(max_size=20), max_size=8))
    def test_any_pairs_as_lines(self, pairs):
        code, back = to_text("auto"), from_text("auto")
        out = b"".join(b"%b,%b\n" % (cell(code(key)), cell(code(value))) for key, value in pairs.items())

        found = {back(key): back(value) for _, (key, value) in records(io.BytesIO(out))}
        theirs = list(csv.reader(io.StringIO(out.decode(), newline=""), strict=True))

        assert found == pairs
        assert [[code(key).decode(), code(value).decode()] for key, value in pairs.items()] == theirs


class TestOtherPrograms:
    def test_csv_and_jsonl_look_as_documented(self, db, tmp_path):
        lsm.export_store(db, tmp_path / "a.csv", b" ", b"c")
        lsm.export_store(db, tmp_path / "a.jsonl", stop=b"c")

        assert (tmp_path / "a.csv").read_bytes() == (
            b'key,value\n" blanks "," "\nbase64:YmFzZTY0Ong=,base64:YmFzZTY0OkFQOD0=\n'
        )
        lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
        assert lines[-1] == {"key": "base64:x", "value": "base64:AP8="}

    def test_foreign_columns_orders_and_line_ends(self, target, tmp_path):
        path = tmp_path / "in.csv"
        path.write_bytes(b'\xef\xbb\xbfvalue,more,key\r\n1,x,b\r\n"2\r\n",,"a ""q"""\r\n\r\n')

        lsm.import_file(target, path)

        assert dict(target) == {b"b": b"1", b'a "q"': b"2\r\n"}

    def test_what_scan_prints_as_json_can_be_imported(self, db, target, tmp_path):
        path = tmp_path / "in.jsonl"
        command = [sys.executable, "-m", "lsm", "scan", "--json", str(tmp_path / "db")]
        path.write_bytes(subprocess.check_output(command, env=os.environ | {"PYTHONPATH": str(ROOT)}))

        lsm.import_file(target, path)

        assert dict(target) == PAIRS

    @pytest.mark.parametrize("type_name", ["string", "large_binary", "large_string", "dictionary", "view"])
    def test_columns_of_other_types_of_bytes_or_text(self, target, tmp_path, type_name):
        pa = pytest.importorskip("pyarrow")
        plain = pa.array(["a", "b"], pa.string())
        column = {
            "dictionary": lambda: plain.dictionary_encode(),
            "view": lambda: plain.cast(pa.string_view()),
        }.get(type_name, lambda: plain.cast(getattr(pa, type_name)()))()
        write_table(pa.table({"key": column, "value": column}), tmp_path / "in.arrow")

        lsm.import_file(target, tmp_path / "in.arrow")

        assert dict(target) == {b"a": b"a", b"b": b"b"}

    def test_parquet_is_read_by_others_in_bounded_row_groups(self, db, tmp_path, seed):
        pq = pytest.importorskip("pyarrow.parquet")
        db.update({b"%03d" % n: Random(seed + n).randbytes(1_000_000) for n in range(40)})
        db.compact()
        lsm.export_store(db, tmp_path / "out.parquet", b"0", b"1")

        found = pq.ParquetFile(tmp_path / "out.parquet")

        assert found.num_row_groups >= 2
        table = found.read()
        found.close()
        assert list(zip(*table.to_pydict().values(), strict=True)) == list(db.scan(b"0", b"1"))


BAD_LINES = [
    ("csv", b"", "no column 'key'; there are none"),
    ("csv", b"a;b\n1;2\n", "no column 'key'; there are 'a;b'"),
    ("csv", b"key,key,value\n", "two columns 'key'"),
    ("csv", b"key,value\na,1\nb\n", "line 3: 1 cells where the header has 2"),
    ("csv", b"key,value\na,1\n,2\n", 'line 3: the key is missing; an empty one is ""'),
    ("csv", b'key,value\na,"1\nb,2\n', "line 2: the last record ends inside quotes: the file seems"),
    ("csv", b"key,value\na,1\nb,2", "line 3: the last record has no line end: the file seems"),
    ("csv", b'key,value\na,"1"2\n', "line 2: something stands between a closing quote and the next comma"),
    ("csv", b'key,value\na,x"1"\n', "line 2: a quote inside a cell"),
    ("csv", b"key,value\na,\xff\n", "line 2: not UTF-8 text"),
    ("csv", b"key,value\na,base64:!\n", "line 2: not base64"),
    ("csv", b"key,value\na,1\n" + b"k" * 70_000 + b",1\n", "line 3: a key of 70000 bytes"),
    ("jsonl", b'{"key":"a"}\n', "line 1: no 'value' in this object; there are 'key'"),
    ("jsonl", b'{"key":"a","value":"1"}\n\n{"key":null,"value":"1"}\n', "line 3: 'key' is null"),
    ("jsonl", b'{"key":"a","value":1}\n', "line 1: 'value': neither a string nor"),
    ("jsonl", b'{"key":"a","value":"1"}\n{"key":"b","val', "line 2: not JSON: .*; the file seems to be cut"),
    ("jsonl", b"[1]\n", "line 1: not an object"),
    ("jsonl", b"[" * 100_000 + b"\n", "line 1: not JSON"),
    ("jsonl", b'{"key":"\\ud800","value":"1"}\n', "line 1: 'key': .*surrogates not allowed"),
    ("parquet", b"PAR1 nothing", "no file of parquet, or half of one"),
    ("arrow", b"ARROW1 nothing", "no file of arrow, or half of one"),
]


class TestBadInput:
    @pytest.mark.parametrize(("kind", "data", "message"), BAD_LINES)
    def test_one_readable_line_and_nothing_is_loaded(self, target, tmp_path, kind, data, message):
        arrow_or_skip(kind)
        path = tmp_path / f"in.{kind}"
        path.write_bytes(data)
        target[b"kept"] = b"1"

        with pytest.raises(lsm.MalformedFile, match=message) as caught:
            lsm.import_file(target, path, replace=True)

        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
        assert dict(target) == {b"kept": b"1"}

    @pytest.mark.parametrize("kind", OF_PYARROW)
    def test_columns_that_are_missing_of_another_type_or_null(self, target, tmp_path, kind):
        pa = pytest.importorskip("pyarrow")
        for columns, message in (
            ({"key": [b"a"]}, "no column 'value'; there are 'key'"),
            ({"key": [1], "value": [b"1"]}, "column 'key' is of type int64; keys and values are"),
            ({"key": [b"a", None], "value": [b"1", b"2"]}, "'key' is null in row 2"),
            ({"key": [b"a", b"b"], "value": [b"1", None]}, "'value' is null in row 2"),
            ({"key": [b"a" * 70_000], "value": [b"1"]}, "a key of 70,000 bytes"),
        ):
            path = tmp_path / f"in.{kind}"
            write_table(pa.table(columns), path)

            with pytest.raises(lsm.InvalidArgument, match=message):
                lsm.import_file(target, path)
            assert not target

    @pytest.mark.parametrize("kind", OF_PYARROW)
    def test_a_file_cut_anywhere_or_with_a_flipped_byte_loads_nothing_wrong(self, db, tmp_path, kind):
        pytest.importorskip("pyarrow")
        whole = tmp_path / f"whole.{kind}"
        lsm.export_store(db.keyspace("other"), whole, stop=b"n0100")
        data = whole.read_bytes()
        expected = dict(db.keyspace("other").scan(stop=b"n0100"))
        part = tmp_path / f"part.{kind}"
        target = db.keyspace("in")
        for cut in range(0, len(data), 97):
            part.write_bytes(data[:cut])
            with pytest.raises(lsm.MalformedFile):
                lsm.import_file(db, part, keyspace="in")
        if kind == "parquet":  # its pages have checksums
            at = len(data) // 4
            part.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            with pytest.raises(lsm.MalformedFile):
                lsm.import_file(db, part, keyspace="in")
        assert not target
        lsm.import_file(db, whole, keyspace="in")
        assert dict(target) == expected

    def test_a_key_that_comes_twice(self, target, tmp_path, kind):
        path = tmp_path / "in.csv"
        path.write_bytes(b"key,value\na,1\na,2\n")
        with pytest.raises(lsm.InvalidArgument, match="key b'a' comes twice"):
            lsm.import_file(target, path)

        lsm.import_file(target, path, duplicates="last")

        assert dict(target) == {b"a": b"2"}

    def test_what_is_there_is_not_replaced_and_nothing_is_left(self, db, tmp_path, kind):
        path = tmp_path / f"out.{kind}"
        path.write_bytes(b"mine")
        with pytest.raises(lsm.FileExists) as caught:
            lsm.export_store(db, path)
        assert isinstance(caught.value, FileExistsError)
        assert path.read_bytes() == b"mine"

        lsm.export_store(db, path, options=lsm.FileOptions(overwrite=True))

        assert path.read_bytes() != b"mine"
        assert sorted(os.listdir(tmp_path)) == ["db", path.name]

    def test_what_comes_while_exporting_is_not_replaced(self, db, tmp_path):
        path = tmp_path / "out.csv"

        with pytest.raises(lsm.FileExists):
            lsm.export_store(db, path, progress=lambda done, total: path.write_bytes(b"mine"))

        assert path.read_bytes() == b"mine"
        assert sorted(os.listdir(tmp_path)) == ["db", "out.csv"]

    def test_an_interrupted_export_leaves_nothing(self, db, tmp_path, kind):
        def interrupt(done, total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            lsm.export_store(db, tmp_path / f"out.{kind}", progress=interrupt)

        assert os.listdir(tmp_path) == ["db"]

    def test_an_interrupted_import_loads_nothing(self, db, target, tmp_path, kind, seed):
        def interrupt(done, total):
            raise KeyboardInterrupt

        db.update({b"%03d" % n: Random(seed + n).randbytes(100_000) for n in range(10)})
        lsm.export_store(db, tmp_path / f"out.{kind}")
        with pytest.raises(KeyboardInterrupt):
            lsm.import_file(target, tmp_path / f"out.{kind}", progress=interrupt)

        assert not target

    def test_places_that_cannot_be(self, db, target, tmp_path):
        (tmp_path / "dir.csv").mkdir()
        os.mkfifo(tmp_path / "pipe.csv")
        replacing = lsm.FileOptions(overwrite=True)
        for call, error in (
            (lambda: lsm.export_store(db, tmp_path / "no" / "out.csv"), StorageError),
            (lambda: lsm.export_store(db, tmp_path / "dir.csv", options=replacing), lsm.InvalidArgument),
            (lambda: lsm.export_store(db, tmp_path / "out.txt"), lsm.InvalidArgument),
            (lambda: lsm.import_file(target, tmp_path / "no.csv"), StorageError),
            (lambda: lsm.import_file(target, tmp_path / "dir.csv"), lsm.InvalidArgument),
            (lambda: lsm.import_file(target, tmp_path / "pipe.csv"), lsm.InvalidArgument),
        ):
            with pytest.raises(error):
                call()

    def test_options_are_checked(self):
        for wrong in ({"kind": "xls"}, {"key_format": "utf8"}, {"value_format": ""}, {"key_column": "value"}):
            with pytest.raises(lsm.InvalidArgument):
                lsm.FileOptions(**wrong)
        assert CODES == ("auto", "text", "hex", "base64")


def write_table(table, path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pa.ipc.new_file(str(path), table.schema) as out:
        out.write_table(table)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_lines_pass_in_bounded_memory(tmp_path, kind):
    with lsm.open(tmp_path / "db", memory_limit="8MiB") as db:
        for start in range(64):
            db.update({b"%03d-%04d" % (start, n): b"v" * 1000 for n in range(1000)})
        db.compact()
        path = tmp_path / f"out.{kind}"
        tracemalloc.start()
        lsm.export_store(db, path)
        exporting = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert path.stat().st_size > 60_000_000
    assert exporting < 16_000_000


def test_csv_and_jsonl_need_no_pyarrow_and_others_name_the_extra(tmp_path):
    code = """
import sys
sys.modules["pyarrow"] = None
import lsm
with lsm.open("db") as db:
    db[b"a"] = b"1"
    lsm.export_store(db, "out.csv")
    lsm.import_file(db, "out.csv", keyspace="b")
    lsm.export_store(db.keyspace("b"), "out.jsonl")
    export, load = lambda: lsm.export_store(db, "out.parquet"), lambda: lsm.import_file(db, "in.arrow")
    for call in (export, load, db.to_arrow):
        try:
            call()
        except lsm.MissingExtra as error:
            print(error)
"""
    (tmp_path / "in.arrow").write_bytes(b"")
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("needs pyarrow: pip install 'lsmlog[arrow]'") == 3
    assert (tmp_path / "out.jsonl").read_text() == '{"key":"a","value":"1"}\n'
