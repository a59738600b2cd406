"""examples/orders_spark.py and the demo's part about Spark run, and would not hide a difference."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lsm
from lsm.cli.demo import spark as demo
from lsm.cli.demo.history import Lost
from lsm.cli.demo.plan import Plan
from lsm.cli.demo.stage import Stage
from tests.spark.conftest import ROOT

EXAMPLE = ROOT / "examples" / "orders_spark.py"


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_the_orders_of_both_stores_agree(tmp_path):
    done = run(EXAMPLE, "--orders", 2000, "--directory", tmp_path / "here", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "followed: 2,000 rows, the orders that were there\n" in done.stdout
    assert "followed: 250 rows, the changes since then\n" in done.stdout
    assert done.stdout.endswith("shop and copy agree: 1,950 and 1,950 orders\n")
    sums = re.findall(r"^\|\s+(\w\w)\|\s*(\d+)\|", done.stdout, re.M)
    assert dict(sums[:4]) == dict.fromkeys(("AT", "CH", "DE", "FR"), "500")
    assert sum(int(count) for _, count in sums[4:]) == 1950
    for name in ("shop.db", "copy.db"):
        assert lsm.verify(tmp_path / "here" / name).is_sound
    assert os.listdir(tmp_path) == ["here"], "nothing is left where it was started"


def test_the_command_prints_rows_errors_in_one_line_and_nothing_else(tmp_path):
    with lsm.open(tmp_path / "db") as db:
        db.update({b"apple": b"red", b"banana": b"yellow", b"cherry": b"red", b"t\tab": b"\xc3\xa4"})
        db.keyspace("odd-name")[b"x"] = b"1"
        command = ("-m", "lsm", "spark-sql", tmp_path / "db")
        counting = "SELECT value, count(*) AS n FROM kv GROUP BY value ORDER BY value"
        rows = run(*command, counting, cwd=tmp_path)
        query = "SELECT o.key, kv.value, NULL AS n FROM `odd-name` o CROSS JOIN kv WHERE kv.key LIKE 't%'"
        objects = run(*command, "--json", query, cwd=tmp_path)
        wrong = run(*command, "--value-format", "long", "SELECT * FROM kv", cwd=tmp_path)
        unknown = run(*command, "SELECT nope FROM kv", cwd=tmp_path)

    assert (rows.returncode, rows.stderr) == (0, "")
    assert rows.stdout == "value\tn\nred\t2\nyellow\t1\nä\t1\n"
    assert (objects.returncode, objects.stderr) == (0, "")
    assert objects.stdout == '{"key": "x", "value": "\\u00e4", "n": null}\n'
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("lsm: the value of key b'")
    assert wrong.stderr.count("\n") == 1
    assert unknown.returncode == 2
    assert re.fullmatch(r"lsm: \[UNRESOLVED_COLUMN.+\n", unknown.stderr)
    assert os.listdir(tmp_path) == ["db"]


def test_json_needs_a_schema_and_the_store_has_to_be_there(tmp_path):
    json = run("-m", "lsm", "spark-sql", tmp_path, "--value-format", "json", "SELECT 1", cwd=tmp_path)
    missing = run("-m", "lsm", "spark-sql", tmp_path / "no", "SELECT 1", cwd=tmp_path)

    assert (json.returncode, json.stderr.count("\n")) == (2, 1)
    assert "needs --schema" in json.stderr
    assert (missing.returncode, missing.stderr.startswith("lsm: no store at")) == (3, True)


@pytest.fixture
def plan(tmp_path, spark, monkeypatch):
    """A demo that has come to Spark, with the session of the tests."""
    plan = Plan(directory=tmp_path, seed=1, scale=0.01)
    with lsm.open(plan.store) as db:
        db.update({b"k%03d" % n: b"%d" % n for n in range(300)})
    monkeypatch.setattr(demo, "spark_session", lambda **confs: Borrowed(spark))
    return plan


class Borrowed:
    """A session that somebody else will stop."""

    def __init__(self, spark):
        self._spark = spark

    def __enter__(self):
        return self._spark

    def __exit__(self, *error):
        pass


def test_the_demo_reads_streams_and_loads(plan, capsys):
    demo.query_in_spark(plan, Stage())

    text = capsys.readouterr().out
    assert "batch: 300 pairs, 1,990 bytes: all that there are" in text
    assert "stream: 300 pairs went into a second store, exactly once; both hold the same" in text
    assert "load: 1,000 rows computed in Spark" in text
    assert lsm.verify(plan.in_spark).is_sound


def test_the_demo_would_tell_a_loss(plan, spark):
    with lsm.open(plan.store, "r") as db:
        pairs = dict(db)
    with pytest.raises(Lost, match="Spark sees 300 pairs"):
        demo._read(spark, Stage(), plan.store, pairs | {b"never": b"written"})
    with pytest.raises(Lost, match="in the store that Spark made"):
        demo._stream(spark, Stage(), plan, pairs | {b"never": b"written"})


def test_without_spark_the_demo_says_how_to_get_it(plan, capsys, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None)

    demo.query_in_spark(plan, Stage())

    assert "pip install 'lsmlog[spark]' brings it" in capsys.readouterr().out
    assert not Path(plan.in_spark).exists()
