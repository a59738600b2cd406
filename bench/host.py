"""Facts of the machine that a figure may depend on.  None of them says whose machine it is."""

import os
import platform
from importlib import metadata
from pathlib import Path

import numpy as np


def host_facts(directory: Path) -> dict[str, object]:
    """Return what is known of the machine and of the file system that holds `directory`."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "filesystem": _filesystem(directory),
        "load_average": list(os.getloadavg()),
    }


def versions() -> dict[str, str]:
    """Return the versions of what the bench and the store stand on."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "mmh3": metadata.version("mmh3"),
    }


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _filesystem(directory: Path) -> str:
    """Return the type of the file system: that of the longest mount point above the directory."""
    place = directory.resolve()
    best, kind = -1, "unknown"
    for line in _lines("/proc/mounts"):
        _, mount, type_, *_ = line.split(" ")
        if place.is_relative_to(mount) and len(mount) > best:
            best, kind = len(mount), type_
    return kind


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return []
