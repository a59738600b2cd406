"""The page about amplification says what `make study` printed, and the study runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "amplification.md").read_text(encoding="utf-8")
KEPT = ROOT / "bench" / "results" / "study"
STUDY = ROOT / "examples" / "study" / "study.sh"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_the_page_quotes_was_printed_by_the_study():
    printed = {line.rstrip() for file in KEPT.glob("*.txt") for line in file.read_text("utf-8").splitlines()}
    quoted = [line for block in blocks("text") for line in block.splitlines() if line]

    assert len(quoted) > 50
    assert [line for line in quoted if line not in printed] == []


def test_the_commands_of_the_page_are_those_of_the_study():
    ran = [line.split() for line in (KEPT / "commands.txt").read_text("utf-8").splitlines()]
    shown = [shlex.split(line) for block in blocks("sh") for line in block.replace("\\\n", "").splitlines()]

    assert len(shown) >= 9
    assert [command for command in shown if command not in ran] == []


def test_the_pictures_of_the_page_are_there_and_need_nothing():
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", PAGE)

    assert len(pictures) >= 6
    for name in pictures:
        picture = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert picture.startswith(("<svg", "<?xml"))
        assert "<script" not in picture and "href=" not in picture


@pytest.mark.xdist_group("examples")
def test_a_small_study_runs_to_its_end(tmp_path):
    lsm = tmp_path / "lsm"
    lsm.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lsm "$@"\n', encoding="utf-8")
    lsm.chmod(0o755)
    out = tmp_path / "out"
    settings = {"LSM": str(lsm), "PYTHON": sys.executable, "OUT": str(out), "PERCENT": "2"}

    done = subprocess.run(
        [STUDY],
        env=os.environ | settings | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 runs" in (out / "report.txt").read_text(encoding="utf-8")
    assert (out / "report.html").stat().st_size > 100_000
    assert len(list((out / "charts").glob("*.svg"))) > 20
    names = [line.split()[:3] for line in (KEPT / "commands.txt").read_text("utf-8").splitlines()]
    assert [line.split()[:3] for line in (out / "commands.txt").read_text("utf-8").splitlines()] == names
