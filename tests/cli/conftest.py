"""What the tests of the command line share."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import lsm
from lsm.cli.app import app

ROOT = Path(__file__).resolve().parent.parent.parent

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run a command in this process: run("get", store, "k", input=b"")."""
    runner = CliRunner()

    def call(*arguments: object, input: bytes | str | None = None) -> Result:
        result = runner.invoke(app, [str(argument) for argument in arguments], input=input, prog_name="lsm")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def command() -> Callable[..., "subprocess.Popen[bytes]"]:
    """Start `python -m lsm` in a process of its own."""

    def start(*arguments: object, **how: object) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "lsm", *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how,
        )

    return start


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of five keys, one of them with bytes that no text has."""
    path = tmp_path / "store"
    with lsm.open(path) as db:
        db.update({b"a": b"1", b"b": b"2", b"ba": b"3", b"c": b"4", b"\xff\x1b": b"\x00\xfe"})
    return path
