"""The result file: every figure of a run, with what is needed to judge and to repeat it."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.host import host_facts, versions
from bench.settings import Shape

FORMAT = 2
"""Of the result file.  A change that a reader of older files would stumble over needs a new number.

1 had neither `figures` nor `stopped_by`.
"""
_SIZE_BYTES_MAX = 256 * 1024 * 1024


class BadResult(ValueError):
    """A file that is no result of the bench."""


def new_result(command: str, settings: Shape) -> dict[str, object]:
    """Return the head of a result: everything but the figures."""
    return {
        "format": FORMAT,
        "command": command,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings.to_json(),
        "host": host_facts(settings.place),
        "versions": versions(),
        "complete": True,
        "stopped_by": None,
    }


def write_result(result: dict[str, object], path: Path | None) -> None:
    """Write a result, if it is wanted, whole or not at all."""
    if path is None:
        return
    half = path.with_name(f"{path.name}.half")
    try:
        half.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        os.replace(half, path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def read_result(path: Path) -> dict[str, Any]:
    """Return a result that was written by this or an earlier version; BadResult for anything else."""
    try:
        if path.stat().st_size > _SIZE_BYTES_MAX:
            raise BadResult(f"{path}: too large for a result of the bench")
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadResult(f"{path}: no such file") from error
    except OSError as error:
        raise BadResult(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadResult):
            raise
        raise BadResult(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("command"), str):
        raise BadResult(f"{path}: not a result of the bench")
    number = found.get("format")
    if type(number) is not int or not 1 <= number <= FORMAT:
        raise BadResult(f"{path}: format {number!r:.20}; this version knows 1 to {FORMAT}")
    return found
