"""What docs/wal.md shows is what happens."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wal

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "wal.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize(("code", "output"), EXAMPLE.findall(PAGE))
def test_an_example_prints_what_the_page_says(code, output, tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (run.stdout, run.stderr) == (output, "")


def test_the_page_has_an_example():
    assert len(EXAMPLE.findall(PAGE)) == 1


def test_the_page_names_every_method_parameter_and_error():
    names = [name for name in vars(wal.Log) if not name.startswith("_")]
    names += list(inspect.signature(wal.Log.open).parameters)
    names += list(inspect.signature(wal.Log.read).parameters)[1:]
    inner = {"SegmentDamaged"}  # comes out of a log as LogDamaged
    names += {name for name, error in vars(wal.errors).items() if isinstance(error, type)} - inner

    missing = [name for name in names if not re.search(rf"\b{name}\b", PAGE)]

    assert not missing
