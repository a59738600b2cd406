"""Runs the stream of writes on all engines, one after the other, each in a process of its own."""

import errno
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.child import started
from bench.compare.amplification import Amplified, AmplifyTask
from bench.peers.engines import Engine

_CHILD = "bench.compare.amplification_child"


@dataclass(slots=True, kw_only=True)
class AmplifyRun:
    """What was found so far; the first engine is ours."""

    task: AmplifyTask
    found: list[Amplified] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Engines that could not do it, and why."""

    def run(self, engines: Sequence[Engine], directory: Path | None, announce: Callable[[str], None]) -> None:
        """Measure one engine after the other; what is found is there even if it is interrupted."""
        for engine in engines:
            announce(f"amplification of {engine.name}")
            if engine.level_ratio not in (None, self.task.level_ratio):
                self.failed[engine.name] = f"its level ratio is {engine.level_ratio} and cannot be set"
                continue
            # A worker process whose parent was killed may still write its last while this is removed.
            with tempfile.TemporaryDirectory(
                prefix="bench-", dir=directory, ignore_cleanup_errors=True
            ) as name:
                self._run_one(engine, Path(name))

    def _run_one(self, engine: Engine, directory: Path) -> None:
        if hasattr(os, "sync"):
            os.sync()  # what is left to be written of the engine before must not slow this one down
        try:
            answer = self._answer(engine, directory)
        except RuntimeError as error:  # the process is gone: the engine has brought it down
            answer = {"failed": str(error)}
        if answer.get("is_disk_full"):
            raise OSError(errno.ENOSPC, answer["failed"])
        if "failed" in answer:
            self.failed[engine.name] = answer["failed"]
        else:
            self.found.append(Amplified.from_json(answer["amplified"]))

    def _answer(self, engine: Engine, directory: Path) -> dict[str, Any]:
        with started(_CHILD, engine.name, directory, json.dumps(asdict(self.task))) as child:
            child.wait_ready()
            child.go()
            answer = child.answer()
            child.end()
        return answer
