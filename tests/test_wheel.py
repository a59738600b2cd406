"""What a user gets by `pip install`: the wheel is built and looked into."""

import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

pytest.importorskip("build", reason="the wheel is built with `build`, part of the dev extra")
pytestmark = pytest.mark.xdist_group("wheel")  # one worker, so that the wheel is built once

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"bench", "compaction", "lsm", "pyspark_lsm", "sstable", "wal"}
EXTRAS = {"arrow", "compression", "dev", "peers", "spark"}
REQUIRED = {"mmh3", "numpy", "rich", "sortedcontainers", "typer"}
DIST_INFO = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "top_level.txt"}
DOCUMENTS = {
    "compaction/DESIGN.md",
    "lsm/ARCHITECTURE.md",
    "lsm/FORMAT.md",
    "sstable/FORMAT.md",
    "wal/FORMAT.md",
}
# Build output of earlier runs would find its way into the wheel; the rest is only slow to copy.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a copy of this tree: building in place would leave files behind."""
    source = tmp_path_factory.mktemp("wheel") / "source"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "out", "."]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = (source / "out").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def names(wheel):
    return {name for name in wheel.namelist() if not name.endswith("/")}


def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def expected_files() -> set[str]:
    """Every module, type marker and document of the packages, and nothing else."""
    found = set()
    for package in PACKAGES:
        folder = ROOT / package
        modules = folder.rglob("*.py")
        documents = folder.glob("*.md")
        found |= {path.relative_to(ROOT).as_posix() for path in (*modules, *documents)}
        found.add(f"{package}/py.typed")
    return found


def test_the_wheel_holds_the_six_packages_and_no_other_top_level(names):
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES


def test_the_wheel_holds_exactly_the_modules_markers_and_documents(names):
    assert {name for name in names if ".dist-info/" not in name} == expected_files()


def test_the_format_documents_travel_with_the_code(names):
    assert names >= DOCUMENTS


def test_dist_info_holds_the_licence_and_what_the_standard_asks_for(names):
    inside = {name.split(".dist-info/")[1] for name in names if ".dist-info/" in name}

    assert inside == DIST_INFO


def test_the_console_script_is_lsm(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))

    assert wheel.read(name).decode().split("\n")[:2] == ["[console_scripts]", "lsm = lsm.cli:main"]


def test_the_metadata_names_python_and_the_extras(wheel):
    data = metadata(wheel)

    assert (data["Name"], data["Requires-Python"], data["License-Expression"]) == ("lsmlog", ">=3.11", "MIT")
    assert set(data.get_all("Provides-Extra")) == EXTRAS


def test_a_plain_install_needs_nothing_that_is_optional(wheel):
    required = [line for line in metadata(wheel).get_all("Requires-Dist") if "extra ==" not in line]

    assert {line.split(">")[0] for line in required} == REQUIRED
