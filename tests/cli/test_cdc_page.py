"""What docs/cdc.md shows is what happens: its commands are run, their output is compared."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lsm
from lsm.cdc import from_line
from tests.cli.test_changes import write_and_get_killed

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "cdc.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
# What differs from run to run: clocks, the identity of a store, the version.
PASSING = [
    (re.compile(r'("(?:time|ts_ms|ts_us|ts_ns)": ?)\d+'), r"\g<1>0"),
    (re.compile(r'("(?:store_id|version)": ?)"[^"]*"'), r'\g<1>""'),
]


def blocks():
    return [(match["language"], match["text"]) for match in BLOCK.finditer(PAGE)]


def lasting(text):
    for pattern, replacement in PASSING:
        text = pattern.sub(replacement, text)
    return text


@pytest.fixture
def shell(tmp_path):
    """Run a piece of the page in one directory, with this interpreter as `python` and as `lsm`."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, arguments in (("python", ""), ("lsm", "-m lsm ")):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}"$@"\n')
        tool.chmod(0o700)
    (tmp_path / "here").mkdir()

    def run(script):
        return subprocess.run(
            ["sh", "-e", "-c", script],
            cwd=tmp_path / "here",
            env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


def test_the_commands_of_the_page_print_what_it_says(shell):
    found = blocks()
    compared = 0
    for (language, script), (next_language, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        if language != "sh":
            continue
        result = shell(script)
        assert (result.returncode, result.stderr) == (0, ""), script
        if next_language in ("json", "text"):
            assert lasting(result.stdout) == lasting(expected), script
            compared += 1
    assert compared >= 3


def test_every_field_of_an_event_has_a_row_in_a_table():
    rows = re.findall(r"^\| (`.*?`) \|", PAGE, re.M)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    example = next(text for language, text in blocks() if language == "json" and '"op"' in text)

    missing = set(re.findall(r'"(\w+)":', example)) - documented
    assert not missing - {"key", "value"}, "a row is described in a sentence; all else is in a table"


def test_the_recipe_is_exactly_once_though_it_and_the_writer_are_killed(tmp_path):
    recipe = next(text for language, text in blocks() if language == "python")
    store, copy = tmp_path / "store", tmp_path / "copy.jsonl"
    with lsm.open(store, log_retention="all"):
        pass
    number = 0
    for _ in range(3):
        mirror = start(recipe, store, copy, seconds=60)
        number = write_and_get_killed(store, number)
        mirror.send_signal(signal.SIGKILL)
        mirror.wait(timeout=30)
        with copy.open("ab") as file:
            file.write(b'{"seq":99,"ti')  # as a crash in the middle of a line leaves it
    assert start(recipe, store, copy, seconds=0.3).wait(timeout=30) == 0

    with lsm.open(store, "r") as db:
        assert [from_line(line) for line in copy.read_bytes().splitlines()] == list(db.changes())
        assert db.seq >= number


def start(recipe, store, copy, *, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", recipe, str(store), str(copy), str(seconds)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
