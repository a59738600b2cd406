"""Names of a store's files.  Names are made from numbers, never read from disk and followed."""

import re

CURRENT = "CURRENT"
CURRENT_TEMPORARY = "CURRENT.tmp"
LOCK = "LOCK"

_NUMBERED = re.compile(r"(?:(MANIFEST)-([0-9]{6,18})|([0-9]{6,18})\.(log|sst))")


def segment_name(number: int) -> str:
    """Return the name of a log segment."""
    return f"{number:06d}.log"


def table_name(number: int) -> str:
    """Return the name of a table."""
    return f"{number:06d}.sst"


def manifest_name(number: int) -> str:
    """Return the name of a manifest."""
    return f"MANIFEST-{number:06d}"


def parse(name: str) -> tuple[str, int] | None:
    """Return ("log" | "sst" | "manifest", number) of a numbered file, or None for any other name."""
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    kind, number = ("manifest", match[2]) if match[1] else (match[4], match[3])
    canonical = {"manifest": manifest_name, "log": segment_name, "sst": table_name}[kind](int(number))
    return (kind, int(number)) if canonical == name else None


def is_ours(name: str) -> bool:
    """Tell whether a store would make a file of this name."""
    return name in (CURRENT, CURRENT_TEMPORARY, LOCK) or parse(name) is not None
