"""Figures of tests that run in parts, on one worker or on several: the part that ends last prints the sum."""

import json
import os
import sys
from pathlib import Path

import pytest


def announce(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Show a line of figures whatever the outcome; a worker of xdist has no standard output, so not there."""
    with capsys.disabled():
        print(f"\n{line}", file=sys.stderr)


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of one run have in common, and no other run has."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "scoreboard"
    folder.mkdir(exist_ok=True)
    return folder


def _figures(path: Path) -> dict[str, float]:
    return dict(json.loads(path.read_text()))


class Parts:
    """Counts and sets of digests from the parts of one test."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self._folder = folder
        self._name = name
        self._count = count

    def add(self, part: int, figures: dict[str, float], digests: dict[str, set[bytes]]) -> bool:
        """Leave the figures of a part; tell whether it was the last one to come."""
        for kind, found in digests.items():
            (self._folder / f"{self._name}-{part}.{kind}").write_bytes(b"".join(sorted(found)))
        partial = self._folder / f"{self._name}-{part}.partial"
        partial.write_text(json.dumps(figures))
        partial.rename(self._folder / f"{self._name}-{part}.json")
        done = len(list(self._folder.glob(f"{self._name}-*.json")))
        if done < self._count:
            return False
        try:  # Two parts may come last together: one of them makes this file.
            (self._folder / f"{self._name}.total").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def total(self, key: str) -> float:
        """Return the sum of a figure over all parts."""
        paths = sorted(self._folder.glob(f"{self._name}-*.json"))
        return sum(_figures(path)[key] for path in paths)

    def distinct(self, kind: str, digest_bytes: int = 16) -> int:
        """Return how many different digests all parts have seen together."""
        seen: set[bytes] = set()
        for path in self._folder.glob(f"{self._name}-*.{kind}"):
            data = path.read_bytes()
            seen |= {data[at : at + digest_bytes] for at in range(0, len(data), digest_bytes)}
        return len(seen)
