"""What README.md shows is what happens: its examples are run, their output is compared."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# A python block with nothing but blank lines between it and the text block of its output.
BLOCK = r"(?:(?!```).*\n)*"
EXAMPLE = re.compile(rf"^```python\n(?P<code>{BLOCK})```\n\s*```text\n(?P<output>{BLOCK})```$", re.M)


def examples(markdown: str) -> list[tuple[int, str, str]]:
    """Return (line, code, expected output) of every example whose output is shown."""
    return [
        (markdown.count("\n", 0, match.start()) + 1, match["code"], match["output"])
        for match in EXAMPLE.finditer(markdown)
    ]


FOUND = examples(README.read_text(encoding="utf-8")) if README.exists() else []


def test_the_readme_has_a_quick_start_with_its_output():
    assert README.exists(), "README.md is missing"
    assert FOUND, "README.md has no ```python block followed by a ```text block of its output"


def needs_spark(code):
    return "lsm.spark" in code


@pytest.mark.parametrize(
    ("line", "code", "output"),
    [
        pytest.param(
            *one, id=f"line{one[0]}", marks=[pytest.mark.xdist_group("spark")] if needs_spark(one[1]) else []
        )
        for one in FOUND
    ],
)
def test_an_example_prints_what_the_readme_says(line, code, output, tmp_path):
    if needs_spark(code):
        pytest.importorskip("pyspark")
    run = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert run.returncode == 0, f"README.md line {line} fails:\n{run.stderr}"
    assert run.stdout == output, f"README.md line {line} prints something else"
    if not needs_spark(code):  # Java says what it likes
        assert run.stderr == ""


def test_pairs_are_found_and_lone_blocks_are_not():
    markdown = (
        "```python\nlone()\n```\nprose\n\n"
        "```python\nprint(1)\n\nprint(2)\n```\n\n```text\n1\n2\n```\n"
        "```python\nlast()\n```\n"
    )

    assert examples(markdown) == [(6, "print(1)\n\nprint(2)\n", "1\n2\n")]
