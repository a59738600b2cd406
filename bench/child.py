"""Processes that the bench starts for work that must not share its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def environment() -> dict[str, str]:
    """Return an environment in which this package is found, however the bench was started."""
    here = str(Path(__file__).resolve().parent.parent)
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Child:
    """A module of the bench in a process of its own: it says "ready", is told to go, and answers in JSON."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Talk to a process whose standard input and output are pipes."""
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._in, self._out = process.stdin, process.stdout

    def wait_ready(self) -> None:
        """Return when the child has made everything ready."""
        said = self._out.readline()
        if said != "ready\n":
            raise RuntimeError(f"a process of the bench ended before it was ready; it said {said!r}")

    def go(self) -> None:
        """Let the child go on."""
        self._in.write("go\n")
        self._in.flush()

    def answer(self) -> dict[str, Any]:
        """Return what the child has found."""
        said = self._out.readline()
        if not said:
            raise RuntimeError("a process of the bench ended without an answer")
        found: dict[str, Any] = json.loads(said)
        return found

    def end(self) -> None:
        """Let the child end, and wait until it has."""
        self._in.close()
        self._out.read()
        if self._process.wait() != 0:
            raise RuntimeError(f"a process of the bench ended with status {self._process.returncode}")


@contextmanager
def started(module: str, *arguments: object) -> Iterator[Child]:
    """Run a module in a process for a while; one that is still there afterwards is killed."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment(), stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Child(process)
        except BaseException:
            process.kill()
            raise
