"""What docs/log.md shows is what happens: its blocks are run in their order, their output is compared."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import lsm

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "log.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#\s]*)(?:#(?P<part>[^)\s]*))?\)")
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def scripts(page):
    """Yield (line, language, text, expected output or None) of every block that can be run."""
    found = list(BLOCK.finditer(page))
    for match, after in zip(found, [*found[1:], None], strict=True):
        if match["language"] in ("python", "sh"):
            is_next = after is not None and not page[match.end() : after.start()].strip()
            is_output = is_next and after["language"] == "text"
            line = page.count("\n", 0, match.start()) + 1
            yield line, match["language"], match["text"], after["text"] if is_output else None


@pytest.fixture
def run(tmp_path):
    """Run a piece of the page in one directory, with this interpreter as `python` and as `lsm`."""
    tools, here = tmp_path / "tools", tmp_path / "here"
    tools.mkdir()
    here.mkdir()
    for name, arguments in (("python", ""), ("lsm", "-m lsm ")):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments}"$@"\n')
        tool.chmod(0o700)
    env = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    python = [sys.executable, "-W", "error::ResourceWarning", "-c"]

    def run_one(language, text):
        command = ["sh", "-e", "-c", text] if language == "sh" else [*python, text]
        return subprocess.run(command, cwd=here, env=env, capture_output=True, text=True, timeout=60)

    return run_one


def test_the_blocks_of_the_page_do_what_it_says(run):
    compared = 0
    for line, language, text, expected in scripts(PAGE):
        result = run(language, text)
        assert result.returncode == 0, f"docs/log.md line {line} fails:\n{result.stderr}"
        if expected is not None:
            assert result.stdout == expected, f"docs/log.md line {line} prints something else"
            compared += 1
    assert compared == sum(1 for _ in scripts(PAGE)), "every block shows what it prints"


def test_every_public_word_about_the_log_is_on_the_page():
    methods = (
        "changes",
        "change_columns",
        "bootstrap",
        "consumer",
        "consumers",
        "drop_consumer",
        "view",
        "log",
    )
    missing = [name for name in methods if f"db.{name}" not in PAGE]
    errors = (
        "OffsetOutOfRange",
        "ConsumerDropped",
        "ConsumerBusy",
        "ConsumerNotFound",
        "ForeignLog",
        "LogCorrupt",
        "ViewFailed",
        "FollowerError",
        "StreamCorrupt",
    )
    missing += [name for name in errors if name not in PAGE or not hasattr(lsm, name)]
    missing += [name for name in lsm.Options().to_json() if name.startswith("log_") and name not in PAGE]
    missing += [name for name in lsm.Change._fields if f"`{name}`" not in PAGE]

    assert not missing


@pytest.mark.parametrize("path", PAGES, ids=[path.relative_to(ROOT).as_posix() for path in PAGES])
def test_links_lead_somewhere(path):
    page = path.read_text(encoding="utf-8")
    for match in LINK.finditer(page):
        target = path if not match["target"] else path.parent / match["target"]
        assert target.exists(), f"{path.name} links to {match['target']}, which is not there"
        if match["part"]:
            assert match["part"] in anchors(target.read_text(encoding="utf-8")), match[0]


def anchors(page):
    """Return what headings can be linked to by: lower case, no punctuation, hyphens for blanks."""
    titles = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda path: path.name
)
def test_a_picture_is_shown_and_has_words_and_colours_for_the_dark(path):
    picture = path.read_text(encoding="utf-8")

    assert f"(pictures/{path.name})" in PAGE
    assert 'role="img"' in picture
    assert "aria-label=" in picture
    assert "@media (prefers-color-scheme: dark)" in picture
    assert "http://www.w3.org/2000/svg" in picture
    assert picture.count("http") == 1, "a picture loads nothing"
    light, dark = picture.split("@media (prefers-color-scheme: dark)")
    painted = set(re.findall(r"^ +\.([a-z]+) \{[^}]*(?:fill|stroke): #", light, re.M))
    repainted = set(re.findall(r"^ +\.([a-z]+) \{", dark.split("</style>")[0], re.M))
    assert painted == repainted, "each colour has one for the dark"
