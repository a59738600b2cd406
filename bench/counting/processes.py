"""What this process and the workers of its stores take of the machine, as the operating system counts it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def child_ids(proc: Path = PROC) -> Iterator[str]:
    """Yield the numbers of child processes: each is listed with the thread that has started it."""
    for listed in sorted((proc / "self" / "task").glob("*/children")):
        try:
            yield from listed.read_text(encoding="ascii").split()
        except OSError:  # the thread has just ended
            continue


def resident_bytes(proc: Path = PROC) -> int | None:
    """Return the memory of this process and its children, pages of mapped files included."""
    own = _resident(proc / "self")
    if own is None:
        return None
    return own + sum(_resident(proc / child) or 0 for child in child_ids(proc))


def own_cpu_seconds() -> float:
    """Return the processor time of this process."""
    return time.process_time()


def children_cpu_seconds(proc: Path = PROC) -> float:
    """Return the processor time of children, of those that have ended too."""
    ended = os.times()
    return (
        ended.children_user
        + ended.children_system
        + sum(_cpu_seconds(proc / child) for child in child_ids(proc))
    )


def _resident(process: Path) -> int | None:
    try:
        for line in (process / "status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):  # not Linux, or a child that has just ended
        pass
    return None


def _cpu_seconds(process: Path) -> float:
    try:
        # The name of the program stands in brackets, and may have anything in it.
        after_name = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):  # as above
        return 0.0
