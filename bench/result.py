"""The result file: every figure of a run, with what is needed to judge and to repeat it."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bench.host import host_facts, versions
from bench.settings import Shape

FORMAT = 1
"""Of the result file.  A change that a reader of older files would stumble over needs a new number."""


def new_result(command: str, settings: Shape) -> dict[str, object]:
    """Return the head of a result: everything but the figures."""
    return {
        "format": FORMAT,
        "command": command,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings.to_json(),
        "host": host_facts(settings.place),
        "versions": versions(),
    }


def write_result(result: dict[str, object], path: Path | None) -> None:
    """Write a result, if it is wanted."""
    if path is not None:
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
