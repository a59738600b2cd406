"""Tasks of a load that fail or are killed in the middle, and are tried again: every row is there once."""

import os
import subprocess
import sys

import lsm
from tests.spark.conftest import ROOT

SCRIPT = """
import os, signal, sys
import lsm.spark
from pyspark import TaskContext

path = sys.argv[1]
spark = lsm.spark.session(**{"spark.master": "local[2,4]"}, ui_enabled=False)

def once_broken(rows):
    for row in rows:
        yield row
    task = TaskContext.get()
    if task.attemptNumber() == 0:
        # Its rows were handed on already; one task fails, the other loses its process.
        if task.partitionId() == 0:
            raise RuntimeError("this attempt fails")
        os.kill(os.getpid(), signal.SIGKILL)

rows = spark.sparkContext.parallelize(range(3000), 2).map(lambda number: (b"k%06d" % number, b"v"))
frame = spark.createDataFrame(rows.mapPartitions(once_broken), "key binary, value binary")
frame.write.format("lsm").mode("append").option("targetFileSize", "32KiB").save(path)
"""


def test_attempts_that_fail_or_die_add_nothing(tmp_path):
    path = tmp_path / "db"
    lsm.open(path).close()

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    assert "this attempt fails" in done.stderr, "the first attempt was broken"
    with lsm.open(path) as db:
        assert dict(db) == {b"k%06d" % number: b"v" for number in range(3000)}
        assert db.seq == 3000
        assert [change.key for change in db.changes()] == [b"k%06d" % number for number in range(3000)]
    assert sorted(entry.name for entry in (path / "inbox").glob("*/*")) == []
