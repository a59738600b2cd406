"""The command `report`, from result files to a page."""

import errno
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from bench.cli import app
from tests.bench import report_examples as examples


def report(*arguments):
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "uniform.json"
    path.write_text(json.dumps(examples.amplify()), encoding="utf-8")
    return path


def test_a_page_and_one_file_for_each_chart(result, tmp_path):
    out, charts = tmp_path / "page.html", tmp_path / "new/charts"

    done = report(result, "--out", out, "--charts", charts)

    assert done.exit_code == 0, done.output
    assert "1 run, 11 charts" in done.output and "11 SVG files" in done.output
    assert str(tmp_path) not in out.read_text(encoding="utf-8")
    files = sorted(path.name for path in charts.iterdir())
    assert len(files) == 11 and files[0] == "1-uniform-filters.svg"
    for name in files:
        root = ET.fromstring((charts / name).read_bytes())
        assert root.tag.endswith("svg") and "--ground" in root[0].text


def test_several_results_stand_side_by_side(result, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(examples.amplify(2, 1.4)), encoding="utf-8")
    out = tmp_path / "page.html"

    assert report(result, other, "--out", out).exit_code == 0
    text = out.read_text(encoding="utf-8")
    assert "Side by side" in text and "12.7× (+40.0 %)" in text
    assert [text.count(f'<section id="{name}"') for name in ("all", "run1", "run2")] == [1, 1, 1]


def test_a_partial_result_is_marked(result, tmp_path):
    found = examples.amplify() | {"complete": False, "stopped_by": "disk full"}
    result.write_text(json.dumps(found), encoding="utf-8")

    assert report(result, "--out", tmp_path / "page.html").exit_code == 0
    assert "Partial result.</strong> disk full" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["compare", "background", "memory", "log", "spark"])
def test_results_that_are_kept_here_can_be_shown(name, tmp_path):
    out = tmp_path / "page.html"

    done = report(f"bench/results/{name}.json", "--out", out)

    assert done.exit_code == 0, done.output
    assert name in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"[1]", "not a result"),
        (b'{"command": "run", "format": 99}', "format 99"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (None, "no such file"),
    ],
)
def test_a_file_that_is_no_result_is_named_and_the_others_are_shown(content, said, result, tmp_path):
    bad, out = tmp_path / "bad.json", tmp_path / "page.html"
    if content is not None:
        bad.write_bytes(content)

    done = report(bad, result, "--out", out)

    assert done.exit_code == 1 and said in done.output
    assert "Left out:" in out.read_text(encoding="utf-8") and "1 run, " in done.output
    out.unlink()
    assert report(bad, "--out", out).exit_code == 2
    assert not out.exists()


def test_a_page_never_takes_the_place_of_a_result(result):
    before = result.read_bytes()

    done = report(result, "--out", result)

    assert done.exit_code == 2 and "take the place" in done.output
    assert result.read_bytes() == before


def test_a_full_disk_leaves_the_page_of_before(result, tmp_path, monkeypatch):
    out = tmp_path / "page.html"
    out.write_text("before", encoding="utf-8")

    def full(self, *_, **__):
        self.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    done = report(result, "--out", out)

    assert done.exit_code == 3 and "page.html: No space left on device; not written" in done.output
    assert out.read_bytes() == b"before" and {path.name for path in tmp_path.iterdir()} == {
        out.name,
        result.name,
    }


def test_a_place_that_cannot_be_written_is_named(result, tmp_path):
    done = report(result, "--out", tmp_path / "missing/page.html")

    assert done.exit_code == 3 and "page.html: No such file or directory; not written" in done.output
    assert list(tmp_path.iterdir()) == [result]
