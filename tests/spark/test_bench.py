"""The bench of Spark from end to end, at a tiny scale."""

import json

from typer.testing import CliRunner

from bench.cli import app
from lsm.spark.measure import touched


def test_spark_prints_sheets_and_writes_a_result(spark, tmp_path):
    out = tmp_path / "result.json"
    sizes = [
        "--keys",
        "3000",
        "--value-bytes",
        "20",
        "--rocks-rows",
        "1000",
        "--repeats",
        "1",
        "--warm-ups",
        "1",
    ]

    result = CliRunner().invoke(app, ["spark", *sizes, "--directory", str(tmp_path), "--out", str(out)])

    assert result.exception is None, result.output
    assert "lsm compacted, key only" in result.output
    found = json.loads(out.read_text())
    assert set(found["ratios"]) == set(found["targets"])
    assert found["range_rows"] == 3


def test_a_small_range_reads_few_bytes(path, db):
    db.compact()
    whole, part = touched(str(path)), touched(str(path), startKey="k0100", endKey="k0102")

    assert whole.rows == len(db)
    assert part.rows == len(list(db.scan(b"k0100", b"k0102")))
    assert part.read_bytes < whole.read_bytes / 10
    assert whole.read_bytes <= whole.store_bytes
