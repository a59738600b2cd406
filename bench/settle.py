"""Waiting until a store has no more work to do in the background.

Engines say little about that, but all of them write files: when nothing in a store's directory has changed
for a while, it has settled.
"""

import os
import time
from pathlib import Path

QUIET_SECONDS = 0.5
_LOOK_SECONDS = 0.02
SETTLE_SECONDS_MAX = 300.0


def settle(directory: Path, quiet_seconds: float = QUIET_SECONDS) -> float:
    """Return when nothing has changed for `quiet_seconds`, with the seconds until the last change."""
    started = changed = time.monotonic()
    before = _files(directory)
    while (now := time.monotonic()) - changed < quiet_seconds and now - started < SETTLE_SECONDS_MAX:
        time.sleep(min(_LOOK_SECONDS, quiet_seconds))
        files = _files(directory)
        if files != before:
            before, changed = files, time.monotonic()
    return changed - started


def _files(directory: Path) -> set[tuple[str, int, int]]:
    found = set()
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                facts = entry.stat()
            except FileNotFoundError:  # removed since it was listed
                continue
            found.add((entry.name, facts.st_size, facts.st_mtime_ns))
    return found
