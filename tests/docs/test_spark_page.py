"""What docs/spark.md shows is what happens: its blocks are run in their order, their output is compared."""

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="Spark is part of the dev extra")

from lsm.spark.feed.options import FEED
from lsm.spark.load.options import WRITE
from lsm.spark.options import KNOWN
from tests.docs.test_log_page import scripts

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
RUNNER = Path(__file__).with_name("spark_blocks.py")


def environment(tools: Path) -> dict[str, str]:
    tools.mkdir()
    tool = tools / "lsm"
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lsm "$@"\n')
    tool.chmod(0o700)
    return os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.mark.xdist_group("spark")
def test_the_blocks_of_the_page_do_what_it_says(tmp_path):
    blocks = list(scripts(PAGE))
    mark = f"end of block {secrets.token_hex(8)}"
    (tmp_path / "here").mkdir()

    done = subprocess.run(
        [sys.executable, str(RUNNER), mark],
        input=json.dumps([(language, text) for _, language, text, _ in blocks]),
        cwd=tmp_path / "here",
        env=environment(tmp_path / "tools"),
        capture_output=True,
        text=True,
        timeout=280,
    )

    outputs = done.stdout.split(f"{mark}\n")
    for (line, _, _, expected), output in zip(blocks, outputs, strict=False):
        if expected is not None:
            assert output == expected, f"docs/spark.md line {line} prints something else\n{done.stderr}"
    assert done.returncode == 0, f"block {len(outputs)} of docs/spark.md fails:\n{done.stderr}"
    assert len(outputs) == len(blocks) + 1


def test_the_page_names_every_option_and_no_other():
    named = set(re.findall(r"`([a-z]+[A-Za-z]*)`", "\n".join(re.findall(r"^\| (.+?) \|", PAGE, re.M))))
    known = {*KNOWN, *FEED, *WRITE} - {"paths"}

    assert not known - named
    others = {"append", "overwrite", "binary", "string", "long", "double", "json"}
    assert not {name for name in named - known - others if any(map(str.isupper, name))}
