"""The programs in examples/: they run, they agree with the log, and they use nothing but what is public."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lsm

ROOT = Path(__file__).resolve().parent.parent.parent
PAYMENTS = ROOT / "examples" / "payments"
PROGRAMS = sorted(PAYMENTS.glob("*.py"))


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", *map(str, arguments)],
        cwd=PAYMENTS,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What the driver printed, and where it left the stores."""
    directory = tmp_path_factory.mktemp("payments") / "here"
    done = run("run.py", "--seconds", 1.5, "--idle", 4, "--directory", directory)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout, directory


def compare(directory):
    return run("-c", "import run, pathlib, sys; run.compare(run.Place(pathlib.Path(sys.argv[1])))", directory)


@pytest.mark.xdist_group("examples")
def test_three_programs_on_one_log_agree_with_it(played):
    printed, directory = played

    assert printed.endswith("all agree with the log\n")
    assert printed.count("fraud: goes on after") == 2, "it was killed and started again"
    for line in ("fraud: ", "analytics: ", "tail: ", "run: consumer analytics", "run: consumer fraud"):
        assert line in printed
    assert lsm.verify(directory / "payments.db").is_sound
    assert lsm.verify(directory / "alerts.db").is_sound


@pytest.mark.xdist_group("examples")
def test_the_consumers_are_at_the_end_and_the_tail_has_left_nothing(played):
    with lsm.open(played[1] / "payments.db", "r") as db:
        assert [(one.name, one.lag, one.where) for one in db.consumers()] == [
            ("analytics", 0, "file"),
            ("fraud", 0, "file"),
        ]


@pytest.mark.xdist_group("examples")
def test_a_lost_alert_would_be_noticed(played):
    assert compare(played[1]).returncode == 0
    with lsm.open(played[1] / "alerts.db") as own:
        alerts = own.keyspace("alerts")
        key = next(iter(alerts))
        kept = alerts[key]
        alerts.delete(key)

    failed = compare(played[1])

    with lsm.open(played[1] / "alerts.db") as own:
        own.keyspace("alerts")[key] = kept
    assert failed.returncode == 1
    assert "Disagreement: fraud raised" in failed.stderr
    assert compare(played[1]).returncode == 0


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.name for path in PROGRAMS])
def test_an_example_uses_only_what_is_public(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    beside = {program.stem for program in PROGRAMS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
            for name in names:
                known = {"lsm", *beside} | sys.stdlib_module_names
                assert name in known or name.partition(".")[0] in sys.stdlib_module_names, name
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr == "_asdict", ast.unparse(node)
            if ast.unparse(node.value) == "lsm":
                assert node.attr in lsm.__all__, node.attr
